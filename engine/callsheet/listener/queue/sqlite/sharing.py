"""Whether other processes handle the events of an inbox too: each has a lock of the system on a file beside it."""

from __future__ import annotations

import os
import sys

from ....errors import UsageError
from ....files import PRIVATE

if sys.platform == "win32":

    def _lock(descriptor: int, *, alone: bool) -> bool:  # noqa: ARG001 - there is no lock that several can have
        return True

else:
    import fcntl

    def _lock(descriptor: int, *, alone: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class Sharing:
    """Of one inbox, until this process ends or `close` is called."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._alone = False
        self._descriptor: int | None = None

    def claim(self, *, alone: bool) -> None:
        """Beside others, or `alone` from now on. Raises `UsageError` where others are there, or one that is alone."""
        alone = self._alone = alone or self._alone
        try:
            descriptor = self._open()
        except OSError as error:
            if alone:
                raise UsageError(f"inbox {self._path}: cannot lock it: {error.strerror}") from None
            return  # on a full disk; senders are told
        if _lock(descriptor, alone=alone):
            return
        self._alone = False
        if alone and _lock(descriptor, alone=False):  # a lock that is not changed may be lost
            problem = "a route has `order`, which holds in one process only, and another one uses the inbox"
        else:
            problem = "another process uses it alone, because a route there has `order`"
        raise UsageError(f"inbox {self._path}: {problem}", hint="stop the other one, or give each an inbox of its own")

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(f"{self._path}-lock", os.O_RDWR | os.O_CREAT, PRIVATE)
        return self._descriptor

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
