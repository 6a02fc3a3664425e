"""`webhook work`: handle what listeners put into a queue, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, Any

from ...commands.context import Context
from ...errors import UsageError

if TYPE_CHECKING:
    from ...listener.assemble import Assembly

POLL = 0.05


def work(context: Context, values: dict[str, Any]) -> None:
    from ...listener.assemble import Assembly
    from ...listener.server.bind import parse_address
    from ...listener.server.server import run
    from ...listener.telemetry.line_writer import LineWriter
    from ..main import run_literally
    from .listen import options_of, withhold

    prefix = context.definition["prefix"]
    url = values.get("queue") or context.environ.get(f"{prefix}_QUEUE")
    if not url:
        raise UsageError("which queue?", hint=f"give --queue URL, or set {prefix}_QUEUE")
    if not values.get("routes") and not values.get("handler") and not context.catalog.ids("route"):
        raise UsageError("nothing to do with the events", hint="give --routes FILE or --handler CMD")
    # Nothing is received here, so there is nothing to prove.
    nowhere = parse_address("127.0.0.1:0")
    options = options_of({**values, "queue": None, "insecure": True}, nowhere)._replace(queue=url, works=True)
    err = LineWriter(context.streams.err)
    try:
        assembly = Assembly(context.catalog, options, dict(context.environ), err, None, run_literally)
        withhold(assembly.context.hidden)
        run(_work(assembly))
    finally:
        err.close()


class _Signals:
    """The first request to stop lets running work finish, the second one does not."""

    def __init__(self, assembly: Assembly) -> None:
        self.stopping = asyncio.Event()
        self.force_exit = asyncio.Event()
        loop = asyncio.get_running_loop()
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self._stop)
            loop.add_signal_handler(signal.SIGHUP, assembly.services().reload)
        except (NotImplementedError, AttributeError):  # Windows
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._stop))

    def _stop(self) -> None:
        if self.stopping.is_set():
            self.force_exit.set()
        self.stopping.set()


async def _work(assembly: Assembly) -> None:
    from ...durations import seconds

    services, signals = assembly.services(), _Signals(assembly)
    try:
        await services.start()
        assembly.log.note("ready")
        await signals.stopping.wait()
        services.stop_fetching()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds(assembly.definition["drain_time"])):
                while not signals.force_exit.is_set() and not services.idle():  # noqa: ASYNC110 - any run may be the last
                    await asyncio.sleep(POLL)
    finally:
        await services.shutdown()
