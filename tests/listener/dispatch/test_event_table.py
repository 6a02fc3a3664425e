"""What workers know of an event by the memory that they share, whoever of them is killed at whatever moment."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from callsheet.listener import event_table
from callsheet.listener.event_table import (  # fmt: skip
    DONE,
    FAILED,
    FREE,
    GENERATIONS,
    MIN_BUCKETS,
    RUNNING,
    SLOTS,
    EventEntry,
    EventTable,
    TableBusy,
    WorkerCounts,
    create_memory,
)
from support.waiting import PATIENCE

with_workers = pytest.mark.skipif(sys.platform == "win32", reason="no workers there")
WINDOW = 100.0


def of_worker(descriptor: int, number: int, size: int = 100, generation: int = 0) -> EventTable:
    return EventTable(size, WINDOW, descriptor, number, generation)


def is_claimed(table: EventTable, key: str, now: float = 1.0) -> bool:
    return bool(table.claim_event(key, now).slot)


@contextlib.contextmanager
def memory(folder: Path) -> Iterator[int]:
    descriptor = create_memory(str(folder))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[int]:
    with memory(tmp_path) as descriptor:
        yield descriptor


@with_workers
def test_an_event_is_one_workers_until_it_is_done_and_known_for_the_window(shared: int) -> None:
    first, second = (of_worker(shared, number) for number in (0, 1))
    entry = first.claim_event("a", 5.0)
    assert entry[:2] == (RUNNING, 0)
    assert entry.slot
    assert [each.claim_event("a", 5.0) for each in (first, second)] == [(RUNNING, 0, 0)] * 2
    first.release_event(entry, DONE)
    assert [each.look_up("a", 5.0 + WINDOW).state for each in (first, second)] == [DONE, DONE]
    assert [each.claim_event("a", 5.0 + WINDOW) for each in (first, second)] == [(DONE, 0, 0)] * 2
    assert first.look_up("a", 6.0 + WINDOW).state == FREE
    assert is_claimed(second, "a", 6.0 + WINDOW)


@with_workers
def test_attempts_are_counted_wherever_they_are_made(shared: int) -> None:
    tables = [of_worker(shared, number) for number in (0, 1)]
    for attempt in range(4):
        entry = tables[attempt % 2].claim_event("a", 1.0)
        assert entry.attempt == attempt
        tables[attempt % 2].release_event(entry, FAILED)
        assert [each.look_up("a", 1.0) for each in tables] == [(FAILED, attempt, 0)] * 2


@pytest.mark.parametrize("is_shared", [False, pytest.param(True, marks=with_workers)])
def test_it_remembers_as_many_as_it_was_asked_to(is_shared: bool, tmp_path: Path) -> None:
    """Buckets fill unevenly. There are enough places for that."""
    size = 10_000
    with memory(tmp_path) if is_shared else contextlib.nullcontext(None) as descriptor:
        table = EventTable(size, WINDOW, descriptor)
        keys = [f"lms/t/{number}" for number in range(6 * size)]
        for key in keys:
            table.release_event(table.claim_event(key, 1.0), DONE)
        assert {table.claim_event(key, 1.0).state for key in keys[-size:]} == {DONE}
        assert is_claimed(table, keys[0])


@with_workers
def test_the_first_worker_says_how_many_for_all(shared: int) -> None:
    first = of_worker(shared, 0, 1)
    size = os.fstat(shared).st_size
    second = of_worker(shared, 1, 100_000)
    assert os.fstat(shared).st_size == size
    assert [is_claimed(first, "a"), is_claimed(second, "a")] == [True, False]


@with_workers
def test_what_is_under_way_is_never_forgotten_and_a_full_bucket_says_so(
    shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_table, "MIN_BUCKETS", 1)
    first, second = (of_worker(shared, number, 1) for number in (0, 1))
    entries = [first.claim_event(str(number), 1.0) for number in range(SLOTS)]
    assert all(entry.slot for entry in entries)
    with pytest.raises(TableBusy, match="too many events are under way"):
        second.claim_event("one more", 1.0)
    first.release_event(entries[7], FAILED)  # which may be forgotten
    assert is_claimed(second, "one more")
    assert {second.claim_event(str(number), 1.0) for number in range(SLOTS) if number != 7} == {(RUNNING, 0, 0)}


def test_text_of_every_kind_is_a_key() -> None:
    table = EventTable(100, WINDOW)
    for key in ("", "\ud800", "\u00fc", "a" * 5000):
        table.release_event(table.claim_event(key, 1.0), DONE)
        assert table.look_up(key, 1.0).state == DONE


def test_an_event_is_known_by_its_whole_digest() -> None:
    """Not by the tag alone, which another may have, also across the end of one and the beginning of the next."""
    table = EventTable(1, WINDOW)
    table.release_event(table.claim_event("a", 1.0), DONE)
    rest, tag, bucket = table._locate_bucket("a")
    start = next(at for at in range(bucket, bucket + 4 * SLOTS, 4) if table._memory[at : at + 4] == tag)
    slot = table._find_slot(rest, tag, bucket)
    assert table._find_slot(b"d" * len(rest), tag, bucket) == -1
    for at in (start + 4, start + 9, start + 16):
        table._memory[at : at + 4] = tag
        assert table._find_slot(rest, tag, bucket) == slot
    table._memory[start : start + 4] = bytes(4)
    assert table._find_slot(rest, tag, bucket) == -1
    assert is_claimed(table, "a")


@with_workers
def test_without_memory_of_its_own_kind_a_file_without_a_name_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with memory(tmp_path) as descriptor:
        tables = [of_worker(descriptor, number) for number in (0, 1)]
        assert os.listdir(tmp_path) == []
        assert os.fstat(descriptor).st_size == event_table.HEADER_SIZE + MIN_BUCKETS * event_table.BUCKET_SIZE
        assert os.fstat(descriptor).st_blocks * 512 >= MIN_BUCKETS * event_table.BUCKET_SIZE
        assert [is_claimed(each, "a") for each in tables] == [True, False]


class Tables(RuleBasedStateMachine):
    """Workers that claim, release, die and are started again, beside a model of what each event is."""

    KEYS = st.sampled_from("abcdefgh")
    WORKERS = st.integers(0, 2)

    def __init__(self) -> None:
        super().__init__()
        self.descriptor = create_memory(tempfile.gettempdir())
        self.generations = WorkerCounts(self.descriptor, GENERATIONS)
        self.now = 10.0
        self.alive = [True] * 3
        self.known: dict[str, tuple[int, int, float]] = {}  # state, worker, and when it was claimed
        self.entries: dict[str, EventEntry] = {}
        self.tables = [self.opened(number) for number in range(3)]

    def opened(self, number: int) -> EventTable:
        return of_worker(self.descriptor, number, generation=self.generations.count_of_worker(number))

    def teardown(self) -> None:
        for each in (*self.tables, self.generations):
            each.close()
        os.close(self.descriptor)

    @rule(key=KEYS, worker=WORKERS)
    def claim(self, key: str, worker: int) -> None:
        if not self.alive[worker]:
            return
        state, _, since = self.known.get(key, (FREE, 0, 0.0))
        if state == DONE and self.now - since > WINDOW:
            state = FREE
        assert self.tables[worker].look_up(key, self.now).state == state
        entry = self.tables[worker].claim_event(key, self.now)
        assert bool(entry.slot) == (state in (FREE, FAILED))
        assert entry.state == (RUNNING if entry.slot else state)
        if entry.slot:
            self.known[key] = (RUNNING, worker, self.now)
            self.entries[key] = entry

    @rule(key=KEYS, state=st.sampled_from([FREE, FAILED, DONE]))
    def release_event(self, key: str, state: int) -> None:
        now, worker, since = self.known.get(key, (FREE, 0, 0.0))
        if now == RUNNING and self.alive[worker]:
            self.tables[worker].release_event(self.entries[key], state)
            self.known[key] = (state, worker, since)

    @rule(worker=WORKERS)
    def die(self, worker: int) -> None:
        """Until its supervisor knows, what it had stays its own."""
        self.alive[worker] = False

    @precondition(lambda self: not all(self.alive))
    @rule()
    def notice(self) -> None:
        worker = self.alive.index(False)
        self.generations.increase_count(worker)
        self.tables[worker].close()
        self.tables[worker] = self.opened(worker)
        self.alive[worker] = True
        for key, (state, of, since) in list(self.known.items()):
            if state == RUNNING and of == worker:
                self.known[key] = (FREE, of, since)

    @rule(seconds=st.integers(1, 120))
    def wait(self, seconds: int) -> None:
        self.now += seconds


Tables.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestTables = with_workers(Tables.TestCase)

LINE = len("00000 0 00\n")
HAMMER = """
import os, sys, time
from callsheet.listener.event_table import DONE, EventTable, TableBusy
descriptor, number, generation, count = map(int, sys.argv[1:])
table = EventTable(10, 1e6, descriptor, number, generation)
journal = os.open("journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
key = 0
while key < count:
    try:
        entry = table.claim_event(str(key), time.monotonic())
    except TableBusy:
        continue
    if entry.slot:
        os.write(journal, b"%05d %d %02d\\n" % (key, number, generation))
        table.release_event(entry, DONE)
    if entry.slot or entry.state == DONE:
        key += 1
"""


@with_workers
@pytest.mark.slow
def test_workers_that_are_killed_while_they_hammer_the_table_leave_it_as_it_should_be(tmp_path: Path) -> None:
    """All run the same events in the same order, so they meet at each. Who is killed is replaced."""
    count, kills, chance = 20_000, 12, random.Random(7)
    with memory(tmp_path) as descriptor:
        generations = WorkerCounts(descriptor, GENERATIONS)
        EventTable(100_000, 1e6, descriptor).close()

        def start(number: int) -> subprocess.Popen[bytes]:
            words = [str(each) for each in (descriptor, number, generations.count_of_worker(number), count)]
            return subprocess.Popen([sys.executable, "-c", HAMMER, *words], cwd=tmp_path, pass_fds=[descriptor])

        def lines() -> int:
            return journal.stat().st_size // LINE if journal.exists() else 0

        journal = tmp_path / "journal"
        killed: set[tuple[int, int]] = set()
        running = [start(number) for number in range(3)]
        try:
            for kill in range(kills):
                while lines() < (kill + 1) * count // kills:
                    assert any(each.poll() is None for each in running)
                number = chance.randrange(3)
                running[number].send_signal(signal.SIGKILL)
                running[number].wait()
                killed.add((number, generations.count_of_worker(number)))
                generations.increase_count(number)
                running[number] = start(number)
            assert [each.wait(PATIENCE) for each in running] == [0, 0, 0]
        finally:
            for each in running:
                each.kill()
                each.wait()
        generations.close()
    begun: dict[str, list[tuple[int, int]]] = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        key, *who = line.split()
        begun.setdefault(key, []).append((int(who[0]), int(who[1])))
    assert set(map(int, begun)) == set(range(count))
    # Again only where a worker was killed before it could say that it was done.
    assert {who for each in begun.values() for who in each[:-1]} <= killed
    assert sum(map(len, begun.values())) <= count + kills
