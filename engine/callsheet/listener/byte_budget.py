"""How many bytes of deliveries a process holds at the same time: one number for all of them, and nothing beyond it.

A body is charged before it is read, and its event for as long as anything holds that: until it was answered, or its
last run has ended. So a sender that is told to come again costs nothing, and one that sends without end nothing more.
"""

from __future__ import annotations

from collections import deque

from ..errors import UsageError
from .machine_limits import memory_limit

DEFAULT = 64 << 20
# Of the memory that there is. The program itself needs some, and what handlers make of an event.
_SHARE = 4
# A body that is read: its pieces, and all of them in one.
_COPIES = 2
# Not verified deliveries get half, so that whoever can send anything leaves room for those that are genuine.
_HALVES = 2
# Of values in Python, for each of these characters of their JSON: an object has three, a list or another value less. A
# small text costs less than counting them.
_STRUCTURE, _FOR_EACH = b"{[:,", 72
_EVENT = 2048
_SMALL, _LARGEST_FACTOR = 1024, 32


class Charge:
    """What one delivery takes of a budget. It is given back when nobody holds this any more."""

    __slots__ = ("_budget", "_is_verified", "size")

    def __init__(self, budget: ByteBudget, size: int) -> None:
        self._budget = budget
        self._is_verified = False
        self.size = size

    def charge_body(self, length: int) -> bool:
        """Whether there is room for so much more of a body that is not verified."""
        budget, size = self._budget, _COPIES * length
        budget.collect_returned()
        if budget.unverified + size > budget.size // _HALVES or budget.used + size > budget.size:
            return False
        self.add_bytes(size)
        return True

    def mark_genuine(self) -> None:
        """It is genuine: the half for others has room for others."""
        self._budget.unverified -= self.size
        self._is_verified = True

    def charge_events(self, weight: int) -> bool:
        """Whether there is room for the events that were made of it. One alone may be as large as it is."""
        budget, size = self._budget, weight - self.size
        budget.collect_returned()
        if size > 0 and budget.used > self.size and budget.used + size > budget.size:
            return False
        self.add_bytes(size)
        return True

    def add_bytes(self, size: int) -> None:
        self.size += size
        self._budget.used += size
        if not self._is_verified:
            self._budget.unverified += size

    def __del__(self) -> None:
        """In any thread, so it is only noted."""
        self._budget.returned.append((self.size, self._is_verified))


class ByteBudget:
    """`used` are the bytes of all deliveries, `unverified` those of deliveries that nothing has proved.

    No body is larger than `largest`.
    """

    def __init__(self, size: int, largest: int) -> None:
        self.size = size
        self.largest = largest
        self.used = self.unverified = 0
        self.returned: deque[tuple[int, bool]] = deque()

    def new_charge(self) -> Charge:
        """Of nothing yet."""
        return Charge(self, 0)

    def collect_returned(self) -> None:
        """Take back what was given back."""
        while self.returned:
            size, is_verified = self.returned.popleft()
            self.used -= size
            if not is_verified:
                self.unverified -= size

    def in_flight(self) -> int:
        self.collect_returned()
        return self.used

    @property
    def events_that_fit(self) -> int:
        """For how many events of the largest size."""
        return max(0, self.size - self.in_flight()) // (2 * _COPIES * self.largest)

    def charge_kept_event(self, data: bytes, text: bytes) -> Charge:
        """Of an event that was genuine when it was kept."""
        charge = Charge(self, 0)
        charge.mark_genuine()
        charge.add_bytes(memory_of_event(data, text))
        return charge


def memory_of_event(data: bytes, text: bytes) -> int:
    """What an event takes: what came, its JSON, the lines that handlers get, and the values."""
    length = _EVENT + len(data) + (2 if text is data else 3) * len(text)
    if len(text) <= _SMALL:
        return length + _LARGEST_FACTOR * len(text)
    structure = len(text) - len(text.translate(None, _STRUCTURE))
    return length + len(text) + _FOR_EACH * structure


def least_budget(max_body: int) -> int:
    """Bytes in which one body of the largest size can be verified and kept."""
    return _HALVES * _COPIES * max_body


def budget_of(asked: int | None, max_body: int, workers: int) -> ByteBudget:
    """Of one process of so many. Raises `UsageError` where not even one body would fit into what was asked for."""
    least = least_budget(max_body)
    if asked is None:
        limit = memory_limit(workers)
        return ByteBudget(max(DEFAULT if limit is None else min(DEFAULT, limit // _SHARE), least), max_body)
    if asked < least:
        raise UsageError(
            f"--max-in-flight: {asked} bytes leave no room for a body of {max_body}",
            hint=f"at least {least}, or a smaller --max-body",
        )
    return ByteBudget(asked, max_body)
