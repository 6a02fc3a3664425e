"""Programs end with the process that started them, however it ends: they would go on beside their repetition.

One process more waits at a pipe for the end of this one, and then ends the groups of those that still run. They stand
in memory that both share, so that a start costs no more than writing a number.
"""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
import tempfile
from functools import lru_cache
from typing import Any

MOST = 4096  # programs that run at the same time
_NUMBER = struct.Struct("=I")
_SIZE = MOST * _NUMBER.size
# It is given where that memory is and whom it belongs to, and waits for the end of that process: by its descriptor
# where the system has such, because a fork of the process has the other end of the pipe too. A service manager that
# ends all processes of a service asks each of them first.
_WATCH = f"""
import mmap, os, select, signal, struct, sys
for name in ("SIGTERM", "SIGINT", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
windows = sys.platform == "win32"
memory = mmap.mmap(-1, {_SIZE}, tagname=sys.argv[1]) if windows else mmap.mmap(int(sys.argv[1]), {_SIZE})
try:
    ends = [0, os.pidfd_open(int(sys.argv[2]))]
except (AttributeError, OSError):
    ends = []
if os.getppid() == int(sys.argv[2]):  # else it has ended already, maybe before there was a descriptor of it
    select.select(ends, [], []) if ends else sys.stdin.buffer.read()
for number, in struct.iter_unpack("{_NUMBER.format}", memory[:]):
    try:
        if number and windows:
            os.system(f"taskkill /T /F /PID {{number}}")
        elif number:
            os.killpg(number, signal.SIGKILL)
    except OSError:
        pass
"""


class Orphans:
    """The programs that run. Raises `OSError` where the process that watches them cannot be started."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}
        self._free = list(range(MOST))
        options: dict[str, Any] = {}
        if sys.platform == "win32":
            name = f"callsheet-{os.getpid()}"
            self._memory = mmap.mmap(-1, _SIZE, tagname=name)
        else:
            descriptor = _create_memory()
            self._memory, name = mmap.mmap(descriptor, _SIZE), str(descriptor)
            options = {"pass_fds": (descriptor,), "start_new_session": True, "env": {}}
        try:
            self._watcher = subprocess.Popen(
                [sys.executable, "-P", "-S", "-c", _WATCH, name, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **options,
            )
        finally:
            if sys.platform != "win32":
                os.close(descriptor)

    def add(self, pid: int) -> None:
        """A program that leads a group of its own."""
        if self._free:
            slot = self._slots[pid] = self._free.pop()
            _NUMBER.pack_into(self._memory, slot * _NUMBER.size, pid)

    def discard(self, pid: int) -> None:
        slot = self._slots.pop(pid, None)
        if slot is not None:
            _NUMBER.pack_into(self._memory, slot * _NUMBER.size, 0)
            self._free.append(slot)


def _create_memory() -> int:
    """Written to now: on a full disk that could be the end later."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("programs")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.write(descriptor, bytes(_SIZE))
    return descriptor


@lru_cache(maxsize=1)
def orphans() -> Orphans:
    """Those of this process, from the first program on."""
    return Orphans()
