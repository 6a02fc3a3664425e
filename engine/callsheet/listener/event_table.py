"""Which events are under way, done or failed: one table for a listener, shared where it has several workers.

An event has a slot in the bucket that its key points to. Slots of a bucket are used in turn, so a bucket forgets the
event that it has known longest. Workers take a slot under a lock on its bucket, which the kernel gives back when a
process ends, and with one byte that is written last: who is killed before that leaves no trace. Only the worker that
has a slot says what became of its event, with that same byte and without a lock. Locks are those of `fcntl`, so no
process may close a descriptor of this memory while it has one. A process alone needs no lock.

A slot counts as free when the process that had it is gone. The supervisor counts the generations of each worker for
that: it knows first that one has ended.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import sys
import tempfile
from typing import NamedTuple

if sys.platform != "win32":  # where there are no workers
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, lockf

    _TRY = LOCK_EX | LOCK_NB

FREE, RUNNING, DONE, FAILED, SATURATED = range(5)
SLOTS = 64  # of a bucket
SPARE = 2  # times as many slots as events to be remembered: some buckets get more of them than others
MIN_BUCKETS = 64  # so that two workers seldom want the same one at the same time
HEADER_SIZE = mmap.PAGESIZE
_KEY_SIZE = 16
_HEADER = struct.Struct("<I16s")  # the number of buckets, written last, and the key of the digests
_NUMBER = struct.Struct("<I")
_TAG_SIZE = 4  # a bucket begins with a few bytes of each digest, because looking through all of them takes longer
_REST_SIZE = 8  # of a digest, which stands in its slot
_SLOT = struct.Struct("<8s2BH2I")  # that rest, state, worker, attempt, generation, second in which it was taken
_SLOT_SIZE = _SLOT.size
_STATE = _REST_SIZE  # where it is in a slot
_MAX_ATTEMPT = 2**16 - 1
_TURN = SLOTS * _TAG_SIZE  # then comes the number of the slot that is next in turn, in one byte
_FIRST = _TURN + _SLOT_SIZE  # and then the slots
BUCKET_SIZE = _FIRST + SLOTS * _SLOT_SIZE


class TableBusy(Exception):
    """What is known of an event cannot be said at this moment."""


def create_memory(directory: str) -> int:
    """A descriptor of memory for processes that inherit it. It has no name, so nobody else can open or delete it."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("events")
    else:
        descriptor, path = tempfile.mkstemp(dir=directory)
        os.remove(path)
    os.ftruncate(descriptor, HEADER_SIZE)
    return descriptor


# Where they begin: how often each worker has ended, for the supervisor to count, because what an ended one had of the
# table is free; and how often the loop of each has turned, for the worker to count: one that hangs counts no more.
GENERATIONS, HEARTBEATS = 1024, 2048


class WorkerCounts:
    """A number for each worker, which only grows."""

    def __init__(self, descriptor: int, first: int) -> None:
        self.first = first
        self._memory = mmap.mmap(descriptor, HEADER_SIZE)

    def count_of_worker(self, worker: int) -> int:
        return _number_at(self._memory, self.first, worker)

    def increase_count(self, worker: int) -> None:
        number = (self.count_of_worker(worker) + 1) % 2**32
        _NUMBER.pack_into(self._memory, self.first + worker * _NUMBER.size, number)

    def close(self) -> None:
        self._memory.close()


class EventEntry(NamedTuple):
    """What the table says of an event. `attempt` counts from 0. `slot` is 0 unless this process has claimed it."""

    state: int
    attempt: int = 0
    slot: int = 0


_UNKNOWN = EventEntry(FREE)


