"""Each event has one owner among the workers, and arrives there as it was sent."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.dispatch.verdict import ACCEPTED, Verdict
from callsheet.listener.verify.event import Event
from callsheet.listener.workers import ownership
from callsheet.listener.workers.channel import Unreachable
from callsheet.listener.workers.ownership import OwnerDispatcher


class Local:
    """Remembers what it was given; `at_once` is what can be said without waiting."""

    def __init__(self, at_once: Verdict | None = None) -> None:
        self.at_once = at_once
        self.given: list[tuple[str, Event, list[Any]]] = []

    def try_immediately(self, event: Event, jobs: list[Any]) -> Verdict | None:
        self.given.append(("at once", event, jobs))
        return self.at_once

    async def handle(self, event: Event, jobs: list[Any]) -> Verdict:
        self.given.append(("handle", event, jobs))
        return Verdict(500, "failed", "no")


class Table:
    def plan(self, event: Event) -> Any:
        return ("plan", event)

    def jobs(self, plan: Any, event: Event) -> list[Any]:
        assert plan == ("plan", event)
        return ["job"]


class Wire:
    """A channel to one other worker that fails as often as it is told."""

    def __init__(self, index: int, other: Any = None, failures: int = 0) -> None:
        self.index, self.other, self.failures = index, other, failures
        self.asked: list[int] = []

    async def request(self, index: int, message: dict[str, Any], data: bytes = b"") -> Any:
        self.asked.append(index)
        if len(self.asked) <= self.failures:
            raise Unreachable("gone")
        return await self.other.handle_remote(json.loads(json.dumps(message)), data)


def source() -> Any:
    from callsheet.listener.verify.source import Source

    definition: Any = {"path": "/", "type": "payload.type", "id": "payload.id"}
    return Source("lms", definition)


SOURCE = source()


def event(id: str, text: bytes | None = None, headers: Any = ((b"x-a", b"\xff"),)) -> Event:
    data = json.dumps({"type": "t", "id": id}).encode()
    whole = data if text is None else text
    return Event(SOURCE, json.loads(whole), list(headers), b"q=\xfc", data if text is None else b"token", whole)


def dispatcher(local: Local, wire: Wire, count: int = 2) -> OwnerDispatcher:
    return OwnerDispatcher(local, wire, count, {"lms": SOURCE}, Table)  # type: ignore[arg-type]


def of(owner: int, count: int = 2, **more: Any) -> Event:
    """An event that worker `owner` handles."""
    probe = dispatcher(Local(), Wire(0), count)
    return next(made for made in (event(str(n), **more) for n in range(1000)) if probe.owner(made) == owner)


def test_owners_are_the_same_everywhere_and_all_have_some() -> None:
    events = [event(str(n)) for n in range(200)]
    found = [[dispatcher(Local(), Wire(index), 4).owner(each) for each in events] for index in range(4)]
    assert found[0] == found[1] == found[2] == found[3]
    assert set(found[0]) == {0, 1, 2, 3}


def test_what_is_settled_at_once_here() -> None:
    local = Local(ACCEPTED)
    here = dispatcher(local, Wire(0))
    mine, others = of(0), of(1)
    assert here.try_immediately(mine, ["job"]) is ACCEPTED  # type: ignore[list-item]
    assert here.try_immediately(others, []) is ACCEPTED, "nothing is to be run"
    assert here.try_immediately(others, ["job"]) is None  # type: ignore[list-item]
    assert [given[1] for given in local.given] == [mine, others]


def test_an_own_event_is_handled_here() -> None:
    local, wire = Local(), Wire(0)
    verdict = asyncio.run(dispatcher(local, wire).handle(of(0), ["job"]))  # type: ignore[list-item]
    assert (verdict.status, [given[0] for given in local.given], wire.asked) == (500, ["handle"], [])


@pytest.mark.parametrize("at_once", [None, ACCEPTED])
@pytest.mark.parametrize("text", [None, b'{"type": "t", "id": "claims"}'])
def test_anothers_event_arrives_there_as_it_was_sent(at_once: Verdict | None, text: bytes | None) -> None:
    there, here = Local(at_once), Local()
    sent = of(1) if text is None else None
    owner = 1
    if sent is None:
        sent = event("x", text)
        owner = dispatcher(Local(), Wire(0)).owner(sent)
    wire = Wire(1 - owner, dispatcher(there, Wire(owner)))
    verdict = asyncio.run(dispatcher(here, wire).handle(sent, ["other"]))  # type: ignore[list-item]
    assert verdict == (at_once or Verdict(500, "failed", "no"))
    assert (wire.asked, here.given) == ([owner], [])
    assert [given[0] for given in there.given] == (["at once"] if at_once else ["at once", "handle"])
    _, got, jobs = there.given[0]
    assert jobs == ["job"], "by the routes of the worker that handles it"
    assert (got.source, got.data, got.text, got.query) == (SOURCE, sent.data, sent.text, sent.query)
    assert (list(got.headers), got.payload, got.key) == (list(sent.headers), sent.payload, sent.key)


@pytest.mark.parametrize(("failures", "status"), [(0, 500), (3, 500), (4, 503)])
def test_an_owner_that_is_gone_is_waited_for(failures: int, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(ownership, "asyncio", SimpleNamespace(sleep=sleep))
    wire = Wire(0, dispatcher(Local(), Wire(1)), failures)
    verdict = asyncio.run(dispatcher(Local(), wire).handle(of(1), ["job"]))  # type: ignore[list-item]
    assert verdict.status == status
    assert slept == [0.1, 0.4, 1.0][: min(failures, 3)]
    if status == 503:
        assert verdict.outcome == "saturated"
        assert verdict.detail == "worker 1 cannot be reached: gone"
