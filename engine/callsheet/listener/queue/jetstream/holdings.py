"""The events that this process has, so that none of them is run a second time where the server sends it again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MESSAGE_ID = "Nats-Msg-Id"
_REMEMBERED = 20_000  # events that ended here


class Holdings:
    """By the event's key. Where the server sent an event again, the newest of its messages is kept."""

    def __init__(self) -> None:
        self._messages: dict[int, Any] = {}
        self._waiting: set[int] = set()  # that nobody runs yet
        self._ended: dict[int, str] = {}

    def add(self, message: Any) -> bool:
        """False where it is here already."""
        key = message.metadata.sequence.stream
        held = self._messages.get(key)
        self._messages[key] = message
        if held is not None and event_of(held) == event_of(message):
            return False
        self._waiting.add(key)
        return True

    def has_ended(self, message: Any) -> bool:
        """Whether it was handled here, and the server knew that once."""
        return self._ended.get(message.metadata.sequence.stream) == event_of(message)

    def newest(self, key: int, message: Any) -> Any:
        held = self._messages.get(key)
        return held if held is not None and event_of(held) == event_of(message) else message

    def hand_over(self, key: int) -> None:
        """To whoever runs it."""
        self._waiting.discard(key)

    def drop(self, key: int) -> None:
        self._messages.pop(key, None)
        self._waiting.discard(key)

    def end(self, key: int, message: Any) -> None:
        self.drop(key)
        self._ended[key] = event_of(message)
        if len(self._ended) > _REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def keep(self, keys: Iterable[int]) -> None:
        """All others that were handed over are let go."""
        kept = self._waiting.union(keys)
        for key in [key for key in self._messages if key not in kept]:
            del self._messages[key]

    def messages(self) -> list[Any]:
        return list(self._messages.values())

    def waiting(self) -> list[Any]:
        return [self._messages[key] for key in self._waiting]


def event_of(message: Any) -> str:
    """Which event it is: numbers begin again where a stream is made anew."""
    return str((message.headers or {}).get(MESSAGE_ID, ""))