class EventTable:
    """The table as worker `number` of this `generation` sees it; without a `descriptor`, that of one process alone.

    It remembers at least the last `size` events. The worker that opens it first says how many; times are those of
    a clock that only goes forward and is the same for all, in seconds.
    """

    def __init__(
        self, size: int, window: float, descriptor: int | None = None, number: int = 0, generation: int = 0
    ) -> None:
        self.number = number
        self._descriptor = descriptor
        self._generation = generation
        self._window = window
        if descriptor is None:
            self._buckets, key = _bucket_count(size), os.urandom(_KEY_SIZE)
        else:
            self._buckets, key = _layout_of_table(descriptor, size)
        self._hash = hashlib.blake2b(digest_size=_REST_SIZE + _TAG_SIZE, key=key)
        length = HEADER_SIZE + self._buckets * BUCKET_SIZE
        self._memory = mmap.mmap(-1 if descriptor is None else descriptor, length)

    def look_up(self, key: str, now: float) -> EventEntry:
        """Without a lock. While another process takes the slot for another event, this one is unknown."""
        rest, tag, bucket = self._locate_bucket(key)
        slot = self._find_slot(rest, tag, bucket)
        if slot < 0:
            return _UNKNOWN
        found, state, worker, attempt, generation, taken = _SLOT.unpack_from(self._memory, slot)
        if not found == rest == self._memory[slot : slot + _REST_SIZE]:
            return _UNKNOWN
        return EventEntry(self._state_now(state, worker, generation, now - taken), attempt)

    def claim_event(self, key: str, now: float, state: int = RUNNING) -> EventEntry:
        """Take an event, unless it is done or another delivery of it is under way. `DONE` where nothing has to run.

        Raises `TableBusy`.
        """
        rest, tag, bucket = self._locate_bucket(key)
        if self._descriptor is None:
            return self._claim_locked(rest, tag, bucket, int(now), state)
        try:
            lockf(self._descriptor, _TRY, 1, bucket)
        except OSError as error:
            raise TableBusy(str(error.strerror)) from None
        try:
            return self._claim_locked(rest, tag, bucket, int(now), state)
        finally:
            lockf(self._descriptor, LOCK_UN, 1, bucket)

    def _claim_locked(self, rest: bytes, tag: bytes, bucket: int, now: int, state: int) -> EventEntry:
        memory, attempt = self._memory, 0
        slot = self._find_slot(rest, tag, bucket)
        if slot < 0:
            number = memory[bucket + _TURN]
            slot = bucket + _FIRST + number * _SLOT_SIZE
            if memory[slot + _STATE] == RUNNING:
                number = self._next_number(bucket)
                slot = bucket + _FIRST + number * _SLOT_SIZE
            memory[bucket + _TURN] = (number + 1) % SLOTS
            memory[slot + _STATE] = FREE
            place = bucket + number * _TAG_SIZE
            memory[place : place + _TAG_SIZE] = tag
        else:
            _, found, worker, attempt, generation, taken = _SLOT.unpack_from(memory, slot)
            state_now = self._state_now(found, worker, generation, now - taken)
            if state_now in (RUNNING, DONE):
                return EventEntry(state_now, attempt)
            attempt = 0 if found == DONE else min(attempt + 1, _MAX_ATTEMPT)
            memory[slot + _STATE] = FREE
        _SLOT.pack_into(memory, slot, rest, FREE, self.number, attempt, self._generation, now)
        memory[slot + _STATE] = state
        return EventEntry(state, attempt, slot)

    def _state_now(self, state: int, worker: int, generation: int, age: float) -> int:
        """What is done is forgotten after a time, and what was under way in a process that ended is free."""
        if state == DONE:
            return DONE if age <= self._window else FREE
        if state == RUNNING and generation != _generation_of(self._memory, worker):
            return FREE
        return state

    def release_event(self, entry: EventEntry, state: int) -> None:
        """What became of an event that this process claimed."""
        self._memory[entry.slot + _STATE] = state

    def close(self) -> None:
        self._memory.close()

    def _locate_bucket(self, key: str) -> tuple[bytes, bytes, int]:
        """Both parts of its digest, and where its bucket begins."""
        hashed = self._hash.copy()
        hashed.update(key.encode("utf-8", "surrogatepass"))
        digest = hashed.digest()
        bucket = int.from_bytes(digest[:4], "little") % self._buckets
        return digest[:_REST_SIZE], digest[_REST_SIZE:], HEADER_SIZE + bucket * BUCKET_SIZE

    def _find_slot(self, rest: bytes, tag: bytes, bucket: int) -> int:
        """Where the slot with this digest begins, or -1."""
        tags = self._memory[bucket : bucket + _TURN]
        found = tags.find(tag)
        while found >= 0:
            number, across_two = divmod(found, _TAG_SIZE)
            slot = bucket + _FIRST + number * _SLOT_SIZE
            if not across_two and self._memory[slot : slot + _REST_SIZE] == rest:
                return slot
            found = tags.find(tag, found + 1)
        return -1

    def _next_number(self, bucket: int) -> int:
        """Of the slot that is next in turn and whose event is not under way."""
        memory = self._memory
        turn = memory[bucket + _TURN]
        for skipped in range(SLOTS):
            number = (turn + skipped) % SLOTS
            _, state, worker, _, generation, _ = _SLOT.unpack_from(memory, bucket + _FIRST + number * _SLOT_SIZE)
            if state != RUNNING or generation != _generation_of(memory, worker):
                return number
        raise TableBusy("too many events are under way")


def _number_at(memory: mmap.mmap, first: int, worker: int) -> int:
    (found,) = _NUMBER.unpack_from(memory, first + worker * _NUMBER.size)
    return int(found)


def _generation_of(memory: mmap.mmap, worker: int) -> int:
    return _number_at(memory, GENERATIONS, worker)


def _bucket_count(size: int) -> int:
    return max(MIN_BUCKETS, -(-size * SPARE // SLOTS))


def _layout_of_table(descriptor: int, size: int) -> tuple[int, bytes]:
    """The number of buckets and the key, which the first worker chooses: it starts before all others."""
    with mmap.mmap(descriptor, HEADER_SIZE) as header:
        buckets, key = _HEADER.unpack_from(header)
        if not buckets:
            buckets, key = _bucket_count(size), os.urandom(_KEY_SIZE)
            _resize_file(descriptor, HEADER_SIZE + buckets * BUCKET_SIZE)
            _HEADER.pack_into(header, 0, 0, key)
            _NUMBER.pack_into(header, 0, buckets)
        return buckets, key


def _resize_file(descriptor: int, size: int) -> None:
    """Memory takes room when it is written to. A file gets all of it now: on a full disk writing would be the end."""
    if hasattr(os, "memfd_create"):
        os.ftruncate(descriptor, size)
    else:
        with os.fdopen(os.dup(descriptor), "r+b") as file:
            file.write(bytes(size))
