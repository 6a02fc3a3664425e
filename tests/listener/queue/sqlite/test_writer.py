"""Many changes, one commit; what fails, fails alone."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.listener.queue.queue_port import QueueFailed, Unstorable
from callsheet.listener.queue.sqlite import inbox_file
from callsheet.listener.queue.sqlite import inbox_writer as writer_module
from callsheet.listener.queue.sqlite.inbox_writer import InboxWriter
from support.waiting import PATIENCE, all_turns, reach


def with_writer(path: Path, play: Callable[[InboxWriter], Awaitable[None]]) -> list[str]:
    """Run something with a writer; the statements it sent."""
    statements: list[str] = []

    async def all_of_it() -> None:
        connection = inbox_file.open_inbox(str(path))
        connection.set_trace_callback(statements.append)
        writer = InboxWriter(connection)
        try:
            await play(writer)
        finally:
            await writer.close()

    asyncio.run(all_of_it())
    return statements


def full(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO owner VALUES ('x', 1)")
    raise sqlite3.OperationalError("disk is full")


def test_a_failing_disk_is_a_problem_until_something_is_written(tmp_path: Path) -> None:
    async def play(writer: InboxWriter) -> None:
        with pytest.raises(QueueFailed, match="disk is full"):
            await writer.submit_change(full)
        assert writer.problem is not None
        assert await writer.submit_change(lambda inbox: inbox.execute("SELECT count(*) FROM owner").fetchone()) == (0,)
        assert writer.problem is not None  # to change nothing succeeds on a full disk too
        await writer.submit_change(lambda inbox: inbox.execute("INSERT INTO owner VALUES ('x', 1)"))
        assert writer.problem is None

    with_writer(tmp_path / "in.db", play)


def test_changes_that_come_together_are_one_commit(tmp_path: Path) -> None:
    async def play(writer: InboxWriter) -> None:
        await asyncio.gather(*(writer.submit_change(lambda _: None) for _ in range(200)))

    assert 1 <= with_writer(tmp_path / "in.db", play).count("COMMIT") < 50


@pytest.mark.slow
@settings(max_examples=25)
@given(bad=st.sets(st.integers(0, 59), max_size=20))
def test_what_cannot_be_written_fails_alone(tmp_path_factory: pytest.TempPathFactory, bad: set[int]) -> None:
    """With all the time it needs: each part is a commit of its own, and a slow disk takes long for a hundred."""

    def change(number: int) -> Callable[[sqlite3.Connection], int]:
        text = "\ud800" if number in bad else str(number)

        def work(connection: sqlite3.Connection) -> int:
            connection.execute("INSERT INTO owner VALUES (?, 1)", (text,))
            return number

        return work

    async def play(writer: InboxWriter) -> None:
        results = await asyncio.gather(*(writer.submit_change(change(n)) for n in range(60)), return_exceptions=True)
        assert {n for n, result in enumerate(results) if isinstance(result, Unstorable)} == bad
        assert [result for n, result in enumerate(results) if n not in bad] == [n for n in range(60) if n not in bad]
        assert writer.problem is None or len(bad) == 60
        (count,) = await writer.submit_change(lambda inbox: inbox.execute("SELECT count(*) FROM owner").fetchone())
        assert count == 60 - len(bad)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writer_module, "SPLIT_TIMEOUT", 3600.0)
        with_writer(tmp_path_factory.mktemp("inbox") / "in.db", play)


def test_what_is_not_urgent_shares_the_commit_of_what_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_DELAY", 3600.0)
    made: list[str] = []

    async def play(writer: InboxWriter) -> None:
        first, second = (writer.submit_change(lambda _, n=n: made.append(n), is_urgent=False) for n in "ab")
        await all_turns()
        assert (made, first.done()) == ([], False)
        await writer.submit_change(lambda _: made.append("c"))
        assert (made, first.done(), second.done()) == (["a", "b", "c"], True, True)
        writer.submit_change(lambda _: made.append("d"), is_urgent=False)  # the end waits for nothing

    assert with_writer(tmp_path / "in.db", play).count("COMMIT") == 2
    assert made == ["a", "b", "c", "d"]


def test_what_is_not_urgent_joins_what_is_about_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_DELAY", 3600.0)

    async def play(writer: InboxWriter) -> None:
        await asyncio.gather(*(writer.submit_change(lambda _: None, is_urgent=n % 2 == 0) for n in range(6)))

    assert with_writer(tmp_path / "in.db", play).count("COMMIT") == 1


def test_what_is_not_urgent_waits_a_moment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_DELAY", 0.001)

    async def play(writer: InboxWriter) -> None:
        for number in range(3):
            assert await writer.submit_change(lambda _, number=number: number, is_urgent=False) == number

    assert with_writer(tmp_path / "in.db", play).count("COMMIT") == 3


def test_who_waits_no_more_keeps_no_answer_from_the_others(tmp_path: Path) -> None:
    async def play(writer: InboxWriter) -> None:
        futures = [writer.submit_change(lambda _, n=n: n) for n in range(3)]
        futures[0].cancel()
        assert await asyncio.gather(*futures[1:]) == [1, 2]

    with_writer(tmp_path / "in.db", play)


_ON_A_SMALL_DISK = """
import asyncio, resource, sys
from callsheet.listener.queue.sqlite import inbox_file
from callsheet.listener.queue.sqlite.inbox_writer import InboxWriter

