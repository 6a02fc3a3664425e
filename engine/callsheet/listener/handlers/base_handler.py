"""What all handlers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...durations import seconds
from ...jsontext import dump
from . import HandlerContext
from .limits import ConcurrencyLimit

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event


class Base:
    """A handler with its time limit and its own cap."""

    kind = ""

    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        self.kind = table["handler"]
        self.table = table
        self.context = context
        self.timeout = seconds(table["timeout"]) if "timeout" in table else context.timeout
        self.concurrency_limits: tuple[ConcurrencyLimit, ...] = (
            (ConcurrencyLimit(table["concurrency"]),) if "concurrency" in table else ()
        )

    def input_of(self, event: Event) -> bytes:
        """What goes to standard input, or into a file."""
        chosen = self.table.get("input", "event")
        if chosen == "raw":
            return event.data
        if chosen == "none":
            return b""
        text = event.record_text if chosen == "event" else dump(event.payload)
        return text.encode() + b"\n"

    async def close(self) -> None:
        """Nothing to give back."""
