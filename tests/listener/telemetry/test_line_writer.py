"""What becomes of lines where the stream is slow, full or gone."""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.telemetry import log as module
from callsheet.listener.telemetry.log import OVERHEAD, LineWriter
from support.waiting import PATIENCE


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.001)


class Disk(io.StringIO):
    """Does with each write what the test says next: raises it, or takes so many characters of it before it raises."""

    def __init__(self, *fails: Exception | int) -> None:
        super().__init__()
        self.fails = list(fails)
        self.written = threading.Condition()
        self.times = 0

    def write(self, text: str) -> int:
        with self.written:
            self.times += 1
            self.written.notify_all()
            if self.fails and (failure := self.fails.pop(0)):
                assert isinstance(failure, Exception)
                raise failure
            return super().write(text)

    def wait(self, times: int) -> None:
        with self.written:
            assert self.written.wait_for(lambda: self.times >= times, PATIENCE)


def said(lost: int) -> str:
    return f"{lost} lines are missing"


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def test_what_waits_is_written_at_the_end_in_its_order() -> None:
    stream = io.StringIO()
    writer = LineWriter(stream)
    for number in range(100):
        writer.write_line(f"line {number}\x1b")
    writer.close()
    assert stream.getvalue().splitlines() == [f"line {number}\\u001b" for number in range(100)]
    assert writer.dropped == 0


def test_a_line_is_written_without_an_end_to_wait_for() -> None:
    stream = Disk()
    writer = LineWriter(stream)
    writer.write_line("a")
    stream.wait(1)
    writer.write_line("b")
    stream.wait(2)
    assert stream.getvalue() == "a\nb\n"
    writer.close()


def test_what_a_full_disk_did_not_take_is_counted_and_said_once() -> None:
    stream = Disk(full(), full())
    writer = LineWriter(stream, said)
    for number, line in enumerate(["a", "b", "c", "d"], 1):
        writer.write_line(line)
        stream.wait(number)
    writer.close()
    # The second write was the notice and a line.
    assert stream.getvalue() == "3 lines are missing\nc\nd\n"
    assert writer.dropped == 3


def test_a_reader_that_left_is_written_to_no_more() -> None:
    stream = Disk(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    writer = LineWriter(stream, said)
    writer.write_line("a")
    stream.wait(1)
    writer.close()
    for _ in range(3):
        writer.write_line("b")
    assert (stream.times, writer.dropped) == (1, 4)


def test_a_stream_that_was_closed_takes_nothing() -> None:
    stream = Disk(ValueError("I/O operation on closed file"))
    writer = LineWriter(stream)
    writer.write_line("a")
    stream.wait(1)
    writer.close()
    writer.write_line("b")
    assert (stream.times, writer.dropped) == (1, 1)


def test_no_more_waits_than_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2 * (10 + OVERHEAD))
    held, begun = threading.Event(), threading.Event()

    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            begun.set()
            assert held.wait(PATIENCE)
            return super().write(text)

    stream = Slow()
    writer = LineWriter(stream, said)
    writer.write_line("first")
    assert begun.wait(PATIENCE)
    for letter in "abcde":
        writer.write_line(letter * 10)
    assert writer.dropped == 2
    held.set()
    writer.close(30)
    # Those that found no place are told of before what is written after them.
    assert stream.getvalue() == "first\n" + "".join(f"{letter * 10}\n" for letter in "abc")
    writer = LineWriter(stream, said)
    assert writer.dropped == 0
    writer.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Any]:
    with (tmp_path / "log").open("w+", encoding="utf-8") as opened:
        yield opened


def sometimes(monkeypatch: pytest.MonkeyPatch, *answers: int | OSError) -> list[bytes]:
    """What was given to the system, which takes so many bytes of it, or fails; after that all of it."""
    left, seen, write = list(answers), list[bytes](), os.write

    def some(descriptor: int, data: bytes) -> int:
        seen.append(data)
        answer = left.pop(0) if left else len(data)
        if isinstance(answer, OSError):
            raise answer
        return write(descriptor, data[:answer])

    monkeypatch.setattr(module.os, "write", some)
    return seen


def after(writer: LineWriter, seen: list[bytes], *lines: str) -> Callable[[int], None]:
    for line in lines:
        writer.write_line(line)

    def wait(times: int) -> None:
        while len(seen) < times:
            threading.Event().wait(0.001)

    return wait


def test_a_write_that_takes_a_part_goes_on_with_the_rest(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = sometimes(monkeypatch, 2, BlockingIOError(errno.EAGAIN, "again"), 1)
    writer = LineWriter(file)
    after(writer, seen, "abcdef")(4)
    writer.close()
    assert seen == [b"abcdef\n", b"cdef\n", b"cdef\n", b"def\n"]
    assert (Path(file.name).read_text(encoding="utf-8"), writer.dropped) == ("abcdef\n", 0)


def test_a_line_that_was_cut_is_ended_before_the_next(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = sometimes(monkeypatch, 2, full(), full())
    writer = LineWriter(file, said)
    after(writer, seen, "abcdef")(2)
    after(writer, seen, "lost")(3)
    after(writer, seen, "c")(4)
    after(writer, seen, "d")(5)
    writer.close()
    # The notice counted as a line when it was lost too, and so did the end of the cut one.
    text = Path(file.name).read_text(encoding="utf-8")
    assert text.startswith("ab\n")
    assert text.endswith(" lines are missing\nc\nd\n")
    assert len(text.splitlines()) == 4
    assert writer.dropped == 1 + 3


def test_at_the_end_nothing_waits_for_a_pipe_that_is_full(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    again = BlockingIOError(errno.EAGAIN, "again")
    seen = sometimes(monkeypatch, *[again] * 1_000_000)
    writer = LineWriter(file)
    after(writer, seen, "a")(2)
    writer.close(30)
    assert not writer._thread.is_alive()
    assert writer.dropped == 1


def test_several_processes_write_one_after_another(tmp_path: Path) -> None:
    """The lock is a file that others hold meanwhile."""
    from callsheet.files import locked_file

    stream, path = Disk(), str(tmp_path / "lock")
    with locked_file(path):
        writer = LineWriter(stream, lock=path)
        writer.write_line("a")
        writer.close(0.05)
        assert stream.times == 0
    stream.wait(1)
    writer.close()
    assert stream.getvalue() == "a\n"
