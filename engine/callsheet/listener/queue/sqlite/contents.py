"""Whether an inbox that is in use still holds what SQLite wrote: another program may overwrite or truncate it.

SQLite does not look for that: it goes on writing, and what it wrote cannot be read any more after a restart. The layout
of the three files is at https://www.sqlite.org/fileformat2.html and https://www.sqlite.org/walformat.html.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

_HEADER = 100  # bytes
_WAL_HEADER, _FRAME_HEADER, _INDEX_HEADER = 32, 24, 48
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_SAMPLES = 1000  # frames of the log that are looked at, so that a log of any length costs some milliseconds at most


class _Header(NamedTuple):
    """What never changes in a file, and the counters that never go back."""

    constant: bytes
    changes: int
    version: int
    page_size: int
    pages: int
    size: int


class Contents:
    """`path` is open. The files stay open here too: to close one takes the locks that SQLite has on it."""

    def __init__(self, path: str) -> None:
        self._names = (path, f"{path}-wal", f"{path}-shm")
        self._files = [os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0)) for name in self._names]
        self._header = self._read_header()
        self._problem: str | None = None

    def problem(self) -> str | None:
        """To be asked inside a transaction that writes: nobody else adds to the log meanwhile. Damage lasts."""
        if self._problem is None:
            try:
                name = self._damaged()
            except OSError:  # a disk that fails is noticed by what is written
                return None
            if name is not None:
                self._problem = (
                    f"{name} was overwritten or truncated by another program: "
                    "stop the listener, restore the file and start it again"
                )
        return self._problem

    def _damaged(self) -> str | None:
        header = self._read_header()
        if not _continues(self._header, header):
            return self._names[0]
        self._header = header
        return None if self._log_is_whole() else self._names[1]

    def _read_header(self) -> _Header | None:
        data = self._read(0, 0, _HEADER)
        if len(data) < _HEADER:
            return None
        (page_size,) = struct.unpack_from(">H", data, 16)
        changes, pages = struct.unpack_from(">II", data, 24)
        (version,) = struct.unpack_from(">I", data, 60)
        size = os.fstat(self._files[0]).st_size
        return _Header(data[:24] + data[56:60], changes, version, 65536 if page_size == 1 else page_size, pages, size)

    def _log_is_whole(self) -> bool:
        """Every frame up to the last that counts bears the mark of the log as it is now."""
        index = self._read(2, 0, _INDEX_HEADER)
        if len(index) < _INDEX_HEADER:
            return True
        page_size, frames = struct.unpack_from("=HI", index, 14)
        mark = index[32:40]
        if not frames:
            return True
        header = self._read(1, 0, _WAL_HEADER)
        if len(header) < _WAL_HEADER or struct.unpack_from(">I", header)[0] not in _WAL_MAGIC or header[16:24] != mark:
            return False
        frame_size = _FRAME_HEADER + (65536 if page_size == 1 else page_size)
        looked_at = (*range(0, frames - 1, max(1, frames // _SAMPLES)), frames - 1)
        return all(self._read(1, _WAL_HEADER + frame * frame_size + 8, 8) == mark for frame in looked_at)

    def _read(self, file: int, position: int, size: int) -> bytes:
        os.lseek(self._files[file], position, os.SEEK_SET)
        return os.read(self._files[file], size)

    def close(self) -> None:
        """After SQLite has closed them."""
        for file in self._files:
            os.close(file)


def _continues(before: _Header | None, now: _Header | None) -> bool:
    """A file grows after its header says so, and shrinks (VACUUM) after its header says so."""
    if before is None or now is None:
        return before is None
    goes_back = now.changes < before.changes or now.version < before.version
    is_cut_off = now.size < min(before.size, now.pages * now.page_size)
    return now.constant == before.constant and not goes_back and not is_cut_off
