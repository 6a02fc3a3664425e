"""The two ways a client is connected: standard input and output, or HTTP on this machine."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from ..errors import CallsheetError, UsageError
from ..installation import how_to_add
from ..policy.policy import read_only
from .selection import ToolSelection
from .toolbox import Toolbox

if TYPE_CHECKING:
    import socket

    from ..commands.context import Context, ParameterValues

_SCHEME = "http"
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
    tools = selection.chosen(values["tools"], read_only=reads, write=values["write"])
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
        from .resources import Resources
        from .server import make_server
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

    from .token import Guarded

    app = Guarded(server.streamable_http_app(streamable_http_path=PATH), token)
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="on", server_header=False)
    uvicorn.Server(config).run(sockets=sockets)
