"""`mcp start|stream|tools|token`: the two ways a client is connected, and the token that it shows."""

from __future__ import annotations

import gc
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CallsheetError, UsageError
from ..files import read_private
from ..installation import how_to_add
from ..policy.policy import read_only
from ..sites.credentials.secrets import chosen_name, open_store
from ..sites.profiles.choose import Variables
from ..urls import foreign_status
from .tool_calls import Toolbox
from .tools import ToolSelection

if TYPE_CHECKING:
    import socket

    from ..commands.context import Context, ParameterValues

# The token that a client of `mcp stream` shows: made once, and kept where credentials are kept.

_ACCOUNT = "mcp:stream"  # no site is called so: there is no colon in the names of sites
_LEAST = 16  # characters
_SCHEME = b"bearer "

App = Callable[[Any, Any, Any], Awaitable[None]]


def kept_token(context: Context, *, new: bool = False) -> str:
    """The kept token, made where there is none yet. Raises `CallsheetError` where the store cannot be used."""
    variables = Variables(context.definition["prefix"], context.environ)
    store = open_store(chosen_name(variables), variables, context.environ, context.program)
    record = None if new else store.get(_ACCOUNT)
    if record is None:
        record = {"token": secrets.token_urlsafe(32)}
        store.put(_ACCOUNT, record)
    return str(record["token"])


def token_of_file(path: str) -> str:
    token = read_private(path, "the token file").decode("utf-8", "replace").strip()
    if len(token) < _LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"{path}: expected a token of at least {_LEAST} characters without blanks")
    return token


class Guarded:
    """Lets through only requests with the token; the others learn nothing, not even whether a path exists."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif not self._is_known(scope["headers"]):
            await _refuse_request(send, 401, [(b"www-authenticate", b"Bearer")])
        elif (status := foreign_status(scope["headers"])) is not None:
            await _refuse_request(send, status)
        else:
            await self._app(scope, receive, send)

    def _is_known(self, headers: list[tuple[bytes, bytes]]) -> bool:
        shown = [value for name, value in headers if name == b"authorization"]
        if len(shown) != 1 or shown[0][: len(_SCHEME)].lower() != _SCHEME:
            return False
        return hmac.compare_digest(shown[0][len(_SCHEME) :].strip(), self._token)


async def _refuse_request(send: Any, status: int, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


# The two ways a client is connected: standard input and output, or HTTP on this machine.

_URL_SCHEME = "http"
PATH = "/mcp"


def toolbox_of(context: Context, values: ParameterValues) -> Toolbox:
    """What the options of a start choose. Raises `UsageError`."""
    budget = values["max-bytes"]
    if budget < 1024:
        raise UsageError(f"--max-bytes expects a number of at least 1024, not {budget}")
    reads = bool(values["read-only"])
    if reads:  # whatever a tool comes to do
        context.restrictions = (*context.restrictions, read_only("this server", "--read-only"))
    selection = ToolSelection(context.catalog, deployment_of(context))
    tools = selection.choose_tools(values["tools"], read_only=reads, write=values["write"])
    return Toolbox(context, tools, budget=budget)


def deployment_of(context: Context) -> str | None:
    """That of the site, or None where no site can be used yet: what is missing is told when a tool is called."""
    try:
        return context.site().deployment
    except CallsheetError:
        return None


def server_of(toolbox: Toolbox) -> Any:
    """Raises `UsageError` where the library is not installed."""
    if toolbox.base.option("site"):  # one that does not exist is told now, not when the first tool is called
        toolbox.base.site()
    gc.disable()  # the library makes many objects, and all of them stay
    try:
        from .mcp_server import Resources, make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        message = "the library for the Model Context Protocol is not installed"
        raise UsageError(message, hint=how_to_add(extra="mcp")) from None
    finally:
        gc.enable()
    server = make_server(toolbox, Resources(toolbox))
    gc.freeze()
    return server


def over_pipes(server: Any) -> None:
    """Until standard input ends."""
    import sys

    import anyio
    from mcp.server.stdio import stdio_server

    sys.stdin, sys.stdout = sys.__stdin__, sys.__stdout__  # the protocol's own bytes, whatever is at the other end

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)


def over_http(server: Any, sockets: list[socket.socket], token: str) -> None:
    """Until a signal ends it. Hosts and origins that are not this machine are refused by the library."""
    import uvicorn

    app = Guarded(server.streamable_http_app(streamable_http_path=PATH), token)
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="on", server_header=False)
    uvicorn.Server(config).run(sockets=sockets)


# `mcp start|stream|tools|token`.

_MAX_PORT = 65535


def start_on_pipes(context: Context, values: ParameterValues) -> None:
    if context.streams.input.isatty():
        program = context.program
        hint = f"{program} mcp enable HOST lets a program start it; {program} mcp tools lists what it offers"
        raise UsageError("mcp start talks to a program over pipes, not to a person at a terminal", hint=hint)
    over_pipes(server_of(toolbox_of(context, values)))


def start_on_http(context: Context, values: ParameterValues) -> None:
    from ..listener.server.listening_sockets import bind_sockets, parse_address

    port = values["port"]
    if not 0 <= port <= _MAX_PORT:
        raise UsageError(f"--port expects a number from 0 to {_MAX_PORT}, not {port}")
    address = parse_address(f":{port}", "--port")
    server = server_of(toolbox_of(context, values))
    path = values["token-file"]
    try:
        token = token_of_file(path) if path else kept_token(context)
    except CallsheetError as error:
        if path:
            raise
        error.hint = "; ".join(filter(None, [error.hint, "--token-file FILE takes the token from a file instead"]))
        raise
    sockets = bind_sockets(address, "--port")
    context.say(f"listening on http://127.0.0.1:{sockets[0].getsockname()[1]}{PATH}")
    if not path:
        context.note(
            f"clients send the token that `{context.program} mcp token` prints, as Authorization: Bearer TOKEN"
        )
    over_http(server, sockets, token)


def print_token(context: Context, values: ParameterValues) -> None:
    if values["new"] and context.only_tries("the token would be replaced"):
        return
    context.streams.out.write(kept_token(context, new=bool(values["new"])) + "\n")


def list_tools(context: Context, values: ParameterValues) -> None:
    """What `mcp start` would offer with the same options, or the sets that there are."""
    if values["sets"]:
        found = ToolSelection(context.catalog).commands_by_set
        defined = context.catalog.toolsets.all()
        groups = context.catalog.groups.all()
        rows = [
            {
                "name": name.replace(" ", "."),
                "tools": len(commands),
                "default": name in defined and defined[name].get("default", False),
                "help": defined[name]["help"] if name in defined else groups[name]["help"],
            }
            for name, commands in found.items()
        ]
        context.output(context.catalog.views.get("toolset")).print_items(rows)
        return
    output = context.output(context.catalog.views.get("tool"))  # before the tools: they have no options for output
    offered = toolbox_of(context, values).tools.values()
    output.print_items(
        {
            "name": tool.name,
            "class": tool.safety,
            "command": tool.command,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "annotations": tool.annotations,
        }
        for tool in offered
    )
