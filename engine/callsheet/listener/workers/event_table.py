"""Which events are under way or done in the workers of one listener: a table in memory that all of them share.

An event has a slot in the bucket that its key points to. Slots of a bucket are used in turn, so a bucket forgets the
event that it has known longest. A slot is taken under a lock on its bucket, which the kernel gives back when a process
ends, and with one byte that is written last: who is killed before that leaves no trace. Only the worker that has a slot
says what became of its event, with that same byte and without a lock. Locks are those of `fcntl`, so no process may
close a descriptor of this memory while it has one.

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

if sys.platform != "win32":  # where there are no workers
    import fcntl

FREE, RUNNING, KEPT, DONE = range(4)
SLOTS = 128  # of a bucket, twice as many as it should remember: some buckets get more events than others
MIN_BUCKETS = 64  # so that two workers seldom want the same one at the same time
HEADER_SIZE = mmap.PAGESIZE
_HEADER = struct.Struct("<I16s")  # the number of buckets, written last, and the key of the digests
_GENERATIONS = 1024  # where they begin: one for each worker
_NUMBER = struct.Struct("<I")
_DIGEST_SIZE = 16
_SLOT = struct.Struct("<2B2x2I")  # state, worker, its generation, second in which it was taken
_DIGESTS = 16  # where they begin in a bucket; before them is the slot that is next in turn
_STATES = _DIGESTS + SLOTS * _DIGEST_SIZE
BUCKET_SIZE = _STATES + SLOTS * _SLOT.size


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


class Generations:
    """How often each worker has ended, for the supervisor to count."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, HEADER_SIZE)

    def of(self, worker: int) -> int:
        return _generation(self._memory, worker)

    def end(self, worker: int) -> None:
        """It does not run any more: what it had of the table is free."""
        _NUMBER.pack_into(self._memory, _GENERATIONS + worker * _NUMBER.size, self.of(worker) + 1)

    def close(self) -> None:
        self._memory.close()


class EventTable:
    """The table as worker `number` of this `generation` sees it.

    It remembers at least the last `size` events. The worker that opens it first says how many; times are those of
    a clock that only goes forward and is the same for all, in seconds.
    """

    def __init__(self, descriptor: int, number: int, generation: int, size: int, window: float) -> None:
        self.number = number
        self._descriptor = descriptor
        self._generation = generation
        self._window = window
        self._buckets, key = _layout(descriptor, size)
        self._hash = hashlib.blake2b(digest_size=_DIGEST_SIZE, key=key)
        self._memory = mmap.mmap(descriptor, HEADER_SIZE + self._buckets * BUCKET_SIZE)
        self._held: dict[str, int] = {}

    def claim(self, key: str, now: float) -> int | None:
        """The worker that has the event: this one from now on, if no other had it. None if it is done.

        Raises `TableBusy`.
        """
        hashed = self._hash.copy()
        hashed.update(key.encode("utf-8", "surrogatepass"))
        digest = hashed.digest()
        bucket = HEADER_SIZE + int.from_bytes(digest[:4], "little") % self._buckets * BUCKET_SIZE
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, bucket)
        except OSError as error:
            raise TableBusy(str(error.strerror)) from None
        try:
            return self._claim_locked(key, digest, bucket, int(now))
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, bucket)

    def _claim_locked(self, key: str, digest: bytes, bucket: int, now: int) -> int | None:
        memory = self._memory
        place = self._find(digest, bucket)
        is_new = place < 0
        if is_new:
            place = self._next_place(bucket)
        slot = bucket + _STATES + place * _SLOT.size
        state, worker, generation, taken = _SLOT.unpack_from(memory, slot)
        if not is_new:
            if state == DONE and now - taken <= self._window:
                return None
            is_held = state in (RUNNING, KEPT) and generation == _generation(memory, worker)
            if is_held and worker != self.number:
                return int(worker)
        memory[slot] = FREE
        if is_new:
            start = bucket + _DIGESTS + place * _DIGEST_SIZE
            memory[start : start + _DIGEST_SIZE] = digest
        _SLOT.pack_into(memory, slot, FREE, self.number, self._generation, now)
        memory[slot] = RUNNING
        self._held[key] = slot
        return self.number

    def release(self, key: str, state: int) -> None:
        """What became of an event that this worker has: `DONE`, `FREE` for any worker to take, or `KEPT` here."""
        if (slot := self._held.pop(key, None)) is not None:
            self._memory[slot] = state

    def close(self) -> None:
        self._memory.close()

    def _find(self, digest: bytes, bucket: int) -> int:
        start = bucket + _DIGESTS
        found = self._memory.find(digest, start, bucket + _STATES)
        while found >= 0 and (found - start) % _DIGEST_SIZE:  # the end of one and the beginning of the next
            found = self._memory.find(digest, found + 1, bucket + _STATES)
        return (found - start) // _DIGEST_SIZE if found >= 0 else -1

    def _next_place(self, bucket: int) -> int:
        memory = self._memory
        (turn,) = _NUMBER.unpack_from(memory, bucket)
        for place in (each % SLOTS for each in range(turn, turn + SLOTS)):
            state, worker, generation, _ = _SLOT.unpack_from(memory, bucket + _STATES + place * _SLOT.size)
            if state != RUNNING or generation != _generation(memory, worker):
                _NUMBER.pack_into(memory, bucket, (place + 1) % SLOTS)
                return place
        raise TableBusy("too many events are under way")


def _generation(memory: mmap.mmap, worker: int) -> int:
    (found,) = _NUMBER.unpack_from(memory, _GENERATIONS + worker * _NUMBER.size)
    return int(found)


def _layout(descriptor: int, size: int) -> tuple[int, bytes]:
    """The number of buckets and the key, which the first worker chooses: it starts before all others."""
    with mmap.mmap(descriptor, HEADER_SIZE) as header:
        buckets, key = _HEADER.unpack_from(header)
        if not buckets:
            buckets, key = max(MIN_BUCKETS, -(-size * 2 // SLOTS)), os.urandom(16)
            _resize(descriptor, HEADER_SIZE + buckets * BUCKET_SIZE)
            _HEADER.pack_into(header, 0, 0, key)
            _NUMBER.pack_into(header, 0, buckets)
        return buckets, key


def _resize(descriptor: int, size: int) -> None:
    """Memory takes room when it is written to. A file gets all of it now: on a full disk writing would be the end."""
    if hasattr(os, "memfd_create"):
        os.ftruncate(descriptor, size)
    else:
        with os.fdopen(os.dup(descriptor), "r+b") as file:
            file.write(bytes(size))
