"""Which workers are started, signalled and started again, with processes and a clock that a test moves."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.errors import CallsheetError
from callsheet.listener import supervisor as module
from callsheet.listener.event_table import HEARTBEATS, WorkerCounts
from callsheet.listener.supervisor import FORWARDED, Supervisor
from callsheet.listener.worker_process import VARIABLE, WorkerAssignment, pop_assignment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no workers there")


class Worker:
    """A process that does what a test says."""

    def __init__(self, world: World, words: list[str], given: dict[str, Any]) -> None:
        self.words, self.given = words, given
        assigned = pop_assignment(given["env"])
        assert assigned is not None
        self.assigned: WorkerAssignment = assigned
        self.code: int | None = world.codes.get(len(world.started))
        self.signals: list[int] = []
        self.gone = False
        if self.code is None and not world.silent:
            os.write(self.assigned.ready, b"+")
        world.at_start(len(world.started))

    def poll(self) -> int | None:
        return self.code

    def wait(self) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        if self.gone:
            raise ProcessLookupError
        self.signals.append(number)
        if number in (signal.SIGTERM, signal.SIGINT):
            self.code = 0

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.signals.append(signal.SIGKILL)
        self.code = -9


class World:
    """`steps` are what happens each time that the supervisor waits; `waits` is for how long it meant to."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.started: list[Worker] = []
        self.codes: dict[int, int] = {}  # of workers, by the number of their start, that end at once
        self.silent = False
        self.at_start: Callable[[int], object] = lambda _: None
        self.steps: list[Callable[[], object]] = []
        self.waits: list[float | None] = []
        self.notes: list[str] = []
        self.ready = 0

    def popen(self, words: list[str], **given: Any) -> Worker:
        if self.codes.get(len(self.started)) == -1000:
            raise PermissionError(13, "Permission denied")
        self.started.append(Worker(self, words, given))
        return self.started[-1]

    def select(self, reading: list[Any], writing: list[Any], odd: list[Any], wait: float | None) -> Any:
        if isinstance(reading[0], int):  # where the first worker tells that it is ready
            return select.select(reading, writing, odd, 0)
        self.waits.append(None if wait is None or wait > module.LOOK_EVERY - 1000 else wait)  # no start is due
        self.steps.pop(0)()
        return [], [], []

    def made(self, count: int, sockets: list[socket.socket], *, shared: bool = False) -> Supervisor:
        return Supervisor(count, sockets, self.notes.append, self.on_ready, shared=shared)

    def on_ready(self) -> None:
        self.ready += 1


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    popen = SimpleNamespace(Popen=world.popen)
    monkeypatch.setattr(module, "subprocess", popen)
    monkeypatch.setattr(module, "select", SimpleNamespace(select=world.select))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: world.now))
    monkeypatch.setattr(module, "LOOK_EVERY", 1e6)
    return world


@pytest.fixture
def bound() -> Iterator[socket.socket]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock


def stop() -> None:
    signal.raise_signal(signal.SIGTERM)


def later(world: World, seconds: float) -> Callable[[], None]:
    def step() -> None:
        world.now += seconds

    return step


def ends(world: World, number: int, code: int, after: float = 0.0) -> Callable[[], None]:
    def step() -> None:
        world.now += after
        world.started[number].code = code

    return step


def test_all_are_told_what_they_are_and_stopped_at_the_end(world: World, bound: socket.socket) -> None:
    world.steps = [stop]
    before = {name: signal.getsignal(getattr(signal, name)) for name in (*FORWARDED, "SIGCHLD")}
    woken = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(woken)
    opened = os.listdir("/dev/fd")
    supervisor = world.made(3, [bound], shared=True)
    directory = supervisor._directory
    assert os.path.isdir(directory)
    assert supervisor.run_workers() == 0
    assigned = [worker.assigned for worker in world.started]
    assert [(each.number, each.workers, each.announces) for each in assigned] == [
        (0, 3, True), (1, 3, False), (2, 3, False)]  # fmt: skip
    for worker, each in zip(world.started, assigned, strict=True):
        assert (each.directory, each.sockets, each.bindings) == (directory, (bound.fileno(),), ())
        assert worker.given["pass_fds"] == [bound.fileno(), each.ready, each.alive, each.memory]
        assert worker.given["start_new_session"] is True
        assert worker.given["env"]["PATH"] == os.environ["PATH"]
        assert worker.words == [sys.executable, "-P", *sys.orig_argv[1:]]
        assert worker.signals == [signal.SIGTERM]
    assert (world.notes, world.ready, world.waits) == (["ready: 3 workers"], 1, [None])
    assert not os.path.exists(directory)
    assert before == {name: signal.getsignal(getattr(signal, name)) for name in before}
    assert signal.set_wakeup_fd(woken) == woken
    assert os.listdir("/dev/fd") == opened


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports are not shared")
def test_each_binds_its_own_socket_where_the_system_spreads_connections(world: World, bound: socket.socket) -> None:
    world.steps = [stop]
    world.made(1, [bound]).run_workers()
    (worker,) = world.started
    assert (worker.assigned.sockets, worker.assigned.bindings) == (
        (), ((socket.AF_INET, "127.0.0.1", bound.getsockname()[1]),))  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports are not shared")
