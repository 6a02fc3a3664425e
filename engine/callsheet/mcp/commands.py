"""`mcp start|stream|tools|token`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import CallsheetError, UsageError
from .selection import ToolSelection
from .serve import PATH, over_http, over_pipes, server_of, toolbox_of

if TYPE_CHECKING:
    from ..commands.context import Context, ParameterValues

_MAX_PORT = 65535


def start(context: Context, values: ParameterValues) -> None:
    if context.streams.input.isatty():
        program = context.program
        hint = f"{program} mcp enable HOST lets a program start it; {program} mcp tools lists what it offers"
        raise UsageError("mcp start talks to a program over pipes, not to a person at a terminal", hint=hint)
    over_pipes(server_of(toolbox_of(context, values)))


def stream(context: Context, values: ParameterValues) -> None:
    from ..listener.server.bind import bind, parse_address
    from .token import kept_token, token_of_file

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
    sockets = bind(address, "--port")
    context.say(f"listening on http://127.0.0.1:{sockets[0].getsockname()[1]}{PATH}")
    if not path:
        context.note(
            f"clients send the token that `{context.program} mcp token` prints, as Authorization: Bearer TOKEN"
        )
    over_http(server, sockets, token)


def print_token(context: Context, values: ParameterValues) -> None:
    from .token import kept_token

    if values["new"] and context.only_tries("the token would be replaced"):
        return
    context.streams.out.write(kept_token(context, new=bool(values["new"])) + "\n")


def tools(context: Context, values: ParameterValues) -> None:
    """What `mcp start` would offer with the same options, or the sets that there are."""
    if values["sets"]:
        found = ToolSelection(context.catalog).sets
        defined = context.catalog.all("toolset")
        groups = context.catalog.all("group")
        rows = [
            {
                "name": name.replace(" ", "."),
                "tools": len(commands),
                "default": name in defined and defined[name].get("default", False),
                "help": defined[name]["help"] if name in defined else groups[name]["help"],
            }
            for name, commands in found.items()
        ]
        context.output(context.catalog.get("view", "toolset")).items(rows)
        return
    output = context.output(context.catalog.get("view", "tool"))  # before the tools: they have no options for output
    offered = toolbox_of(context, values).tools.values()
    output.items(
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
