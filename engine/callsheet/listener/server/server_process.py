"""The server process: sockets, signals, the sweep over slow senders, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from uvicorn import Config, Server
from uvicorn.server import ServerState

from ...errors import CallsheetError
from ..asyncio_helpers import cancel_all, ended_in_time
from .http_protocol import LimitedProtocol, Limits
from .listening_sockets import BACKLOG

if TYPE_CHECKING:
    from .application import App

# Where https connections come in. Those that have not begun TLS count, and have no longer than others for headers.
#
# The loop's own server would tell of a connection only after its handshake, and would use one certificate for ever.

# Where no descriptor is left, or the listening socket has another problem that passes.
PAUSE = 0.2


class TlsAcceptor:
    """`context` gives the certificate of the moment. Made inside a running loop."""

    def __init__(
        self,
        listening: socket.socket,
        context: Callable[[], ssl.SSLContext | None],
        make_protocol: Callable[[], LimitedProtocol],
        handshakes: dict[LimitedProtocol, asyncio.Task[None]],
        limits: Limits,
    ) -> None:
        self._listening = listening
        self._context = context
        self._make_protocol = make_protocol
        self._handshakes = handshakes
        self._limits = limits
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept_forever())

    def close(self) -> None:
        """Take no more connections; those that are not connections yet end."""
        for task in (self._accepting, *self._tasks):
            task.cancel()
        self._listening.close()

    async def _accept_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listening)
            except OSError:
                await asyncio.sleep(PAUSE)
                continue
            protocol = self._make_protocol()
            taken = len(protocol.connections) + len(self._handshakes)
            if taken >= self._limits.connections + self._limits.spare and not protocol.take_place():
                self._limits.on_refused(503, "too_many_connections", _client_address(accepted))
                accepted.close()
                continue
            task = self._handshakes[protocol] = loop.create_task(self._make_handshake(accepted, protocol))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _make_handshake(self, accepted: socket.socket, protocol: LimitedProtocol) -> None:
        client = _client_address(accepted)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=self._context(),
                ssl_handshake_timeout=self._limits.header_timeout,
            )
        except OSError:  # no TLS, one that this side does not speak, or too slow
            self._limits.on_refused(400, "not_tls", client)
        finally:
            self._handshakes.pop(protocol, None)


def _client_address(accepted: socket.socket) -> str:
    try:
        name = accepted.getpeername()
    except OSError:
        return "-"
    return str(name[0]) if isinstance(name, tuple) else "unix"


SWEEP_INTERVAL = 0.5
POLL_INTERVAL = 0.05
CANCEL_TIMEOUT = 1.0
SHUTDOWN_TIMEOUT = 15.0  # longer than what has a bound of its own takes
# New objects before the collector looks at them, and how often it looks at older ones.
_COLLECTOR = (5000, 20, 20)
# The loop takes all that wait at once. With fewer descriptors to spare than this, not many may wait.
PLENTY_OF_DESCRIPTORS = 48


class Services(NamedTuple):
    """What runs beside the server. `idle` tells whether all work has ended; `shutdown` cuts off what has not."""

    start: Callable[[], Awaitable[None]]
    stop_fetching: Callable[[], None]
    idle: Callable[[], bool]
    shutdown: Callable[[], Awaitable[None]]
    reload: Callable[[], None]
    report: Callable[[str], None]


class Listener:
    """uvicorn's protocol and settings under a life of our own: its server ends by raising the signal again."""

    def __init__(
        self,
        app: App,
        limits: Limits,
        drain_timeout: float,
        sockets: Sequence[socket.socket],
        load_tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        """`load_tls` reads the certificate, now and whenever that is asked for. Raises `UsageError` as it does."""
        for name in ("uvicorn", "asyncio"):  # they would write past the log, and wait for its reader
            logging.getLogger(name).setLevel(logging.CRITICAL)
        config = Config(
            cast("Any", app), http=LimitedProtocol, ws="none", lifespan="off", access_log=False, log_config=None,
            proxy_headers=False, server_header=False,
        )  # fmt: skip
        config.load()
        self.app = app
        self.config = config
        self.drain_timeout = drain_timeout
        self.sockets = sockets
        self.load_tls = load_tls
        self.tls = load_tls() if load_tls else None
        self.limits = limits
        self.state = ServerState()
        self.uvicorn_server = Server(config)
        self.uvicorn_server.server_state = self.state
        self.protocol: type[LimitedProtocol] = type(
            "Protocol", (LimitedProtocol,), {"limits": limits, "handshakes": {}}
        )
        self.stopping = asyncio.Event()
        self.force_exit = asyncio.Event()

    async def serve_until_stopped(self, services: Services, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: services.report(_describe_loop_error(context)))
        self._handle_signals(loop, services)
        await services.start()
        await self.uvicorn_server.on_tick(0)
        acceptors = [await self._start_accepting(each) for each in self.sockets]
        ticker = asyncio.create_task(self._tick_forever())
        ready()
        try:
            await self.stopping.wait()
            for acceptor in acceptors:
                acceptor.close()
            await self._drain_connections(services)
        finally:
            ticker.cancel()
            if not await ended_in_time(services.shutdown(), SHUTDOWN_TIMEOUT):
                services.report("what runs beside the server did not end in time, and is left")
            await self._close_sockets()

    async def _start_accepting(self, listening: socket.socket) -> asyncio.Server | TlsAcceptor:
        backlog = BACKLOG if self.limits.spare >= PLENTY_OF_DESCRIPTORS else max(2 * self.limits.spare, 32)
        if self.tls is None:
            return await asyncio.get_running_loop().create_server(self._make_protocol, sock=listening, backlog=backlog)
        listening.listen(backlog)
        return TlsAcceptor(listening, lambda: self.tls, self._make_protocol, self.protocol.handshakes, self.limits)

    def _make_protocol(self) -> LimitedProtocol:
        return self.protocol(self.config, self.state, {})

    def _handle_signals(self, loop: asyncio.AbstractEventLoop, services: Services) -> None:
        try:
            loop.add_signal_handler(signal.SIGINT, self.stop_serving)
            loop.add_signal_handler(signal.SIGTERM, self.stop_serving)
            loop.add_signal_handler(signal.SIGHUP, self._reload_routes, services)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})  # a supervisor blocked it
        except (NotImplementedError, AttributeError):  # Windows
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.stop_serving))

    def _reload_routes(self, services: Services) -> None:
        services.reload()
        if self.load_tls is None:
            return
        try:
            self.tls = self.load_tls()
        except CallsheetError as error:
            services.report(f"certificate not reloaded, keeping the old one: {error.message}")
        else:
            services.report("certificate reloaded")

    def stop_serving(self) -> None:
        """Let running work finish; asked a second time, do not."""
        if self.stopping.is_set():
            self.force_exit.set()
        self.app.draining = True
        self.stopping.set()

    async def _tick_forever(self) -> None:
        """The date header once a second, and the limits on time."""
        ticks = 0
        while True:
            await asyncio.sleep(SWEEP_INTERVAL)
            ticks += 1
            await self.uvicorn_server.on_tick(ticks % 2 * 10)
            now = asyncio.get_running_loop().time()
            for connection in list(self.state.connections):
                cast("LimitedProtocol", connection).close_if_slow(now)

    async def _drain_connections(self, services: Services) -> None:
        services.stop_fetching()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.drain_timeout):
                while not self.force_exit.is_set() and (self.app.pending or not services.idle()):  # noqa: ASYNC110 - neither tells
                    await asyncio.sleep(POLL_INTERVAL)

    async def _close_sockets(self) -> None:
        for connection in list(self.state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0 if self.force_exit.is_set() else 1):
                while self.state.tasks or self.app.pending:  # noqa: ASYNC110 - neither tells
                    await asyncio.sleep(POLL_INTERVAL)
        await cancel_all(self.app.pending)
        await cancel_all(self.state.tasks)
        for connection in list(self.state.connections):
            connection.transport.abort()


def _describe_loop_error(context: Mapping[str, Any]) -> str:
    """What the loop was told by nobody's fault but ours, in one line: no sender can make it print more."""
    error = context.get("exception")
    what = f": {type(error).__name__}: {error}" if error is not None else ""
    return f"internal: {context.get('message')}{what}"


def run_server(main: Coroutine[Any, Any, None]) -> None:
    """Run the server to its end. Work that ignores being cancelled is left behind and keeps nothing from ending."""
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    _spare_the_collector()
    try:
        loop.run_until_complete(main)
    finally:
        remaining = asyncio.all_tasks(loop)
        for task in remaining:
            task.cancel()
        if remaining:
            loop.run_until_complete(asyncio.wait(remaining, timeout=CANCEL_TIMEOUT))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.set_exception_handler(lambda *_: None)  # of what was left behind there is nothing to tell
        loop.close()


def _spare_the_collector() -> None:
    """What was loaded by now stays: looking through it again and again took a tenth of the work on an event."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTOR)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Uvloop's where it exists."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