def test_a_unix_socket_is_inherited_with_all_others(world: World, bound: socket.socket) -> None:
    world.steps = [stop]
    with socket.socket(socket.AF_UNIX) as other:
        world.made(1, [bound, other]).run_workers()
        assert world.started[0].assigned.sockets == (bound.fileno(), other.fileno())


def test_where_the_first_cannot_start_no_other_does(world: World) -> None:
    world.codes = {0: 2}
    assert world.made(3, []).run_workers() == 2
    assert (len(world.started), world.notes, world.ready, world.waits) == (1, [], 0, [])


def test_a_first_one_that_is_killed_is_told(world: World) -> None:
    world.codes = {0: -9}
    assert world.made(3, []).run_workers() == 1
    assert (len(world.started), world.notes) == (1, ["worker 0 ended with signal 9 before it was ready"])


def test_a_program_that_cannot_be_started_is_told_and_nothing_is_left(world: World) -> None:
    world.codes = {1: -1000}
    supervisor = world.made(2, [])
    with pytest.raises(CallsheetError, match="cannot start a worker: Permission denied"):
        supervisor.run_workers()
    assert world.started[0].signals == [signal.SIGKILL]
    assert not os.path.exists(supervisor._directory)


def test_one_that_ends_is_started_again_when_it_is_due(world: World) -> None:
    world.steps = [ends(world, 1, 9), later(world, 0.75), later(world, 0.25), stop]
    assert world.made(2, []).run_workers() == 0
    assert world.notes == ["ready: 2 workers", "worker 1 ended with exit code 9; it is started again in 1 s"]
    assert world.waits == [None, 1.0, 0.25, None]
    assert [worker.assigned.number for worker in world.started] == [0, 1, 1]
    assert [worker.signals for worker in world.started] == [[signal.SIGTERM], [], [signal.SIGTERM]]
    assert world.started[2].assigned.announces is False
    assert [worker.assigned.generation for worker in world.started] == [0, 0, 1]


def test_one_that_ends_again_and_again_is_started_less_and_less_often(world: World) -> None:
    """One that lived for a while begins anew."""
    expected = [1.0, 2.0, 5.0, 10.0, 10.0]
    for number, delay in enumerate(expected):
        world.steps += [ends(world, number, -11, 4.9), later(world, delay)]
    world.steps += [ends(world, len(expected), 1, 5.0), later(world, 0.2), ends(world, len(expected) + 1, 1),
                    later(world, 1.0), stop]  # fmt: skip
    world.made(1, []).run_workers()
    told = [note.rpartition("; ")[2] for note in world.notes[1:]]
    assert told == [f"it is started again in {delay:g} s" for delay in (*expected, 0.2, 1.0)]
    assert "ended with signal 11;" in world.notes[1]
    assert len(world.started) == len(expected) + 3


def test_the_earliest_of_several_is_waited_for(world: World) -> None:
    def both() -> None:
        world.started[0].code = world.started[1].code = 1

    world.steps = [both, later(world, 1.0), ends(world, 2, 1), ends(world, 3, 1, 6.0), stop]
    world.made(2, []).run_workers()
    assert world.waits[:4] == [None, 1.0, None, 2.0]
    assert world.waits[4] == pytest.approx(0.2)  # the other one was due already


def test_a_signal_to_read_again_is_passed_on_and_ends_nothing(world: World) -> None:
    def hang_up() -> None:
        world.started[0].gone = True  # at this moment
        signal.raise_signal(signal.SIGHUP)
        world.started[0].gone = False

    world.steps = [hang_up, stop]
    assert world.made(2, []).run_workers() == 0
    assert [worker.signals for worker in world.started] == [[signal.SIGTERM], [signal.SIGHUP, signal.SIGTERM]]


