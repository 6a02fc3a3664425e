"""`webhook work`: handle what listeners put into a queue, until told to stop."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from ...commands.context import Context
from ...errors import UsageError
from .serving import opened, serve, supervise, unheard, withhold, workers_of, writers

if TYPE_CHECKING:
    import socket

    from ...listener.assemble import Assembly

WORK = ("routes", "handler", "forward-to")


def work(context: Context, values: dict[str, Any]) -> None:
    from ...listener.assemble import Assembly
    from ...listener.server.bind import ListenAddress, parse_address
    from ...listener.workers.assignment import pop_assignment
    from ..main import run_literally
    from .listen import options_of

    url = _queue(context, values)
    address = parse_address(values["addr"]) if values.get("addr") else None
    if address is None and values.get("metrics"):
        raise UsageError("--metrics needs --addr", hint="--addr :9090 serves health and metrics at that port")
    count = workers_of(values.get("workers"))
    environ = context.environ
    part = pop_assignment(environ) if isinstance(environ, MutableMapping) else None
    if part is None and count > 1:
        supervise(context, address, count)
        return
    # No event is received here, so there is nothing to prove.
    asked = options_of({**values, "queue": None, "insecure": True}, address or ListenAddress())
    options = asked._replace(queue=url, works=True)
    with writers(context, part) as (err, _):
        assembly = Assembly(context.catalog, options, dict(environ), err, None, run_literally, part)
        with opened(address, part) as sockets:
            if address is not None and (part is None or part.announces):
                with unheard():
                    _announce(context, assembly, sockets)
            withhold(assembly.context.hidden)
            serve(assembly, sockets, part)


def _queue(context: Context, values: dict[str, Any]) -> str:
    prefix = context.definition["prefix"]
    url: str | None = values.get("queue") or context.environ.get(f"{prefix}_QUEUE")
    if not url:
        raise UsageError("no queue was given", hint=f"give --queue URL, or set {prefix}_QUEUE")
    if not any(values.get(name) for name in WORK) and not context.catalog.ids("route"):
        raise UsageError("nothing to do with the events", hint="give --routes FILE, --handler CMD or --forward-to URL")
    return url


def _announce(context: Context, assembly: Assembly, sockets: list[socket.socket]) -> None:
    from ...listener.server.bind import urls

    for url in urls(sockets, "http"):
        pages = sorted(assembly.app.pages)
        context.note(f"serving {url if url.startswith('unix:') else '  '.join(url + page for page in pages)}")
