"""The queue in a file, as a listener and its worker use it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.queue.queue_port import DONE, DUPLICATE, FailedRun, Lease, QueuedEvent, QueueFailed
from callsheet.listener.queue.sqlite import file_queue as module
from callsheet.listener.queue.sqlite.file_queue import FileQueue
from callsheet.listener.verify.event import Event
from callsheet.listener.verify.source import Source

SOURCE = Source("lms", {"title": "x", "path": "/x", "type": "payload.type", "id": "payload.id"}, [], None)


def event(id: str) -> Event:
    data = b'{"type": "t", "id": "%s"}' % id.encode()
    return Event(SOURCE, {"type": "t", "id": id}, [(b"x-a", b"1"), (b"cookie", b"2")], b"q=1", data, data)


class Opened:
    """A queue on the test's file."""

    def __init__(self, path: Path, window: float = 3600.0) -> None:
        self.notes: list[str] = []
        self.queue = FileQueue(str(path / "in.db"), window, self.notes.append)

    async def __aenter__(self) -> FileQueue:
        await self.queue.open()
        return self.queue

    async def __aexit__(self, *_: object) -> None:
        await self.queue.close()


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[FileQueue], Awaitable[None]]], None]:
    monkeypatch.setattr(module, "LONGEST_SLEEP", 0.02)

    def played(scene: Callable[[FileQueue], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with Opened(tmp_path) as queue:
                await scene(queue)

        asyncio.run(whole())

    return played


Play = Callable[[Callable[[FileQueue], Awaitable[None]]], None]


def ids(events: list[QueuedEvent]) -> list[str]:
    return [each.data.decode().split('"')[-2] for each in events]


def test_before_it_is_open_nothing_is_kept(tmp_path: Path) -> None:
    queue = FileQueue(str(tmp_path / "in.db"), 1.0, lambda _: None)
    with pytest.raises(QueueFailed, match="not open"):
        queue.put_event(event("a"), has_jobs=True, run_here=False)
    assert queue.problem is None
    asyncio.run(queue.close())
    with pytest.raises(Exception, match="closed"):
        queue._connection.execute("SELECT 1")
    with pytest.raises(Exception, match="closed"):
        queue._reader.execute("SELECT 1")


def test_an_event_is_run_by_who_put_it_or_by_who_fetches_it(play: Play) -> None:
    async def scene(queue: FileQueue) -> None:
        here = await queue.put_event(event("here"), has_jobs=True, run_here=True)
        assert (here.stored, here.lease) == (True, Lease(1, 1))
        assert await queue.put_event(event("here"), has_jobs=True, run_here=True) is DUPLICATE
        waits = await queue.put_event(event("waits"), has_jobs=True, run_here=False)
        nothing = await queue.put_event(event("nothing"), has_jobs=False, run_here=True)
        assert [(each.stored, each.lease) for each in (waits, nothing)] == [(True, None)] * 2
        (fetched,) = await queue.fetch_events(5)
        assert fetched.lease.attempts == 1
        assert (fetched.source, fetched.headers, fetched.query) == ("lms", [(b"x-a", b"1")], b"q=1")
        assert (fetched.data, fetched.text, fetched.targets) == (event("waits").data,) * 2 + ({},)
        assert await queue.fetch_events(5) == []
        assert queue.problem is None
        assert {name: count for name, count in queue.events_by_state().items() if count and "age" not in name} != {}

    play(scene)


def test_as_many_are_fetched_as_there_are_places(play: Play) -> None:
    async def scene(queue: FileQueue) -> None:
        for id in "abc":
            await queue.put_event(event(id), has_jobs=True, run_here=False)
        assert ids(await queue.fetch_events(2)) == ["a", "b"]
        assert ids(await queue.fetch_events(2)) == ["c"]

    play(scene)


@pytest.mark.parametrize("how", ["put", "retry", "wake"])
def test_who_waits_is_woken_by_what_there_is_to_do(how: str, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(queue: FileQueue) -> None:
        put = await queue.put_event(event("a"), has_jobs=True, run_here=True)
        assert put.lease is not None
        monkeypatch.setattr(module, "LONGEST_SLEEP", 60.0)
        waiting = asyncio.create_task(queue.fetch_events(1))
        waits: Any = queue._work_available
        for _ in iter(lambda: len(waits._waiters), 1):
            await asyncio.sleep(0.001)
        if how == "put":
            await queue.put_event(event("b"), has_jobs=True, run_here=False)
        elif how == "retry":
            assert await queue.retry_later(put.lease, 0.0, FailedRun("why", 1))
        else:
            queue.wake_worker()
        async with asyncio.timeout(30):
            await waiting
        assert await waiting == []
        monkeypatch.setattr(module, "LONGEST_SLEEP", 0.01)
        assert ids(await queue.fetch_events(1)) == {"put": ["b"], "retry": ["a"], "wake": []}[how]

    play(scene)


def test_a_repetition_is_due_after_its_delay(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_SLEEP", 60.0)

    async def scene(queue: FileQueue) -> None:
        put = await queue.put_event(event("a"), has_jobs=True, run_here=True)
        assert put.lease is not None
        before = time.time()
        assert await queue.retry_later(put.lease, 0.05, FailedRun("why", 1))
        async with asyncio.timeout(30):
            while not (found := await queue.fetch_events(1)):
                pass
        assert time.time() >= before + 0.05
        assert found[0].lease[:2] == (1, 2)

    play(scene)


def test_what_succeeded_is_known_and_what_was_lost_cannot_be_changed(play: Play) -> None:
    async def scene(queue: FileQueue) -> None:
        put = await queue.put_event(event("a"), has_jobs=True, run_here=True)
        lease: Any = put.lease
        assert await queue.record_success(lease, "r/1") is True
        await queue.release_leases([lease])
        for change in (
            queue.record_success(lease, "r/2"), queue.complete_event(lease),
                       queue.retry_later(lease, 0.0, FailedRun("x", 1)),
                       queue.give_up(lease, FailedRun("x", 1))):  # fmt: skip
            assert await change is False
        (again,) = await queue.fetch_events(1)
        assert again.targets == {"r/1": DONE}
        assert await queue.complete_event(again.lease) is True
        assert await queue.fetch_events(1) == []

    play(scene)


def test_what_succeeded_is_forgotten_when_its_event_is_handled(play: Play, tmp_path: Path) -> None:
    def noted() -> list[int]:
        with contextlib.closing(sqlite3.connect(tmp_path / "in.db")) as other:
            return [key for (key,) in other.execute("SELECT key FROM target ORDER BY key")]

    async def scene(queue: FileQueue) -> None:
        leases: list[Any] = [(await queue.put_event(event(id), has_jobs=True, run_here=True)).lease for id in "abc"]
        for lease in leases[:2]:
            await queue.record_success(lease, "r/1")
        await queue.retry_later(leases[1], 0.0, FailedRun("x", 1))
        assert noted() == [1, 2]
        (again,) = await queue.fetch_events(1)
        for lease in (leases[0], again.lease, leases[2]):
            assert await queue.complete_event(lease) is True
        assert noted() == []

    play(scene)


def test_what_is_given_up_is_not_fetched_again(play: Play) -> None:
    async def scene(queue: FileQueue) -> None:
        put = await queue.put_event(event("a"), has_jobs=True, run_here=True)
        assert put.lease is not None
        assert await queue.give_up(put.lease, FailedRun("half of a pair: \ud800", 1)) is True
        assert await queue.fetch_events(1) == []
        (row,) = queue._reader.execute("SELECT state, error FROM event")
        assert (row[0], row[1].startswith("half of a pair")) == ("dead", True)

    play(scene)


def test_what_a_process_held_that_ended_is_taken_over_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(module, "LONGEST_SLEEP", 0.02)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now[0]))

    async def scene() -> None:
        first, second = Opened(tmp_path), Opened(tmp_path)
        async with first as one, second as two:
            await one.put_event(event("a"), has_jobs=True, run_here=True)
            for step in (2, 2, 2, 2, 1):
                now[0] += step
                await two.extend_leases(())
            assert await two.fetch_events(1) == []
            now[0] += 2
            two._work_available.clear()
            await two.extend_leases(())
            assert two._work_available.is_set()
            assert second.notes == ["inbox: 1 event of a process that ended: handled again"]
            assert ids(await two.fetch_events(1)) == ["a"]
        assert first.notes == []

    asyncio.run(scene())


def test_what_was_handled_long_ago_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PURGE_EVERY", 2)
    monkeypatch.setattr(module, "PURGE_BATCH", 2)

    async def scene() -> None:
        async with Opened(tmp_path, window=-60.0) as queue:  # all that is done already is old enough
            for id in "abcde":
                await queue.put_event(event(id), has_jobs=id == "e", run_here=True)
            left = []
            for _ in range(4):
                left.append(queue._reader.execute("SELECT count(*) FROM event").fetchone()[0])
                await queue.extend_leases(())
            assert left == [5, 1, 1, 1]  # the first time was when it was opened

    asyncio.run(scene())


def test_what_cannot_be_written_is_a_problem_until_something_is(play: Play) -> None:
    async def scene(queue: FileQueue) -> None:
        def full(_connection: object) -> None:
            raise sqlite3.OperationalError("disk is full")

        with pytest.raises(QueueFailed, match="disk is full"):
            await queue._submit_change(full)
        assert queue.problem == "OperationalError: disk is full"
        await queue.put_event(event("a"), has_jobs=False, run_here=False)
        assert queue.problem is None

    play(scene)


def test_processes_that_could_not_write_for_long_leave_each_other_what_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now))

    async def scene() -> None:
        nonlocal now
        first, second = Opened(tmp_path), Opened(tmp_path)
        async with first as one, second as other:
            leases = [(await one.put_event(event(id), has_jobs=True, run_here=True)).lease for id in "ab"]
            assert leases[0] is not None
            assert leases[1] is not None
            now += 7.0  # a full disk: neither of them could say that it lives
            await other.extend_leases(())
            now += 53.0  # and once more
            await other.extend_leases(())
            await one.extend_leases(())
            assert await one.complete_event(leases[0]) is True
            for _ in range(4):
                now += 2.0
                await other.extend_leases(())
            assert second.notes == []
            for _ in range(4):  # and now the first does live no more
                now += 2.0
                await other.extend_leases(())
            assert second.notes == ["inbox: 1 event of a process that ended: handled again"]
            assert await one.complete_event(leases[1]) is False

    asyncio.run(scene())


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved there")
@pytest.mark.parametrize("name", ["in.db", "in.db-wal"])
def test_a_file_that_was_moved_takes_nothing_until_it_is_back(name: str, tmp_path: Path) -> None:
    async def scene() -> None:
        opened, path = Opened(tmp_path), tmp_path / name
        async with opened as queue:
            held = (await queue.put_event(event("a"), has_jobs=True, run_here=True)).lease
            assert held is not None
            path.rename(tmp_path / "elsewhere")
            await queue.extend_leases(())
            said = f"{path} was moved, replaced or deleted: put it back, or start the listener again"
            assert queue.problem == said
            with pytest.raises(QueueFailed, match="moved, replaced or deleted"):
                queue.put_event(event("b"), has_jobs=True, run_here=True)
            path.touch()
            await queue.extend_leases(())
            assert queue.problem is not None
            assert await queue.complete_event(held) is True  # what is there already is handled to its end
            (tmp_path / "elsewhere").replace(path)
            await queue.extend_leases(())
            assert queue.problem is None
            assert (await queue.put_event(event("b"), has_jobs=False, run_here=False)).stored
            assert opened.notes == [f"inbox: {said}", "inbox: it is back"]

    asyncio.run(scene())


def test_what_is_not_urgent_is_kept_at_the_end_and_the_file_is_closed(tmp_path: Path) -> None:
    async def scene() -> None:
        opened = Opened(tmp_path)
        async with opened as queue:
            put = await queue.put_event(event("a"), has_jobs=True, run_here=True)
            assert put.lease is not None
            done = asyncio.ensure_future(queue.complete_event(put.lease))
            await asyncio.sleep(0)
        assert await done is True
        for connection in (queue._connection, queue._reader):
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                connection.execute("SELECT 1")

    asyncio.run(scene())


def test_what_is_read_on_the_loop_changes_nothing(play: Play) -> None:
    async def scene(queue: FileQueue) -> None:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            queue._reader.execute("DELETE FROM event")

    play(scene)
