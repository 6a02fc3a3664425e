"""The server process: sockets, signals, the sweep over slow senders, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from uvicorn import Config, Server
from uvicorn.server import ServerState

from ...errors import CallsheetError
from .bind import BACKLOG
from .protocol import LimitedProtocol, Limits
from .tls_door import TlsDoor

if TYPE_CHECKING:
    from .app import App

SWEEP = 0.5
POLL = 0.05
LAST_WAIT = 1.0
# The loop takes all that wait at once. With fewer descriptors to spare than this, not many may wait.
PLENTY = 48


class Services(NamedTuple):
    """What runs beside the server. `idle` tells whether all work has ended; `end` cuts off what has not."""

    start: Callable[[], Awaitable[None]]
    stop_taking: Callable[[], None]
    idle: Callable[[], bool]
    end: Callable[[], Awaitable[None]]
    reload: Callable[[], None]
    report: Callable[[str], None]


class Door(Protocol):
    """Where connections come in, until it is closed."""

    def close(self) -> None: ...


class Listener:
    """uvicorn's protocol and settings under a life of our own: its server ends by raising the signal again."""

    def __init__(
        self,
        app: App,
        limits: Limits,
        drain_time: float,
        sockets: Sequence[socket.socket],
        load_tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        """`load_tls` reads the certificate, now and whenever that is asked for. Raises `UsageError` as it does."""
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        config = Config(
            cast("Any", app), http=LimitedProtocol, ws="none", lifespan="off", access_log=False, log_config=None,
            proxy_headers=False, server_header=False,
        )  # fmt: skip
        config.load()
        self.app = app
        self.config = config
        self.drain_time = drain_time
        self.sockets = sockets
        self.load_tls = load_tls
        self.tls = load_tls() if load_tls else None
        self.limits = limits
        self.state = ServerState()
        self.clock = Server(config)
        self.clock.server_state = self.state
        self.protocol: type[LimitedProtocol] = type(
            "Protocol", (LimitedProtocol,), {"limits": limits, "handshakes": set()}
        )
        self.stopping = asyncio.Event()
        self.try_immediately = asyncio.Event()

    async def serve(self, services: Services, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: services.report(_unexpected(context)))
        self._handle_signals(loop, services)
        await services.start()
        await self.clock.on_tick(0)
        doors = [await self._open(each) for each in self.sockets]
        keeper = asyncio.create_task(self._keep())
        ready()
        try:
            await self.stopping.wait()
            for door in doors:
                door.close()
            await self._drain(services)
        finally:
            keeper.cancel()
            await services.end()
            await self._close()

    async def _open(self, listening: socket.socket) -> Door:
        backlog = BACKLOG if self.limits.spare >= PLENTY else max(2 * self.limits.spare, 32)
        if self.tls is None:
            return await asyncio.get_running_loop().create_server(self._connection, sock=listening, backlog=backlog)
        listening.listen(backlog)
        return TlsDoor(listening, lambda: self.tls, self._connection, self.protocol.handshakes, self.limits)

    def _connection(self) -> LimitedProtocol:
        return self.protocol(self.config, self.state, {})

    def _handle_signals(self, loop: asyncio.AbstractEventLoop, services: Services) -> None:
        try:
            loop.add_signal_handler(signal.SIGINT, self.stop)
            loop.add_signal_handler(signal.SIGTERM, self.stop)
            loop.add_signal_handler(signal.SIGHUP, self._reload, services)
        except (NotImplementedError, AttributeError):  # Windows
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.stop))

    def _reload(self, services: Services) -> None:
        services.reload()
        if self.load_tls is None:
            return
        try:
            self.tls = self.load_tls()
        except CallsheetError as error:
            services.report(f"certificate not read again, the old one stays: {error.message}")
        else:
            services.report("certificate read again")

    def stop(self) -> None:
        """Let running work finish; asked a second time, do not."""
        if self.stopping.is_set():
            self.try_immediately.set()
        self.app.draining = True
        self.stopping.set()

    async def _keep(self) -> None:
        """The date header once a second, and the limits on time."""
        ticks = 0
        while True:
            await asyncio.sleep(SWEEP)
            ticks += 1
            await self.clock.on_tick(ticks % 2 * 10)
            now = asyncio.get_running_loop().time()
            for connection in list(self.state.connections):
                cast("LimitedProtocol", connection).sweep(now)

    async def _drain(self, services: Services) -> None:
        services.stop_taking()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.drain_time):
                while not self.try_immediately.is_set() and (self.app.busy or not services.idle()):  # noqa: ASYNC110
                    await asyncio.sleep(POLL)

    async def _close(self) -> None:
        for connection in list(self.state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0 if self.try_immediately.is_set() else 1):
                while self.state.tasks:  # noqa: ASYNC110 - uvicorn's set tells nobody
                    await asyncio.sleep(POLL)
        for task in list(self.state.tasks):
            task.cancel()
        await asyncio.gather(*self.state.tasks, return_exceptions=True)
        for connection in list(self.state.connections):
            connection.transport.abort()


def _unexpected(context: Mapping[str, Any]) -> str:
    """What the loop was told by nobody's fault but ours, in one line: no sender can make it print more."""
    error = context.get("exception")
    what = f": {type(error).__name__}: {error}" if error is not None else ""
    return f"internal: {context.get('message')}{what}"


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run the server to its end. Work that ignores being cancelled is left behind and keeps nothing from ending."""
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=LAST_WAIT))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.set_exception_handler(lambda *_: None)  # of what was left behind there is nothing to tell
        loop.close()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Uvloop's where it exists."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
