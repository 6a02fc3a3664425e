"""The file of a program that is named without its directory, looked for once instead of for each event."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping


class Executable:
    """`environ` is what programs get; where an event chooses their PATH, each start has to look for itself."""

    def __init__(self, environ: Mapping[str, str], chosen: Mapping[str, str]) -> None:
        self._path = environ.get("PATH", os.defpath)
        self._is_fixed = sys.platform != "win32" and "PATH" not in chosen
        self._found: str | None = None

    async def start(self, word: str, start: Callable[[str | None], Awaitable[None]]) -> None:
        """Call `start` with the file, or None where it has to be looked for. It may have moved since it was found."""
        found = self._file(word)
        try:
            await start(found)
        except (FileNotFoundError, PermissionError):
            if found is None:
                raise
            self._found = None
            await start(None)

    def _file(self, word: str) -> str | None:
        if self._found is None and self._is_fixed and os.sep not in word:
            found = shutil.which(word, path=self._path)
            self._found = found if found is not None and os.path.isabs(found) else None
        return self._found
