"""The life of a server: it starts, is asked to stop once or twice, and parts with what is left."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.listener.server import server_process as module
from callsheet.listener.server.listening_sockets import BACKLOG
from callsheet.listener.server.server_process import Listener, Services


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_INTERVAL", 0.001)
    monkeypatch.setattr(module, "SWEEP_INTERVAL", 0.001)


class App:
    draining = False

    def __init__(self) -> None:
        self.pending: set[asyncio.Future[Any]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class Connection:
    def __init__(self, done: list[str]) -> None:
        self.done = done
        self.sweeps: list[float] = []
        self.swept = asyncio.Event()
        self.transport = SimpleNamespace(abort=lambda: done.append("abort"))

    def shutdown(self) -> None:
        self.done.append("shut")

    def close_if_slow(self, now: float) -> None:
        self.sweeps.append(now)
        if len(self.sweeps) == 4:
            self.swept.set()


class World:
    """A listener without sockets; `done` is what happened."""

    def __init__(self, drain_timeout: float = 60.0, load_tls: Any = None, sockets: Any = ()) -> None:
        self.app = App()
        limits: Any = SimpleNamespace(spare=100)
        app: Any = self.app
        self.listener = Listener(app, limits, drain_timeout, sockets, load_tls)
        self.done: list[str] = []
        self.idle = True
        self.services = Services(
            self.start, lambda: self.done.append("stop_fetching"), lambda: self.idle, self.shutdown,
            lambda: self.done.append("reload"), self.done.append,
        )  # fmt: skip

    async def start(self) -> None:
        self.done.append("start")

    async def shutdown(self) -> None:
        self.done.append("shutdown")

    def connect(self) -> Connection:
        connection: Any = Connection(self.done)
        self.listener.state.connections.add(connection)
        found: Connection = connection
        return found

    def lives(self, then: Callable[[], Any]) -> None:
        """From its start; `then` is awaited once it is ready. Fails where it does not end."""

        async def life() -> None:
            ready = asyncio.Event()
            async with asyncio.timeout(30), asyncio.TaskGroup() as group:
                group.create_task(
                    self.listener.serve_until_stopped(self.services, lambda: (self.done.append("ready"), ready.set()))
                )
                await ready.wait()
                await then()

        asyncio.run(life())


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0.001)


def test_it_ends_when_all_work_has_ended() -> None:
    world = World()
    world.idle = False

    async def then() -> None:
        pending = asyncio.get_running_loop().create_future()
        world.app.pending.add(pending)
        world.listener.stop_serving()
        assert world.app.draining
        await turns()
        assert world.done == ["start", "ready", "stop_fetching"]
        world.idle = True
        await turns()
        assert world.done == ["start", "ready", "stop_fetching"]
        world.app.pending.discard(pending)

    world.lives(then)
    assert world.done == ["start", "ready", "stop_fetching", "shutdown"]


def test_work_may_take_only_so_long() -> None:
    world = World(drain_timeout=0.01)
    world.idle = False

    async def then() -> None:
        world.listener.stop_serving()

    world.lives(then)
    assert world.done[-1] == "shutdown"


def test_asked_twice_it_waits_for_nothing() -> None:
    world = World()
    world.idle = False
    world.connect()

    async def then() -> None:
        world.listener.state.tasks.add(asyncio.create_task(asyncio.sleep(60)))
        world.app.pending.add(asyncio.get_running_loop().create_future())
        world.listener.stop_serving()
        await turns()
        assert not world.listener.force_exit.is_set()
        world.listener.stop_serving()

    world.lives(then)
    assert world.done == ["start", "ready", "stop_fetching", "shutdown", "shut", "abort"]
    assert [task.cancelled() for task in (*world.listener.state.tasks, *world.app.pending)] == [True, True]


def test_an_answer_that_comes_while_all_else_is_closed_is_waited_for() -> None:
    """Of an event whose queue is closed, and by that written to its end."""
    world = World(drain_timeout=0.01)
    world.connect()

    async def start() -> None:
        world.app.pending.add(asyncio.get_running_loop().create_future())
        await world.start()

    async def shutdown() -> None:
        world.done.append("shutdown")

        def answer() -> None:
            if "shut" not in world.done:
                asyncio.get_running_loop().call_soon(answer)
                return
            world.done.append("answered")
            world.app.pending.clear()

        answer()

    world.services = world.services._replace(start=start, shutdown=shutdown)

    async def then() -> None:
        world.listener.stop_serving()

    world.lives(then)
    assert world.done[-4:] == ["shutdown", "shut", "answered", "abort"]


def test_answers_that_are_on_their_way_are_waited_for() -> None:
    world = World()
    world.connect()

    async def then() -> None:
        tasks = world.listener.state.tasks

        async def answer() -> None:
            while "shut" not in world.done:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)
            world.done.append("answered")

        task = asyncio.create_task(answer())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        world.listener.stop_serving()

    world.lives(then)
    assert world.done == ["start", "ready", "stop_fetching", "shutdown", "shut", "answered", "abort"]


def test_what_fails_while_it_serves_ends_what_runs_beside_it() -> None:
    world = World()

    def broken() -> None:
        raise ZeroDivisionError

    world.services = world.services._replace(stop_fetching=broken)

    async def then() -> None:
        world.listener.stop_serving()

    with pytest.raises(BaseExceptionGroup) as caught:
        world.lives(then)
    assert caught.group_contains(ZeroDivisionError)
    assert world.done[-1] == "shutdown"


def test_connections_are_looked_at_and_the_date_is_renewed_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    world, ticks = World(), list[int]()
    connection = world.connect()

    async def on_tick(count: int) -> bool:
        ticks.append(count)
        return False

    monkeypatch.setattr(world.listener.uvicorn_server, "on_tick", on_tick)

    async def then() -> None:
        before = asyncio.get_running_loop().time()
        await connection.swept.wait()
        assert before < connection.sweeps[0] < connection.sweeps[1]
        world.listener.stop_serving()

    world.lives(then)
    assert ticks[:5] == [0, 10, 0, 10, 0]
    assert module.SWEEP_INTERVAL == 0.001


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_asks_it_to_stop_and_another_to_read_again(number: str) -> None:
    world = World()

    async def then() -> None:
        signal.raise_signal(signal.SIGHUP)
        await turns()
        assert world.done == ["start", "ready", "reload"]
        signal.raise_signal(getattr(signal, number))

    world.lives(then)


def test_where_the_loop_takes_no_signals_the_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    world, handlers = World(), dict[Any, Any]()
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)

    async def then() -> None:
        loop: Any = SimpleNamespace(call_soon_threadsafe=lambda call: call())
        world.listener._handle_signals(loop, world.services)
        handlers[signal.SIGTERM](signal.SIGTERM, None)

    world.lives(then)
    assert set(handlers) >= {signal.SIGINT, signal.SIGTERM}
    assert world.listener.stopping.is_set()


def test_a_certificate_is_read_again_and_a_broken_one_is_not_taken() -> None:
    certificates = iter(["first", "second", UsageError("no key"), "third"])

    def load() -> Any:
        found = next(certificates)
        if isinstance(found, Exception):
            raise found
        return found

    world = World(load_tls=load)
    seen = [world.listener.tls]
    for _ in range(3):
        world.listener._reload_routes(world.services)
        seen.append(world.listener.tls)
    kept = "certificate not reloaded, keeping the old one: no key"
    assert seen == ["first", "second", "second", "third"]
    assert world.done == ["reload", "certificate reloaded", "reload", kept, "reload", "certificate reloaded"]


@pytest.mark.parametrize(("spare", "waiting"), [(48, BACKLOG), (47, 94), (17, 34), (16, 32), (3, 32)])
@pytest.mark.parametrize("secure", [False, True])
def test_where_descriptors_are_few_the_queue_is_short(
    spare: int, waiting: int, secure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    listening: Any = SimpleNamespace(listen=given.append)
    world = World(load_tls=(lambda: "certificate") if secure else None)
    world.listener.limits.spare = spare

    async def start() -> Any:
        async def create_server(make: Any, *, sock: Any, backlog: int) -> str:
            assert sock is listening
            given.append(backlog)
            return "server"

        monkeypatch.setattr(asyncio.get_running_loop(), "create_server", create_server)
        return await world.listener._start_accepting(listening)

    monkeypatch.setattr(module, "TlsAcceptor", lambda *given: given[0])
    assert asyncio.run(start()) == (listening if secure else "server")
    assert given == [waiting]


def test_connections_are_taken_until_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        world = World(sockets=[listening])

        async def then() -> None:
            reader, writer = await asyncio.open_connection(*address)
            for _ in iter(lambda: len(world.listener.state.connections), 1):
                await asyncio.sleep(0.001)
            world.listener.stop_serving()
            assert await reader.read() == b""
            writer.close()

        world.lives(then)
        assert listening.fileno() == -1


def test_what_the_loop_is_told_is_one_line() -> None:
    told = module._describe_loop_error
    assert told({"message": "m", "exception": ValueError("v")}) == "internal: m: ValueError: v"
    assert told({"message": "m"}) == "internal: m"


@pytest.fixture
def _collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


@pytest.mark.slow
@pytest.mark.usefixtures("_collector")
def test_what_is_left_at_the_end_is_cancelled_and_what_does_not_listen_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CANCEL_TIMEOUT", 0.01)
    monkeypatch.setattr(module, "new_event_loop", asyncio.new_event_loop)
    done = list[str]()

    async def polite() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            done.append("polite")

    async def deaf() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                done.append("deaf")

    async def main() -> None:
        tasks.extend([asyncio.create_task(polite()), asyncio.create_task(deaf())])
        await asyncio.sleep(0)
        assert gc.get_threshold() == module._COLLECTOR
        assert gc.get_freeze_count() > 0
        raise ZeroDivisionError

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(ZeroDivisionError):
        module.run_server(main())
    assert sorted(done) == ["deaf", "polite"]
    assert [task.done() for task in tasks] == [True, False]
    assert tasks[0].get_loop().is_closed()
    tasks[1]._log_destroy_pending = False  # type: ignore[attr-defined]  # it is what is tried here
