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

from callsheet.listener.workers import event_table
from callsheet.listener.workers.event_table import (
    DONE,
    FREE,
    KEPT,
    MIN_BUCKETS,
    SLOTS,
    EventTable,
    Generations,
    TableBusy,
    create_memory,
)  # fmt: skip
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no workers there")
WINDOW = 100.0


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


def test_an_event_is_one_workers_until_it_is_done_and_known_for_the_window(shared: int) -> None:
    first, second = (EventTable(shared, number, 0, 100, WINDOW) for number in (0, 1))
    assert [each.claim("a", 5.0) for each in (first, second, first)] == [0, 0, 0]
    first.release("a", DONE)
    assert [each.is_done("a", 5.0 + WINDOW) for each in (first, second)] == [True, True]
    assert [each.claim("a", 5.0 + WINDOW) for each in (first, second)] == [None, None]
    assert not first.is_done("a", 6.0 + WINDOW)
    assert second.claim("a", 6.0 + WINDOW) == 1
    assert ["a" in each.held for each in (first, second)] == [False, True]


def test_it_remembers_as_many_as_it_was_asked_to(shared: int) -> None:
    """Buckets fill unevenly. There are enough places for that."""
    size = 10_000
    table = EventTable(shared, 0, 0, size, WINDOW)
    keys = [f"lms/t/{number}" for number in range(6 * size)]
    for key in keys:
        table.claim(key, 1.0)
        table.release(key, DONE)
    assert {table.claim(key, 1.0) for key in keys[-size:]} == {None}
    assert table.claim(keys[0], 1.0) == 0


def test_the_first_worker_says_how_many_for_all(shared: int) -> None:
    first = EventTable(shared, 0, 0, 1, WINDOW)
    size = os.fstat(shared).st_size
    second = EventTable(shared, 1, 0, 100_000, WINDOW)
    assert os.fstat(shared).st_size == size
    assert first.claim("a", 1.0) == second.claim("a", 1.0) == 0


def test_what_is_under_way_is_never_forgotten_and_a_full_bucket_says_so(
    shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_table, "MIN_BUCKETS", 1)
    first, second = (EventTable(shared, number, 0, 1, WINDOW) for number in (0, 1))
    for number in range(SLOTS):
        assert first.claim(str(number), 1.0) == 0
    with pytest.raises(TableBusy, match="too many events are under way"):
        second.claim("one more", 1.0)
    first.release("7", KEPT)  # which may be forgotten
    assert second.claim("one more", 1.0) == 1
    assert {second.claim(str(number), 1.0) for number in range(SLOTS) if number != 7} == {0}


def test_text_of_every_kind_is_a_key(shared: int) -> None:
    table = EventTable(shared, 0, 0, 100, WINDOW)
    for key in ("", "\ud800", "\u00fc", "a" * 5000):
        assert table.claim(key, 1.0) == 0
        table.release(key, DONE)
        assert table.claim(key, 1.0) is None


def test_an_event_is_known_by_its_whole_digest(shared: int) -> None:
    """Not by the tag alone, which another may have, also across the end of one and the beginning of the next."""
    table = EventTable(shared, 0, 0, 1, WINDOW)
    assert table.claim("a", 1.0) == 0
    table.release("a", DONE)
    digest, bucket = table._locate("a")
    start = next(at for at in range(bucket, bucket + 4 * SLOTS, 4) if table._memory[at : at + 4] == digest[-4:])
    slot = table._find(digest, bucket)
    assert table._find(b"d" * 12 + digest[-4:], bucket) == -1
    for at in (start + 4, start + 9, start + 16):
        table._memory[at : at + 4] = digest[-4:]
        assert table._find(digest, bucket) == slot
    table._memory[start : start + 4] = bytes(4)
    assert table._find(digest, bucket) == -1
    assert table.claim("a", 1.0) == 0


def test_without_memory_of_its_own_kind_a_file_without_a_name_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with memory(tmp_path) as descriptor:
        tables = [EventTable(descriptor, number, 0, 100, WINDOW) for number in (0, 1)]
        assert os.listdir(tmp_path) == []
        assert os.fstat(descriptor).st_size == event_table.HEADER_SIZE + MIN_BUCKETS * event_table.BUCKET_SIZE
        assert os.fstat(descriptor).st_blocks * 512 >= MIN_BUCKETS * event_table.BUCKET_SIZE
        assert [each.claim("a", 1.0) for each in tables] == [0, 0]


