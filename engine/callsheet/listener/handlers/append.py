"""`append`: one line of JSON at the end of a file."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from . import HandlerContext, HandlerFailed
from .base_handler import Base

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event


class Append(Base):
    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.path = os.path.join(context.folder, table["file"])

    async def run(self, event: Event, job: str) -> None:
        del job
        line = self.input_of(event)
        try:
            await asyncio.to_thread(self._append, line if line.endswith(b"\n") else line + b"\n")
        except OSError as error:
            raise HandlerFailed(f"{self.path}: {error.strerror}") from None

    def _append(self, line: bytes) -> None:
        """In one write, so that lines of several processes do not mix; a torn one (disk full) is taken back."""
        opened = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            written = os.write(opened, line)
            if written < len(line):
                os.ftruncate(opened, os.fstat(opened).st_size - written)
                raise OSError(28, "no space left on the device")
        finally:
            os.close(opened)
