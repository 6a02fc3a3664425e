"""Files between two requests of one command: what one answered, and another one sends."""

from __future__ import annotations

import os
import tempfile
from itertools import count


class HeldFiles:
    """A folder of its own, that only this user can read, made for the first file."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = count(1)

    def fresh_path(self) -> str:
        """Where nothing is yet. The name is a number: what a site calls a file names none of this machine."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="callsheet-")
        return os.path.join(self._folder.name, str(next(self._numbers)))

    def close(self) -> None:
        """The files are removed."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
