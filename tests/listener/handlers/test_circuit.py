"""A handler that fails again and again is left alone, takes no place from others, and is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.dispatcher import Runner, RunResult
from callsheet.listener.handlers import CannotSend, HandlerFailed, target
from callsheet.listener.handlers.concurrency_limits import ConcurrencyLimit
from callsheet.listener.handlers.target import HandlerTarget
from callsheet.listener.routes import Job
from support.listening import event, listening, run, until
from support.server import exchange, reply, serve

pytestmark = pytest.mark.slow

EVENT: Any = SimpleNamespace(key="lms/1")


class Service:
    """Fails as long as it is told to; waits for `gate` where there is one."""

    needs_task = True

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails
        self.cannot = False
        self.started = 0
        self.gate: asyncio.Event | None = None
        self.entered = asyncio.Event()

    async def run(self, event: Any, job: str) -> None:
        del event, job
        self.started += 1
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.cannot:
            raise CannotSend("nothing to send")
        if self.fails:
            raise HandlerFailed("it is dead")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(target, "monotonic", made)
    return made


def guarded(target: Service, note: Callable[[str], None], failures: int = 2) -> Job:
    made: Any = target
    table = {"circuit": {"failures": failures, "pause": "10s"}}
    return Job("r/1", made, None, (), HandlerTarget(table, "r/1", note))


def runner(places: int) -> Runner:
    return Runner(ConcurrencyLimit(places), None, lambda *_, **__: None)


async def once(made: Runner, job: Job) -> RunResult:
    return await made.run(EVENT, [job])


def test_after_a_pause_one_run_decides(clock: Clock) -> None:
    async def play() -> None:
        target, said = Service(fails=True), list[str]()
        job, made = guarded(target, said.append), runner(8)
        for _ in range(2):
            assert (await once(made, job)).failed == {"r/1": "it is dead"}
        assert said == ["r/1: 2 failures in a row: not run for 10 s"]
        clock.now = 4.0
        result = await once(made, job)
        assert (result.saturated, result.failed) == (True, {"r/1": "not run: 2 failures in a row, tried again in 6 s"})
        assert target.started == 2

        clock.now, target.gate = 10.0, asyncio.Event()
        target.entered.clear()
        decides = asyncio.create_task(once(made, job))
        await target.entered.wait()
        gate, target.gate = target.gate, None
        others = await asyncio.gather(*(once(made, job) for _ in range(3)))
        assert {other.failed["r/1"] for other in others} == {"not run: 2 failures in a row, tried just now"}
        gate.set()
        assert (await decides).failed == {"r/1": "it is dead"}
        clock.now = 19.0
        assert (await once(made, job)).saturated, "a run that decides and fails opens it for another pause"

        clock.now, target.fails = 20.0, False
        assert (await once(made, job)).succeeded == {"r/1"}
        assert said[1:] == ["r/1: succeeded again"]
        assert (await once(made, job)).succeeded == {"r/1"}
        target.fails = True
        assert (await once(made, job)).failed == {"r/1": "it is dead"}
        assert not (await once(made, job)).saturated, "it is counted anew"

    asyncio.run(play())


def test_a_success_between_failures_begins_the_count_again(clock: Clock) -> None:
    async def play() -> None:
        target = Service(fails=True)
        job, made = guarded(target, print), runner(1)
        for fails in (True, False, True, False, True):
            target.fails = fails
            assert not (await once(made, job)).saturated
        assert not (job.target.circuit and job.target.circuit.is_open)

    asyncio.run(play())
    assert clock.now == 0.0


@pytest.mark.usefixtures("clock")
def test_an_event_that_cannot_be_sent_says_nothing_about_the_target() -> None:
    async def play() -> None:
        target = Service(fails=False)
        job, made = guarded(target, print), runner(1)
        target.cannot = True
        for _ in range(5):
            assert (await once(made, job)).failed == {"r/1": "nothing to send"}
        target.cannot = False
        assert (await once(made, job)).succeeded == {"r/1"}

    asyncio.run(play())


@pytest.mark.usefixtures("clock")
def test_a_dead_target_waits_for_no_place_that_others_have() -> None:
    async def play() -> None:
        target, slow = Service(fails=True), Service(fails=False)
        job, made = guarded(target, print, failures=1), runner(1)
        await once(made, job)
        slow.gate = asyncio.Event()
        other: Any = slow
        holds = asyncio.create_task(once(made, Job("other/1", other, None, (), HandlerTarget({}))))
        await slow.entered.wait()
        assert (await asyncio.wait_for(once(made, job), 5)).saturated
        slow.gate.set()
        assert (await holds).succeeded == {"other/1"}

    asyncio.run(play())


@pytest.mark.usefixtures("clock")
def test_who_waited_for_a_place_meanwhile_is_not_run_either() -> None:
    async def play() -> None:
        target = Service(fails=True)
        target.gate = asyncio.Event()
        job, made = guarded(target, print, failures=1), runner(1)
        runs = [asyncio.create_task(once(made, job)) for _ in range(5)]
        await target.entered.wait()
        target.gate.set()
        results = await asyncio.gather(*runs)
        assert (target.started, sum(result.saturated for result in results)) == (1, 4)

    asyncio.run(play())


def test_a_run_that_is_cut_off_decides_nothing(clock: Clock) -> None:
    async def play() -> None:
        target = Service(fails=True)
        job, made = guarded(target, print, failures=1), runner(1)
        await once(made, job)
        clock.now, target.gate = 10.0, asyncio.Event()
        target.entered.clear()
        decides = asyncio.create_task(once(made, job))
        await target.entered.wait()
        decides.cancel()
        await asyncio.wait([decides])
        target.fails = False
        target.gate.set()
        assert (await once(made, job)).succeeded == {"r/1"}

    asyncio.run(play())


def test_a_listener_leaves_a_dead_target_alone_and_finds_it_again(tmp_path: Path) -> None:
    answers = [exchange("POST", "/in", reply(500), repeat=2), exchange("POST", "/in", reply(204), repeat=2)]
    with serve(answers) as server:
        routes = f"""[route.on]
