"""`webhook work`: handle what listeners put into a queue, until told to stop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...commands.context import Context, ParameterValues
from ...errors import UsageError
from .auth import refuse_empty
from .serving import in_processes, opened, serve, tls_loader, withhold, writers

if TYPE_CHECKING:
    import socket

    from ...listener.assemble import Assembly
    from ...listener.server.bind import ListenAddress
    from ...listener.server.service_manager import Notifier
    from ...listener.workers.assignment import WorkerAssignment

WORK = ("routes", "handler", "forward-to")
_NEED_ADDRESS = {
    "metrics": "serves health and metrics at that port",
    "tls-cert": "serves health at that port",
    "tls-key": "serves health at that port",
}


def work(context: Context, values: ParameterValues) -> None:
    from ...listener.server.bind import parse_served_address

    url = _queue(context, values)
    address = parse_served_address(values["addr"]) if values.get("addr") else None
    for name, example in _NEED_ADDRESS.items():
        if address is None and values.get(name):
            raise UsageError(f"--{name} needs --addr", hint=f"--addr :9090 {example}")
    in_processes(context, address, values.get("workers"), partial(_work, context, values, url))


def _work(
    context: Context,
    values: ParameterValues,
    url: str,
    address: ListenAddress | None,
    part: WorkerAssignment | None,
    notifier: Notifier,
) -> None:
    from ...listener.assemble import Assembly
    from ..main import run_literally
    from .listen import options_of

    # No event is received here, so there is nothing to prove.
    asked = options_of({**values, "queue": None, "insecure": True}, address)
    options = asked._replace(queue=url, works=True)
    with writers(context, part) as (err, _):
        load_tls = tls_loader(values)
        assembly = Assembly(context.catalog, options, dict(context.environ), err, None, run_literally, part)
        with opened(address, part) as sockets:
            withhold(assembly.context.hidden)
            announce = partial(_announce, context, assembly, sockets, "https" if load_tls else "http")
            serve(assembly, sockets, part, notifier, announce, load_tls)


def _queue(context: Context, values: ParameterValues) -> str:
    prefix = context.definition["prefix"]
    refuse_empty(values, "queue")
    url: str | None = values.get("queue") or context.environ.get(f"{prefix}_QUEUE")
    if not url:
        raise UsageError("no queue was given", hint=f"give --queue URL, or set {prefix}_QUEUE")
    if not any(values.get(name) for name in WORK) and not context.catalog.ids("route"):
        raise UsageError("nothing to do with the events", hint="give --routes FILE, --handler CMD or --forward-to URL")
    return url


def _announce(context: Context, assembly: Assembly, sockets: list[socket.socket], scheme: str) -> None:
    from ...listener.server.bind import urls

    for url in urls(sockets, scheme):
        pages = sorted(assembly.app.pages)
        context.note(f"serving {url if url.startswith('unix:') else '  '.join(url + page for page in pages)}")
