"""The kind of queue as the rest of the program chooses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .address import parse_queue
from .connection import QueueAccess
from .credentials import credentials_of
from .guarantees import guarantees
from .tls import tls_context

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition
    from ..port import Guarantees, Inspection, Queue, QueueEnvironment

Note = Callable[[str], None]


class JetStream:
    """Addresses of a stream: `nats://HOST:PORT/STREAM`."""

    def _access(self, url: str, definition: QueueDefinition, environment: QueueEnvironment) -> QueueAccess:
        """Credentials and certificates are read here, before anything is done."""
        address = parse_queue(url, definition["schemes"], environment.prefix)
        credentials = credentials_of(definition, environment)
        return QueueAccess(address, credentials, tls_context(definition, address.scheme), definition["connect_timeout"])

    def queue(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note, *, consumes: bool
    ) -> Queue:
        from .queue import JetStreamQueue

        return JetStreamQueue(self._access(url, definition, environment), definition, note, consumes=consumes)

    def inspection(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note
    ) -> Inspection:
        from .inspection import JetStreamInspection

        return JetStreamInspection(self._access(url, definition, environment), definition, note)

    def guarantees(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note
    ) -> Guarantees:
        return guarantees(self._access(url, definition, environment), definition, note)
