"""The ids of a list, read from both of its ends at once: a chain of pages is half as long then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from .ahead import in_order
from .walk import Walk

if TYPE_CHECKING:
    from ..http.reply import Reply
    from ..request.model import Request


class BothEnds:
    """Two walks over one list, the second in the opposite order. `id_of` names an item."""

    def __init__(
        self, send: Callable[[Request], Reply], forwards: Walk, backwards: Walk, id_of: Callable[[Any], str]
    ) -> None:
        self._send = send
        self._walks = (forwards, backwards)
        self._id_of = id_of
        self._front: list[str] = []
        self._back: list[str] = []
        self._known: tuple[set[str], set[str]] = (set(), set())
        self._common = 0  # ids that came from both ends

    def begin(self, known: Sequence[str]) -> bool:
        """Read the first page of each end. False where the list as it was read so far, `known`, begins otherwise."""
        self._round()
        both = min(len(known), len(self._front))
        return self._front[:both] == list(known[:both])

    def ids(self) -> Iterator[str]:
        """All ids in the order of the first walk, which goes on alone where the second does not meet it."""
        told = 0
        while True:
            yield from self._front[told:]
            told = len(self._front)
            if self._have_met():
                yield from reversed(self._back[: -self._common])
                return
            if self._common or not all(walk.request for walk in self._walks):
                yield from self._rest_forwards()
                return
            self._round()

    def _round(self) -> None:
        """One more page from each end, asked for at the same time."""
        requests = [walk.request for walk in self._walks if walk.request is not None]
        with closing(in_order(self._send, requests, len(requests))) as replies:
            for place, (walk, reply) in enumerate(zip(self._walks, replies, strict=True)):
                self._add(place, [self._id_of(item) for item in walk.add_page(reply).items])

    def _add(self, place: int, ids: list[str]) -> None:
        (self._front, self._back)[place].extend(ids)
        self._common += sum(id in self._known[1 - place] for id in ids)
        self._known[place].update(ids)

    def _rest_forwards(self) -> Iterator[str]:
        walk = self._walks[0]
        while walk.request is not None:
            yield from [self._id_of(item) for item in walk.add_page(self._send(walk.request)).items]

    def _have_met(self) -> bool:
        """Whether both end with the same ids in opposite orders: with others, the service does not sort as asked."""
        return self._common > 0 and self._front[-self._common :] == self._back[: -self._common - 1 : -1]
