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
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, lockf

    _TRY = LOCK_EX | LOCK_NB

FREE, RUNNING, KEPT, DONE = range(4)
SLOTS = 64  # of a bucket
SPARE = 3  # times as many slots as events to be remembered: some buckets get more of them than others
MIN_BUCKETS = 64  # so that two workers seldom want the same one at the same time
HEADER_SIZE = mmap.PAGESIZE
_HEADER = struct.Struct("<I16s")  # the number of buckets, written last, and the key of the digests
_GENERATIONS = 1024  # where they begin: one for each worker
_NUMBER = struct.Struct("<I")
_DIGEST_SIZE = 16
_SLOT = struct.Struct("<16s2B2x2I4x")  # digest, state, worker, its generation, second in which it was taken
_STATE = _DIGEST_SIZE  # where it is in a slot
_TAG_SIZE = 4  # a bucket begins with a few bytes of each digest, because looking through all of them takes longer
_TURN = SLOTS * _TAG_SIZE  # then comes the number of the slot that is next in turn
_FIRST = _TURN + _SLOT.size  # and then the slots
BUCKET_SIZE = _FIRST + SLOTS * _SLOT.size
_MAX_LOCATED = 4096


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
        self._located: dict[str, tuple[bytes, int]] = {}
        self.held: dict[str, int] = {}  # events that this process has claimed and not released, and where

    def is_done(self, key: str, now: float) -> bool:
        """Without a lock. While another process takes the slot for another event, it is not done."""
        located = self._locate(key)
        digest, bucket = located
        slot = self._find(digest, bucket)
        if slot >= 0:
            found, state, _, _, taken = _SLOT.unpack_from(self._memory, slot)
            is_done = state == DONE and now - taken <= self._window
            if is_done and found == digest == self._memory[slot : slot + _DIGEST_SIZE]:
                return True
        if len(self._located) >= _MAX_LOCATED:  # of deliveries that went away meanwhile
            self._located.clear()
        self._located[key] = located
        return False

    def claim(self, key: str, now: float) -> int | None:
        """The worker that has the event: this one from now on, if no other had it. None if it is done.

        Raises `TableBusy`.
        """
        located = self._located.pop(key, None) or self._locate(key)
        bucket = located[1]
        try:
            lockf(self._descriptor, _TRY, 1, bucket)
        except OSError as error:
            raise TableBusy(str(error.strerror)) from None
        try:
            return self._claim_locked(key, *located, int(now))
        finally:
            lockf(self._descriptor, LOCK_UN, 1, bucket)

    def _claim_locked(self, key: str, digest: bytes, bucket: int, now: int) -> int | None:
        memory = self._memory
        slot = self._find(digest, bucket)
        if slot < 0:
            number = self._next_number(bucket)
            slot = bucket + _FIRST + number * _SLOT.size
            memory[slot + _STATE] = FREE
            tag = bucket + number * _TAG_SIZE
            memory[tag : tag + _TAG_SIZE] = digest[-_TAG_SIZE:]
        else:
            _, state, worker, generation, taken = _SLOT.unpack_from(memory, slot)
            if state == DONE and now - taken <= self._window:
                return None
            is_held = state in (RUNNING, KEPT) and worker != self.number
            if is_held and generation == _generation(memory, worker):
                return int(worker)
            memory[slot + _STATE] = FREE
        _SLOT.pack_into(memory, slot, digest, FREE, self.number, self._generation, now)
        memory[slot + _STATE] = RUNNING
        self.held[key] = slot + _STATE
        return self.number

    def release(self, key: str, state: int) -> None:
        """What became of an event that this worker has: `DONE`, `FREE` for any worker to take, or `KEPT` here."""
        if (place := self.held.pop(key, None)) is not None:
            self._memory[place] = state

    def close(self) -> None:
        self._memory.close()

    def _locate(self, key: str) -> tuple[bytes, int]:
        """Its digest, and where its bucket begins."""
        hashed = self._hash.copy()
        hashed.update(key.encode("utf-8", "surrogatepass"))
        digest = hashed.digest()
        return digest, HEADER_SIZE + int.from_bytes(digest[:4], "little") % self._buckets * BUCKET_SIZE

    def _find(self, digest: bytes, bucket: int) -> int:
        """Where the slot with this digest begins, or -1."""
        memory, tag, end = self._memory, digest[-_TAG_SIZE:], bucket + _TURN
        found = memory.find(tag, bucket, end)
        while found >= 0:
            number, across_two = divmod(found - bucket, _TAG_SIZE)
            slot = bucket + _FIRST + number * _SLOT.size
            if not across_two and memory[slot : slot + _DIGEST_SIZE] == digest:
                return slot
            found = memory.find(tag, found + 1, end)
        return -1

    def _next_number(self, bucket: int) -> int:
        memory = self._memory
        turn: int = _NUMBER.unpack_from(memory, bucket + _TURN)[0]
        for skipped in range(SLOTS):
            number = (turn + skipped) % SLOTS
            slot = bucket + _FIRST + number * _SLOT.size
            if memory[slot + _STATE] == RUNNING:
                _, _, worker, generation, _ = _SLOT.unpack_from(memory, slot)
                if generation == _generation(memory, worker):
                    continue
            _NUMBER.pack_into(memory, bucket + _TURN, (number + 1) % SLOTS)
            return number
        raise TableBusy("too many events are under way")


def _generation(memory: mmap.mmap, worker: int) -> int:
    (found,) = _NUMBER.unpack_from(memory, _GENERATIONS + worker * _NUMBER.size)
    return int(found)


def _layout(descriptor: int, size: int) -> tuple[int, bytes]:
    """The number of buckets and the key, which the first worker chooses: it starts before all others."""
    with mmap.mmap(descriptor, HEADER_SIZE) as header:
        buckets, key = _HEADER.unpack_from(header)
        if not buckets:
            buckets, key = max(MIN_BUCKETS, -(-size * SPARE // SLOTS)), os.urandom(16)
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
