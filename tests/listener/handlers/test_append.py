"""Lines of many events into one file: each once and whole, and none that was given up."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from callsheet.listener.handlers import HandlerContext, HandlerFailed
from callsheet.listener.handlers import append_handler as append
from callsheet.listener.handlers.append_handler import Append
from callsheet.listener.server.server_process import new_event_loop
from support.listening import until
from support.waiting import PATIENCE, reach


class Said:
    """As much of an event as goes into a file."""

    def __init__(self, text: str) -> None:
        self.record_text = text


def handler(folder: Path, timeout: float = 30) -> Append:
    context = HandlerContext(str(folder), {}, frozenset(), print, timeout, cast("Any", None))
    return Append({"handler": "append", "file": "log"}, context)


def outcomes(made: Append, texts: Sequence[str]) -> list[str]:
    """What became of each, run at the same time: the reason of a failure, or nothing."""

    async def one(text: str) -> str:
        try:
            await made.run(cast("Any", Said(text)), "job")
        except HandlerFailed as failed:
            return str(failed)
        return ""

    async def work() -> list[str]:
        return await asyncio.gather(*map(one, texts))

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work())


def test_many_lines_at_once_are_each_written_once_and_whole(tmp_path: Path) -> None:
    texts = [f"{number} " + "x" * (number * 37 % 5000) for number in range(300)]
    made = handler(tmp_path)
    assert outcomes(made, texts) == [""] * 300
    assert outcomes(made, ["last"]) == [""]
    assert (tmp_path / "log").read_text().splitlines() == [*texts, "last"]


def failing(write: Callable[[int, bytes], None]) -> Callable[[int, bytes], None]:
    def full_for_large_ones(opened: int, data: bytes) -> None:
        if b"large" in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(opened, data)

    return full_for_large_ones


def test_a_line_that_cannot_be_written_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "_append_to_file", failing(append._append_to_file))
    found = outcomes(handler(tmp_path), ["one", "large", "three"])
    assert [reason.rpartition(": ")[2] for reason in found] == ["", "No space left on device", ""]
    assert (tmp_path / "log").read_text() == "one\nthree\n"


def test_a_line_that_waited_too_long_is_not_written_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again, and would stand there twice."""
    begun, go, write = threading.Event(), threading.Event(), append._append_to_file

    def slow(opened: int, data: bytes) -> None:
        begun.set()
        go.wait(PATIENCE)
        write(opened, data)

    monkeypatch.setattr(append, "_append_to_file", slow)
    made = handler(tmp_path, 0.3)

    async def work() -> None:
        first = asyncio.create_task(made.run(cast("Any", Said("first")), "job"))
        await reach(begun.is_set)
        second = asyncio.create_task(made.run(cast("Any", Said("second")), "job"))
        done = await asyncio.gather(first, second, return_exceptions=True)
        assert [str(each) for each in done] == ["no result after 0.3 s"] * 2
        go.set()
        await reach(lambda: not made._is_writing)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work())
    until((tmp_path / "log").exists)
    assert "second" not in (tmp_path / "log").read_text()


def test_a_line_whose_run_was_given_up_is_not_written(tmp_path: Path) -> None:
    made = handler(tmp_path)

    async def work() -> None:
        runs = [asyncio.create_task(made.run(cast("Any", Said(text)), "job")) for text in ("given up", "kept")]
        await asyncio.sleep(0)
        runs[0].cancel()
        await asyncio.gather(*runs, return_exceptions=True)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work())
    assert (tmp_path / "log").read_text() == "kept\n"


def test_whatever_goes_wrong_the_next_line_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(opened: int, data: bytes) -> None:
        raise RuntimeError("not foreseen")

    made = handler(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(append, "_append_to_file", broken)
        assert outcomes(made, ["one"]) == ["RuntimeError: not foreseen"]
    assert outcomes(made, ["two"]) == [""]
    assert (tmp_path / "log").read_text() == "two\n"


def test_a_line_that_fits_only_in_part_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up writes what still fits, and says so in nothing but a number."""
    made, whole = handler(tmp_path), os.write
    assert outcomes(made, ["before"]) == [""]
    monkeypatch.setattr(append.os, "write", lambda opened, data: whole(opened, data[:3]))
    assert outcomes(made, ["torn"]) == [f"{made.path}: {os.strerror(errno.ENOSPC)}"]
    monkeypatch.undo()
    assert outcomes(made, ["after"]) == [""]
    assert (tmp_path / "log").read_text(encoding="utf-8") == "before\nafter\n"
