"""Statements on the inbox file: whose they are, what they cost, and that the counters are right."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.queue.queue_port import STATES, FailedRun, Lease
from callsheet.listener.queue.sqlite import inbox_events, inbox_file
from support.kept_events import add_event

HOLDER = inbox_events.LeaseHolder("me", 10.0)
OTHER = inbox_events.LeaseHolder("other", 10.0)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(inbox_file.open_inbox(str(tmp_path / "in.db"))) as opened:
        yield opened


def row(number: int, state: str = "waiting", owner: str | None = None) -> inbox_events.Row:
    started = 1 if state == "running" else 0
    finished = 0.0 if state == "done" else None
    data = b'{"id":"%d"}' % number
    return (f"i{number}", "lms", "t", f'"{number}"', 0.0, b"", b"", data, None, state, started, 0.0, finished, owner)


def state_of(connection: sqlite3.Connection) -> list[Any]:
    return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("event", "target", "tally")]


def complete(connection: sqlite3.Connection, lease: Lease, owner: str, now: float) -> bool:
    return inbox_events.complete_events(connection, [lease], owner, now) == [True]


LATE: dict[str, Callable[[sqlite3.Connection, Lease], bool]] = {
    "record_success": lambda inbox, lease: inbox_events.record_success(inbox, lease, "me", "r/1"),
    "complete": lambda inbox, lease: complete(inbox, lease, "me", 50.0),
    "retry": lambda inbox, lease: inbox_events.reschedule_event(inbox, lease, "me", 60.0, FailedRun("late", 1)),
    "dead": lambda inbox, lease: inbox_events.reschedule_event(inbox, lease, "me", None, FailedRun("late", 1)),
}


@pytest.mark.parametrize("change", LATE)
@pytest.mark.parametrize("by", ["other", "me"])
def test_a_process_that_lost_its_claim_writes_nothing(connection: sqlite3.Connection, change: str, by: str) -> None:
    """Also not when it claimed the same event again meanwhile: each run has a number."""
    inbox_events.write_heartbeat(connection, HOLDER, 0.0)
    key = add_event(connection, row(1, "running", "me"))
    assert key is not None
    lost = Lease(key, 1)
    inbox_events.write_heartbeat(connection, OTHER, 11.0)  # the word of the first process held until 10
    ((taken,), _) = inbox_events.claim_events(connection, 1, by, 11.0)
    inbox_events.record_success(connection, taken.lease, by, "r/2")
    before = state_of(connection)
    assert LATE[change](connection, lost) is False
    assert state_of(connection) == before
    assert complete(connection, taken.lease, by, 12.0) is True
    before = state_of(connection)
    assert LATE[change](connection, lost) is False
    assert state_of(connection) == before


@pytest.mark.parametrize("change", LATE)
def test_a_number_of_a_run_counts_for_its_own_process_alone(connection: sqlite3.Connection, change: str) -> None:
    """A replay counts from the beginning again, so another process may hold the event with the same number."""
    inbox_events.write_heartbeat(connection, HOLDER, 0.0)
    key = add_event(connection, row(1, "running", "me"))
    assert key is not None
    inbox_events.write_heartbeat(connection, OTHER, 11.0)
    inbox_events.replay_events(connection, [key], 11.0)
    ((taken,), _) = inbox_events.claim_events(connection, 1, "other", 11.0)
    assert taken.lease == Lease(key, 1)
    before = state_of(connection)
    assert LATE[change](connection, Lease(key, 1)) is False
    assert state_of(connection) == before


def test_a_replay_leaves_what_runs_alone(connection: sqlite3.Connection) -> None:
    key = add_event(connection, row(1, "running", "me"))
    assert key is not None
    inbox_events.record_success(connection, Lease(key, 1), "me", "r/1")
    before = state_of(connection)
    inbox_events.replay_events(connection, [key], 5.0)
    assert state_of(connection) == before


def test_counters_are_right_after_any_changes(connection: sqlite3.Connection) -> None:
    chance, held = random.Random(3), list[Lease]()
    for step in range(600):
        now = step / 10
        match chance.randrange(9):
            case 0 | 1:
                state = chance.choice(("waiting", "running", "done"))
                key = add_event(connection, row(chance.randrange(300), state, "me" if state == "running" else None))
                held += [Lease(key, 1)] if key and state == "running" else []
            case 2:
                taken, _ = inbox_events.claim_events(connection, chance.randrange(4), "me", now)
                held += [one.lease for one in taken]
            case 3 if held:
                ended = [held.pop() for _ in range(min(len(held), chance.randint(1, 3)))]
                inbox_events.complete_events(connection, ended, "me", now)
            case 4 if held:
                inbox_events.reschedule_event(
                    connection, held.pop(), "me", chance.choice((None, now + 1)), FailedRun("failed", 1)
                )
            case 5:
                inbox_events.write_heartbeat(connection, chance.choice((HOLDER, OTHER)), now)
            case 6:
                inbox_events.replay_events(connection, [chance.randrange(100)], now)
            case 7:
                inbox_events.purge_events(connection, chance.choice(("done", "dead")), now - 5, 3)
            case 8:
                inbox_events.release_events(connection, "other", now)
        counted = dict(connection.execute("SELECT state, count(*) FROM event GROUP BY state"))
        assert inbox_events.count_by_state(connection) == {state: counted.get(state, 0) for state in STATES}


def test_many_changes_together_do_what_they_do_one_by_one(tmp_path: Path) -> None:
    """Keys, answers and counters, with events that are known, that come twice, and runs that were lost."""
    chance, names = random.Random(11), ("together", "alone")
    with contextlib.ExitStack() as held:
        together, alone = (held.enter_context(opened_inbox(tmp_path / name)) for name in names)
        leases: list[Lease] = []
        for step in range(60):
            rows = [
                row(chance.randrange(900), state, "me" if state == "running" else None)
                for state in chance.choices(("waiting", "running", "done"), (1, 6, 1), k=chance.randrange(90))
            ]
            keys = inbox_events.add_events(together, rows)
            answers = [add_event(alone, each) for each in rows]
            assert [key is None for key in keys] == [key is None for key in answers]
            assert kept(together) == kept(alone)
            leases += [Lease(key, 1) for key, each in zip(keys, rows, strict=True) if key and each[9] == "running"]
            taken, _ = inbox_events.claim_events(together, 3, "me", step)
            leases += [one.lease for one in taken]
            inbox_events.claim_events(alone, 3, "me", step)
            if leases:
                lost = Lease(chance.choice(leases).key, 7)
                for connection in (together, alone):
                    inbox_events.record_success(connection, leases[0], "me", "r/1")
            else:
                lost = Lease(1, 7)
            chance.shuffle(leases)
            ended, leases = [*leases[5:], lost], leases[:5]
            chance.shuffle(ended)
            changed = inbox_events.complete_events(together, ended, "me", step + 0.5)
            for lease, was_held in zip(ended, changed, strict=True):
                ours = Lease(key_alone(alone, together, lease.key), lease.attempts)
                assert inbox_events.complete_events(alone, [ours], "me", step + 0.5) == [was_held]
            assert kept(together) == kept(alone)


def opened_inbox(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(inbox_file.open_inbox(str(path)))


def kept(connection: sqlite3.Connection) -> list[Any]:
    """Without keys: an event that is known may take one."""
    events = connection.execute("SELECT identity, state, attempts, finished, owner FROM event ORDER BY key").fetchall()
    targets = connection.execute("SELECT identity, job FROM target JOIN event USING (key) ORDER BY 1, 2").fetchall()
    return [events, targets, inbox_events.count_by_state(connection)]


def key_alone(alone: sqlite3.Connection, together: sqlite3.Connection, key: int) -> int:
    (identity,) = together.execute("SELECT identity FROM event WHERE key = ?", (key,)).fetchone()
    (found,) = alone.execute("SELECT key FROM event WHERE identity = ?", (identity,)).fetchone()
    return int(found)


def test_no_statement_looks_at_all_events(tmp_path: Path, connection: sqlite3.Connection) -> None:
    """A million of them must cost what a hundred do. Only the newest are walked, from the end, as many as are asked."""
    statements: list[str] = []
    connection.set_trace_callback(lambda text: statements.append(text) if not text.startswith("--") else None)
    held = {number: Lease(number, 1) for number in range(1, 5)}
    for number in held:
        add_event(connection, row(number, "running", "me"))
    inbox_events.write_heartbeat(connection, HOLDER, 0.0)
    inbox_events.record_success(connection, held[1], "me", "r/1")
    complete(connection, held[1], "me", 1.0)
    inbox_events.reschedule_event(connection, held[2], "me", 1.0, FailedRun("x", 1))
    inbox_events.reschedule_event(connection, held[3], "me", None, FailedRun("x", 1))
    inbox_events.claim_events(connection, 2, "me", 2.0)
    inbox_events.next_due(connection)
    inbox_events.replay_events(connection, [1, 3], 3.0)
    for state in ("done", "dead"):
        inbox_events.purge_events(connection, state, 9.0, 5)
    inbox_events.release_events(connection, "me", 4.0)
    inbox_events.count_by_state(connection)
    inbox_events.find_events(connection, "77")
    inbox_events.events_by_key(connection, [1])
    for state in (None, *STATES):
        inbox_events.list_events(connection, state, 5, None)
    inbox_events.list_events(connection, "dead", 5, "r/1")
    connection.set_trace_callback(None)
    assert len(statements) > 25
    for statement in dict.fromkeys(statements):
        plan = [detail for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        few = any("event_running" in line for line in plan)  # events that run are few, and may all be looked at
        scanned = [line for line in plan if line.startswith("SCAN event")]
        sorted_ = [line for line in plan if "USE TEMP B-TREE" in line]
        # From the newest, as many as are asked for; those of one state by an index of that state.
        walked = [line for line in scanned if " WHERE " not in statement or "USING INDEX" in line]
        walks = walked == scanned and " ORDER BY " in statement and statement.endswith(" LIMIT 5")
        assert few or (sorted_ == [] and (scanned == [] or walks)), (statement, plan)


def test_keys_of_events_that_were_deleted_are_not_given_again(connection: sqlite3.Connection) -> None:
    first = add_event(connection, row(1, "done"))
    inbox_events.purge_events(connection, "done", 9.0)
    assert add_event(connection, row(2)) == (first or 0) + 1


def test_a_purge_at_the_shell_holds_the_file_for_a_part_at_a_time(
    tmp_path: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        add_event(connection, row(number, "done" if number else "waiting"))
    monkeypatch.setattr(inbox_events, "PURGE_BATCH", 2)
    left: list[int] = []

    def look(_pause: float) -> None:
        """Another process gets in between."""
        connection.execute("BEGIN IMMEDIATE")
        left.append(connection.execute("SELECT count(*) FROM event").fetchone()[0])
        connection.execute("COMMIT")

    clock = SimpleNamespace(sleep=look, time=time.time)  # threads of other tests sleep, too
    monkeypatch.setattr(inbox_events, "time", clock)
    with contextlib.closing(inbox_events.FileInspection(str(tmp_path / "in.db"), write=True)) as inbox:
        assert inbox.purge_events("done", 1.0) == 6
        assert left == [5, 3, 1]
        assert [event["state"] for event in inbox.list_events(None, 10)] == ["waiting"]