async def play():
    connection = inbox_file.open_inbox(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    writer = InboxWriter(connection)
    for number in range(400):  # each changes some pages: the log would have 3 MB
        row = (f"{number % 7}{number}" + "x" * 900,)
        await writer.submit_change(lambda inbox: inbox.execute("INSERT INTO owner VALUES (?, 1)", row))
    print(writer.problem, connection.execute("SELECT count(*) FROM owner").fetchone())
    await writer.close()

asyncio.run(play())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit for files there")
def test_a_log_that_cannot_grow_is_emptied_and_stays_short(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ON_A_SMALL_DISK, str(tmp_path / "in.db")],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.stdout, done.stderr) == ("None (400,)\n", "")


def test_a_file_that_stays_full_is_not_tried_again_and_again(tmp_path: Path) -> None:
    """Emptying the log may succeed each time and help never, as while another program reads from it."""
    large = b"x" * 100_000

    def add(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO target (key, job) VALUES (1, ?)", (large,))

    async def play(writer: InboxWriter) -> None:
        await writer.submit_change(lambda inbox: inbox.execute("INSERT INTO target (key, job) VALUES (0, 'a')"))
        await writer.submit_change(lambda inbox: inbox.execute("PRAGMA max_page_count = 1").fetchone())
        with pytest.raises(QueueFailed, match="full"):
            await writer.submit_change(add)

    statements = with_writer(tmp_path / "in.db", play)
    assert sum(statement.startswith("INSERT INTO target (key, job) VALUES (1") for statement in statements) <= 4


def test_what_comes_while_another_process_writes_shares_one_commit(tmp_path: Path) -> None:
    async def play(writer: InboxWriter) -> None:
        other = inbox_file.open_inbox(str(tmp_path / "in.db"))
        other.execute("BEGIN IMMEDIATE")
        changes = []
        for _ in range(20):
            changes.append(writer.submit_change(lambda inbox: inbox.execute("UPDATE tally SET events = events")))
            await all_turns()  # each is handed to the thread by itself, which took the first and waits for the other
            if len(changes) == 1:
                await reach(writer._batches.empty)
        assert not any(change.done() for change in changes)
        other.execute("COMMIT")
        other.close()
        await asyncio.gather(*changes)

    statements = with_writer(tmp_path / "in.db", play)
    assert statements.count("COMMIT") == 1


def test_another_process_that_goes_on_writing_is_waited_for_so_long_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "BUSY_WAIT", 0.05)

    async def play(writer: InboxWriter) -> None:
        other = inbox_file.open_inbox(str(tmp_path / "in.db"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(QueueFailed, match="database is locked"):
            await writer.submit_change(lambda _: None)
        assert writer.problem == "OperationalError: database is locked"
        other.close()
        await writer.submit_change(lambda inbox: inbox.execute("UPDATE tally SET events = events"))
        assert writer.problem is None

    with_writer(tmp_path / "in.db", play)