def test_it_waits_for_all_to_end_and_starts_none_again(world: World) -> None:
    def slow() -> None:
        signal.raise_signal(signal.SIGINT)
        world.started[1].code = None

    world.steps = [slow, later(world, 60), ends(world, 1, 1)]
    assert world.made(2, []).run_workers() == 0
    assert world.waits == [None, None, None]
    assert world.notes == ["ready: 2 workers"]
    assert [worker.signals for worker in world.started] == [[signal.SIGTERM]] * 2  # Ctrl-C would break off a start


@pytest.mark.parametrize("during", [0, 1])
def test_a_signal_during_the_start_stops_those_that_are_started_after_it(during: int, world: World) -> None:
    world.at_start = lambda number: stop() if number == during else None
    supervisor = world.made(2, [])
    assert supervisor.run_workers() == 0
    assert (world.ready, world.notes, world.waits) == (0, [], [])
    assert [worker.signals[-1] for worker in world.started] == [signal.SIGTERM] * 2


def test_those_that_still_run_are_killed_whatever_happens(world: World) -> None:
    def broken() -> None:
        world.started[1].code = 0
        raise ZeroDivisionError

    world.steps = [broken]
    with pytest.raises(ZeroDivisionError):
        world.made(2, []).run_workers()
    assert [worker.signals for worker in world.started] == [[signal.SIGKILL], []]


def test_a_real_process_wakes_it_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fake here: the end of a child and a signal both end the wait."""
    code = f"import json, os; ready = json.loads(os.environ['{VARIABLE}'])[5]; os.write(ready, b'+')"
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, "-S", "-c", code])
    monkeypatch.setattr(module, "RESTART_DELAYS", (60.0,))
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        if "ended" in text:
            stop()

    assert Supervisor(1, [], note).run_workers() == 0
    assert notes == ["ready: 1 worker", "worker 0 ended with exit code 0; it is started again in 60 s"]


@pytest.mark.parametrize("signals", [1, 2])
def test_a_worker_that_does_not_end_is_killed(signals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No fake here either. The first signal leaves time for running work, the second one does not."""
    code = (
        "import json, os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"os.write(json.loads(os.environ['{VARIABLE}'])[5], b'+')\n"
        "while True: signal.pause()"
    )
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, "-S", "-c", code])
    monkeypatch.setattr(module, "END_TIMEOUT", 0.05)
    notes: list[str] = []

    def ready() -> None:
        for _ in range(signals):
            stop()

    drain_timeout = 0.05 if signals == 1 else 3600.0
    assert Supervisor(1, [], notes.append, ready, drain_timeout=drain_timeout).run_workers() == 0
    assert notes[-1] == "worker 0 did not end in time and was killed"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_one_whose_heart_does_not_beat_is_killed_and_one_that_has_not_begun_is_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HUNG_AFTER", 3)

    def beat(*indexes: int) -> Callable[[], None]:
        def step() -> None:
            heartbeats = WorkerCounts(world.started[0].assigned.memory, HEARTBEATS)
            for index in indexes:
                heartbeats.increase_count(index)
            heartbeats.close()
            world.now += module.LOOK_EVERY

        return step

    # The third never begins. The second beats once more just in time, and then no more.
    beats = [beat(0, 1), beat(0), beat(0), beat(0, 1), beat(0), beat(0), beat(0)]
    looked: list[list[int]] = []
    world.steps = [*beats, lambda: looked.append(list(world.started[1].signals)), stop]
    assert world.made(3, []).run_workers() == 0
    assert looked == [[signal.SIGKILL]]
    assert "worker 1 hangs, and is killed" in world.notes
    assert [worker.signals for worker in world.started[:3]] == [[signal.SIGTERM], [signal.SIGKILL], [signal.SIGTERM]]


def test_time_that_passes_while_nobody_looks_tells_of_nothing(world: World) -> None:
    """All processes were stopped, or the computer slept."""

    def beat() -> None:
        heartbeats = WorkerCounts(world.started[0].assigned.memory, HEARTBEATS)
        heartbeats.increase_count(0)
        heartbeats.close()
        world.now += module.LOOK_EVERY

    world.steps = [beat, *[later(world, 1e9)] * (module.HUNG_AFTER - 1), beat, stop]
    assert world.made(1, []).run_workers() == 0
    assert world.started[0].signals == [signal.SIGTERM]
