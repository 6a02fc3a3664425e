"""Lines appended to files and pipes: input by input, torn lines, pipes that nobody reads."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.handlers import HandlerContext, HandlerFailed
from callsheet.listener.handlers.append_handler import Append
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and modes of POSIX")


def handler(folder: Path, **table: Any) -> Append:
    context = HandlerContext(str(folder), {}, frozenset(), lambda _: None, 10.0, lambda *_: 0)
    return Append({"handler": "append", "file": "out", **table}, context)  # type: ignore[typeddict-item]


def append(made: Append, data: bytes, times: int = 1) -> None:
    async def run() -> None:
        for _ in range(times):
            event: Any = SimpleNamespace(data=data, record_text="record", payload_text='{"a": 1}')
            await made.run(event, "r/1")

    asyncio.run(asyncio.wait_for(run(), PATIENCE))


def test_lines_are_added_and_the_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "out"
    append(handler(tmp_path, input="raw"), b"a", 2)
    append(handler(tmp_path, input="raw"), b"b\n")
    append(handler(tmp_path, input="none"), b"x")
    append(handler(tmp_path), b"x")
    append(handler(tmp_path, input="payload"), b"x")
    assert path.read_bytes() == b'a\na\nb\n\nrecord\n{"a": 1}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_absolute_path_is_one_and_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    append(handler(tmp_path / "none", file=str(tmp_path / "there"), input="raw"), b"a")
    assert (tmp_path / "there").read_bytes() == b"a\n"
    with pytest.raises(HandlerFailed, match=r"/none/out: No such file or directory"):
        append(handler(tmp_path / "none"), b"a")


def test_a_torn_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(handler(tmp_path, input="raw"), b"whole")
    real = os.write
    monkeypatch.setattr(
        os, "write", lambda opened, line: real(opened, line[:3]) if line == b"torn line\n" else real(opened, line)
    )
    with pytest.raises(HandlerFailed, match=os.strerror(errno.ENOSPC)):
        append(handler(tmp_path, input="raw"), b"torn line")
    assert (tmp_path / "out").read_bytes() == b"whole\n"


def test_a_pipe_is_written_as_fast_as_it_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "out").read_bytes()))
    reader.start()
    with (tmp_path / "out").open("wb"):
        append(handler(tmp_path, input="raw"), b"x" * 200_000)
    reader.join(PATIENCE)
    assert got == [b"x" * 200_000 + b"\n"]


def test_a_pipe_that_nobody_reads_holds_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    with pytest.raises(HandlerFailed, match="a pipe that nobody reads"):
        append(handler(tmp_path), b"a")
    opened = os.open(tmp_path / "out", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(HandlerFailed, match=r"no result after|a pipe that is read too slowly"):
            append(handler(tmp_path, input="raw", timeout="100ms"), b"x" * 200_000)
    finally:
        os.close(opened)