class Tables(RuleBasedStateMachine):
    """Workers that claim, release, die and are started again, beside a model of what each event is."""

    KEYS = st.sampled_from("abcdefgh")
    WORKERS = st.integers(0, 2)

    def __init__(self) -> None:
        super().__init__()
        self.descriptor = create_memory(tempfile.gettempdir())
        self.generations = Generations(self.descriptor)
        self.now = 10.0
        self.alive = [True] * 3
        self.known: dict[str, tuple[int, int | float]] = {}  # state, and the worker or the time
        self.times: dict[str, float] = {}  # when it was claimed
        self.tables = [self.opened(number) for number in range(3)]

    def opened(self, number: int) -> EventTable:
        return EventTable(self.descriptor, number, self.generations.of(number), 100, WINDOW)

    def teardown(self) -> None:
        for each in (*self.tables, self.generations):
            each.close()
        os.close(self.descriptor)

    @rule(key=KEYS, worker=WORKERS)
    def claim(self, key: str, worker: int) -> None:
        if not self.alive[worker]:
            return
        state, of = self.known.get(key, (FREE, 0))
        expected: int | None = worker
        if state == DONE and self.now - of <= WINDOW:
            expected = None
        elif state in (event_table.RUNNING, KEPT):
            expected = int(of)
        assert self.tables[worker].is_done(key, self.now) == (expected is None)
        assert self.tables[worker].claim(key, self.now) == expected
        if expected == worker:
            self.known[key] = (event_table.RUNNING, worker)
            self.times[key] = self.now

    @rule(key=KEYS, state=st.sampled_from([FREE, KEPT, DONE]))
    def release(self, key: str, state: int) -> None:
        now, worker = self.known.get(key, (FREE, 0))
        if now == event_table.RUNNING and self.alive[int(worker)]:
            self.tables[int(worker)].release(key, state)
            self.known[key] = (state, self.times[key] if state == DONE else worker)

    @rule(worker=WORKERS)
    def die(self, worker: int) -> None:
        """Until its supervisor knows, what it had stays its own."""
        self.alive[worker] = False

    @precondition(lambda self: not all(self.alive))
    @rule()
    def notice(self) -> None:
        worker = self.alive.index(False)
        self.generations.end(worker)
        self.tables[worker].close()
        self.tables[worker] = self.opened(worker)
        self.alive[worker] = True
        for key, (state, of) in list(self.known.items()):
            if state in (event_table.RUNNING, KEPT) and of == worker:
                self.known[key] = (FREE, 0)

    @rule(seconds=st.integers(1, 120))
    def wait(self, seconds: int) -> None:
        self.now += seconds


Tables.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestTables = Tables.TestCase

LINE = len("00000 0 00\n")
HAMMER = """
import os, sys, time
from callsheet.listener.workers.event_table import DONE, EventTable, TableBusy
descriptor, number, generation, count = map(int, sys.argv[1:])
table = EventTable(descriptor, number, generation, 10, 1e6)
journal = os.open("journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
key = 0
while key < count:
    try:
        holder = table.claim(str(key), time.monotonic())
    except TableBusy:
        continue
    if holder == number:
        os.write(journal, b"%05d %d %02d\\n" % (key, number, generation))
        table.release(str(key), DONE)
    if holder in (number, None):
        key += 1
"""


@pytest.mark.slow
def test_workers_that_are_killed_while_they_hammer_the_table_leave_it_as_it_should_be(tmp_path: Path) -> None:
    """All run the same events in the same order, so they meet at each. Who is killed is replaced."""
    count, kills, chance = 20_000, 12, random.Random(7)
    with memory(tmp_path) as descriptor:
        generations = Generations(descriptor)
        EventTable(descriptor, 0, 0, 100_000, 1e6).close()

        def start(number: int) -> subprocess.Popen[bytes]:
            words = [str(each) for each in (descriptor, number, generations.of(number), count)]
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
                killed.add((number, generations.of(number)))
                generations.end(number)
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
