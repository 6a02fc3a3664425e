"""Whether an open inbox is still the file of that name, and whole: what is written to any other is lost."""

from __future__ import annotations

import os

from .contents import Contents

_Identity = tuple[int, int]


class Whereabouts:
    """`path` is open, and so is the log beside it."""

    def __init__(self, path: str) -> None:
        self._found = {name: _identity(name) for name in (path, f"{path}-wal")}
        self._contents = Contents(path)

    def problem(self) -> str | None:
        """To be asked inside a transaction that writes."""
        for name, found in self._found.items():
            if _identity(name, found) != found:
                return f"{name} was moved, replaced or deleted: put it back, or start the listener again"
        return self._contents.problem()

    def close(self) -> None:
        """After SQLite has closed the file."""
        self._contents.close()


def _identity(path: str, otherwise: _Identity | None = None) -> _Identity | None:
    """Nothing where there is no file; `otherwise` where that cannot be seen now."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return otherwise
    return found.st_dev, found.st_ino
