"""The names that one queue has on the server."""

from __future__ import annotations

from typing import NamedTuple


class QueueNames(NamedTuple):
    """Events wait in `stream`; `dead_stream` keeps those given up, `state_bucket` what is known of repeated ones."""

    stream: str
    prefix: str

    @property
    def dead_stream(self) -> str:
        return f"{self.stream}-dead"

    @property
    def state_bucket(self) -> str:
        return f"{self.stream}-state"

    @property
    def consumer(self) -> str:
        return "work"

    def event_subject(self, id: str) -> str:
        """The subject of an event; `id` is a digest, or `*` for all."""
        return f"{self.prefix}.{self.stream}.event.{id}"

    def dead_subject(self, id: str, sequence: int | str) -> str:
        """The subject of a dead event, with the sequence it had while it was alive."""
        return f"{self.prefix}.{self.stream}.dead.{id}.{sequence}"
