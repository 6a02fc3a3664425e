"""A clock that is set back keeps no event waiting until it is right again."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from callsheet.listener.queue.queue_port import Lease
from callsheet.listener.queue.sqlite import file_queue as module
from callsheet.listener.queue.sqlite import inbox_events, inbox_file
from callsheet.listener.queue.sqlite.file_queue import FileQueue
from support.kept_events import add_event

YEAR = 365 * 86400.0
MINE = inbox_events.LeaseHolder("mine", 10.0, longest=600.0)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(inbox_file.open_inbox(str(tmp_path / "in.db"))) as opened:
        yield opened


def row(id: str, state: str, due: float, owner: str | None) -> inbox_events.Row:
    return (id, "lms", "t", f'"{id}"', due, b"", b"", b"{}", None, state, 1, due, None, owner)


def states(connection: sqlite3.Connection) -> dict[str, tuple[str, float]]:
    return {id: (state, due) for id, state, due in connection.execute("SELECT identity, state, due FROM event")}


def test_what_waits_for_a_time_of_another_clock_is_due(connection: sqlite3.Connection) -> None:
    for id, due in (("next year", YEAR), ("soon", 1500.0)):
        add_event(connection, row(id, "waiting", due, None))
    inbox_events.write_heartbeat(connection, MINE, 1000.0, judges=False)
    assert states(connection) == {"next year": ("waiting", 1000.0), "soon": ("waiting", 1500.0)}


def test_a_process_that_ended_before_the_clock_was_set_back_holds_nothing(connection: sqlite3.Connection) -> None:
    inbox_events.write_heartbeat(connection, inbox_events.LeaseHolder("ended", 10.0), YEAR)
    inbox_events.write_heartbeat(connection, inbox_events.LeaseHolder("lives", 10.0), 1000.0, judges=False)
    add_event(connection, row("lost", "running", YEAR, "ended"))
    add_event(connection, row("held", "running", 1000.0, "lives"))
    assert inbox_events.write_heartbeat(connection, MINE, 1000.0) == 1
    assert states(connection) == {"lost": ("waiting", 1000.0), "held": ("running", 1000.0)}


def test_others_get_the_time_to_say_that_they_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [YEAR]
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now[0]))

    async def scene() -> list[str]:
        path = str(tmp_path / "in.db")
        here, there = (FileQueue(path, 3600.0, lambda _: None) for _ in range(2))
        await here.open()
        await there.open()
        key = add_event(there._connection, row("held", "running", YEAR, there._owner))
        assert key is not None
        there._connection.commit()
        found = []
        now[0] = 1000.0
        for passed in (0.0, 2.0, 12.0):
            now[0] = 1000.0 + passed
            await here.extend_leases([Lease(1, 1)])
            found += [row[0] for row in here._reader.execute("SELECT state FROM event")]
            if passed == 0.0:
                await there.extend_leases([Lease(key, 1)])
        await here.close()
        await there.close()
        return found

    assert asyncio.run(scene())[:2] == ["running", "running"]
