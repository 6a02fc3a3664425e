"""What is known of an event that did not go through at once: jobs that succeeded, the last error, when it is due."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..port import QueueFailed
from .connection import checked

_MAX_TRIES = 20


class Progress(NamedTuple):
    """`event` tells which event a sequence number means: numbers begin again where a stream is made anew."""

    event: str
    succeeded: tuple[str, ...] = ()
    attempts: int = 0
    due: float | None = None
    error: str | None = None


class ProgressStore:
    """Kept in a bucket by the event's sequence number. Two processes that write at once both keep what they know."""

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket

    async def read(self, sequence: int, event: str) -> Progress:
        return (await self._read(sequence, event))[0]

    async def _read(self, sequence: int, event: str) -> tuple[Progress, int | None]:
        from nats.js.errors import KeyNotFoundError

        try:
            entry = await checked(self._bucket.get(str(sequence)), KeyNotFoundError)
        except KeyNotFoundError:
            return Progress(event), None
        try:
            progress = Progress(**json.loads(entry.value))
            progress = progress._replace(succeeded=tuple(progress.succeeded))
        except (ValueError, TypeError):  # others may have put anything there
            progress = Progress(event)
        return progress if progress.event == event else Progress(event), entry.revision

    async def add(self, sequence: int, event: str, **changes: Any) -> None:
        """`succeeded` is joined with what is there, all else replaces it. Raises `QueueFailed`."""
        from nats.js.errors import KeyWrongLastSequenceError

        for _ in range(_MAX_TRIES):
            current, revision = await self._read(sequence, event)
            jobs = tuple(dict.fromkeys((*current.succeeded, *changes.get("succeeded", ()))))
            text = json.dumps(current._replace(**{**changes, "succeeded": jobs})._asdict()).encode()
            try:
                if revision is None:
                    await checked(self._bucket.create(str(sequence), text), KeyWrongLastSequenceError)
                else:
                    await checked(self._bucket.update(str(sequence), text, last=revision), KeyWrongLastSequenceError)
            except KeyWrongLastSequenceError:
                continue
            return
        raise QueueFailed("another process keeps writing about the same event")

    async def forget(self, sequence: int) -> None:
        await checked(self._bucket.purge(str(sequence)))
