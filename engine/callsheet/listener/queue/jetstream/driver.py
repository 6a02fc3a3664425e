"""The kind of queue as the rest of the program chooses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .address import QueueAddress, parse_queue
from .guarantees import guarantees

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition
    from ..port import Inspection, Queue, QueueEnvironment

Note = Callable[[str], None]


class JetStream:
    """Addresses of a stream: `nats://HOST:PORT/STREAM`."""

    def _address(self, url: str, definition: QueueDefinition, environment: QueueEnvironment) -> QueueAddress:
        return parse_queue(url, definition["schemes"], environment.environ, environment.prefix)

    def queue(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note, *, consumes: bool
    ) -> Queue:
        from .queue import JetStreamQueue

        return JetStreamQueue(self._address(url, definition, environment), definition, note, consumes=consumes)

    def inspection(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note
    ) -> Inspection:
        from .inspection import JetStreamInspection

        return JetStreamInspection(self._address(url, definition, environment), definition, note)

    def guarantees(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note
    ) -> tuple[list[str], list[str]]:
        return guarantees(self._address(url, definition, environment), definition, note)
