"""Whether an open inbox is still the file of that name: what is written to a deleted one is lost with the process."""

from __future__ import annotations

import os

_Identity = tuple[int, int]


class Whereabouts:
    """`path` is open, and so is the log beside it."""

    def __init__(self, path: str) -> None:
        self._found = {name: _identity(name) for name in (path, f"{path}-wal")}

    def problem(self) -> str | None:
        for name, found in self._found.items():
            if _identity(name, found) != found:
                return f"{name} was moved, replaced or deleted: put it back, or start the listener again"
        return None


def _identity(path: str, otherwise: _Identity | None = None) -> _Identity | None:
    """Nothing where there is no file; `otherwise` where that cannot be seen now."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return otherwise
    return found.st_dev, found.st_ino