do = [{{ handler = "forward", url = "{server.url}/in", circuit = {{ failures = 2, pause = "2s" }} }}]
"""
        with listening(tmp_path, "--metrics", routes=routes) as listener:
            assert [listener.send(event(id)).status for id in "12"] == [500, 500]
            refused = listener.send(event("3"))
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
            assert "503 saturated" in listener.logged("on/1: not run: 2 failures in a row, tried again in")
            assert len(server.requests) == 2
            shown = b'listener_circuits_open{handler="on/1"} 1.0'
            assert shown in listener.request("GET", "/metrics").body
            until(lambda: listener.send(event("3")).status == 200, "a run after the pause")
            listener.logged("on/1: succeeded again")
            assert shown not in listener.request("GET", "/metrics").body
            assert listener.send(event("4")).status == 200


def test_with_an_inbox_it_is_tried_again_later(tmp_path: Path) -> None:
    answers = [exchange("POST", "/in", reply(500)), exchange("POST", "/in", reply(204), repeat=2)]
    with serve(answers) as server:
        routes = f"""[route.on]
do = [
  {{ handler = "forward", url = "{server.url}/in", circuit = {{ failures = 1, pause = "500ms" }} }},
  {{ handler = "append", file = "got", send = "{{id}}" }},
]
"""
        with listening(tmp_path, "--inbox", "in.db", routes=routes) as listener:
            assert listener.send(event("1")).status == 200
            listener.logged("failure in a row: not run for 0.5 s")
            assert listener.send(event("2")).status == 200
            until(lambda: len(server.requests) == 3, "both")
            until(lambda: listener.err.count("200 handled") == 2, "both noted")
        assert sorted((tmp_path / "got").read_text().split()) == ["1", "2"]


@pytest.mark.parametrize(("given", "says"), [
    ('{ failures = 0, pause = "1s" }', "circuit.failures"),
    ("{ failures = 3 }", "pause"),
    ('{ failures = 3, pause = "soon" }', "circuit.pause"),
    ('{ failures = 3, pauze = "1s", pause = "1s" }', "did you mean 'pause'?"),
])  # fmt: skip
def test_what_is_no_circuit_is_found_before(given: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(
        f'[route.r]\ndo = [{{ handler = "append", file = "got", circuit = {given} }}]\n', encoding="utf-8"
    )
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 2
    assert says in done.stderr
