"""The kind of queue as the rest of the program chooses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .address import QueueAddress, parse_queue
from .promises import promises

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition
    from ..port import Inspection, Place, Queue

Note = Callable[[str], None]


class JetStream:
    """Addresses of a stream: `nats://HOST:PORT/STREAM`."""

    def _address(self, url: str, definition: QueueDefinition, place: Place) -> QueueAddress:
        return parse_queue(url, definition["schemes"], place.environ, place.prefix)

    def queue(self, url: str, definition: QueueDefinition, place: Place, note: Note, *, works: bool) -> Queue:
        from .queue import JetStreamQueue

        return JetStreamQueue(self._address(url, definition, place), definition, note, works=works)

    def inspection(self, url: str, definition: QueueDefinition, place: Place, note: Note) -> Inspection:
        from .inspection import JetStreamInspection

        return JetStreamInspection(self._address(url, definition, place), definition, note)

    def promises(self, url: str, definition: QueueDefinition, place: Place, note: Note) -> tuple[list[str], list[str]]:
        return promises(self._address(url, definition, place), definition, note)
