"""What `webhook listen` and `webhook work` share: several processes, the log, the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...commands.context import Context
from ...errors import UsageError, counted
from ..signals import begin_serving, end_at_once

if TYPE_CHECKING:
    from ...listener.assemble import Assembly
    from ...listener.server.bind import ListenAddress
    from ...listener.server.service_manager import Notifier
    from ...listener.telemetry.line_writer import LineWriter
    from ...listener.workers.assignment import WorkerAssignment

MOST_WORKERS = 256
LoadTls = Callable[[], ssl.SSLContext]


def workers_of(text: str | None) -> int:
    """How many processes `--workers` asks for. Raises `UsageError`, also where a system cannot have several."""
    from ...listener.cores import usable_cores
    from ...listener.workers.assignment import can_have_workers

    if text is None:
        return 1
    if text != "auto" and not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_WORKERS):
        raise UsageError(f"--workers: {text!r} is not a number from 1 to {MOST_WORKERS}, or auto")
    count = usable_cores() if text == "auto" else int(text)
    if count > 1 and not can_have_workers():
        raise UsageError("--workers needs Linux or macOS", hint="omit it: this system uses one process")
    return count


def in_processes(
    context: Context,
    address: ListenAddress | None,
    workers: str | None,
    run: Callable[[ListenAddress | None, WorkerAssignment | None, Notifier], None],
) -> None:
    """Call `run` here, or let a supervisor start the same command as often as `--workers` says.

    A process that a supervisor started has its part of the work. `run` gets the address with the sockets that were
    passed to this process, where that is what was asked for.
    """
    from ...listener.server.bind import PASSED
    from ...listener.server.service_manager import Notifier, has_passed, passed_address, take_address
    from ...listener.workers.assignment import pop_assignment

    count = workers_of(workers)
    environ = context.environ if isinstance(context.environ, MutableMapping) else dict(context.environ)
    part = pop_assignment(environ)
    notifier = Notifier(environ)
    if address is not None and address.is_passed:
        address = take_address(environ) if part is None else passed_address(part.sockets)
    elif has_passed(environ):
        context.say(f"warning: sockets were passed that nothing serves; --addr {PASSED} serves them")
    begin_serving()
    if part is None and count > 1:
        _supervise(context, address, count, notifier)
    else:
        run(address, part, notifier)


def _supervise(context: Context, address: ListenAddress | None, count: int, notifier: Notifier) -> None:
    """Run the same command `count` times, until all have ended."""
    from ...durations import duration_seconds
    from ...listener.server.bind import bind_for_workers
    from ...listener.workers.supervisor import Supervisor

    drain_timeout = duration_seconds(next(iter(context.catalog.all("listener").values()))["drain_timeout"])
    sockets = bind_for_workers(address) if address is not None else []
    with _closed_at_the_end(sockets, address):
        shared = address is not None and address.is_passed
        code = Supervisor(
            count, sockets, partial(_say, context), notifier.ready, shared=shared, drain_timeout=drain_timeout
        ).run()
    if code:
        raise SystemExit(code)  # what is wrong has been said


def _say(context: Context, text: str) -> None:
    with unheard():
        context.note(text)


def unheard() -> contextlib.AbstractContextManager[None]:
    """Around what is said to the operator: on a full disk it cannot be written, and serving goes on."""
    return contextlib.suppress(OSError)


@contextlib.contextmanager
def opened(address: ListenAddress | None, part: WorkerAssignment | None) -> Iterator[list[socket.socket]]:
    """The sockets to serve; none where there is no address."""
    from ...listener.server.bind import bind

    if part is not None:
        sockets = part.open_sockets()
    elif address is not None:
        sockets = bind(address)
    else:
        sockets = []
    with _closed_at_the_end(sockets, address if part is None else None):
        yield sockets


@contextlib.contextmanager
def _closed_at_the_end(sockets: list[socket.socket], address: ListenAddress | None) -> Iterator[None]:
    try:
        yield
    finally:
        for each in sockets:
            each.close()
        if address is not None and address.path:
            with contextlib.suppress(OSError):
                os.remove(address.path)


@contextlib.contextmanager
def writers(
    context: Context, part: WorkerAssignment | None, *, events: bool = False
) -> Iterator[tuple[LineWriter, LineWriter | None]]:
    """What writes standard error, and standard output where whole events are wanted."""
    from ...listener.telemetry.line_writer import LineWriter

    lock = part.log_lock if part is not None else None
    err = LineWriter(context.streams.err, _missing, lock=lock)
    out = LineWriter(context.streams.out, lock=lock) if events else None
    try:
        yield err, out
    finally:
        err.close()
        if out is not None:
            out.close()


def _missing(lines: int) -> str:
    return f"{counted(lines, 'line')} of this log could not be written"


def tls_loader(values: Mapping[str, Any]) -> LoadTls | None:
    """What reads the certificate, if https is asked for. Raises `UsageError`, also where it cannot be used now."""
    certificate, key = values.get("tls-cert"), values.get("tls-key")
    if certificate is None:
        if key is not None:
            raise UsageError("--tls-key needs --tls-cert")
        return None
    from ...listener.server.tls import tls_context

    load = partial(tls_context, certificate, key)
    load()
    return load


def withhold(names: Collection[str]) -> None:
    """Take secrets, which were read by now, out of the environment that functions and what they start would see."""
    for name in names:
        os.environ.pop(name, None)


def serve(
    assembly: Assembly,
    sockets: list[socket.socket],
    part: WorkerAssignment | None,
    notifier: Notifier,
    announce: Callable[[], None],
    load_tls: LoadTls | None = None,
) -> None:
    """Until told to stop, and what runs has ended. `announce` says what is served, once it is."""
    from ...durations import duration_seconds
    from ...listener.server.server import Listener, run

    def ready() -> None:
        if part is None or part.announces:
            with unheard():
                announce()
        if part is not None:
            part.signal_ready()
            return
        notifier.ready()
        assembly.log.note("ready")

    limits = assembly.limits()  # before descriptors run out

    async def serving() -> None:
        drain_timeout = duration_seconds(assembly.definition["drain_timeout"])
        server = Listener(assembly.app, limits, drain_timeout, sockets, load_tls)
        if part is not None:
            loop = asyncio.get_running_loop()
            part.on_supervisor_exit(lambda: loop.call_soon_threadsafe(server.stop))
        await server.serve(assembly.services(), ready)

    try:
        run(serving())
    finally:
        end_at_once()
