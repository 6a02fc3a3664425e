"""A program for an event: where it runs, what it sees, and what its end means."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.errors import DefinitionError
from callsheet.listener.handlers import HandlerContext, HandlerFailed
from callsheet.listener.handlers.exec_handler import HandlerProgram

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="written for a POSIX shell")
ENVIRON = {"PATH": "/usr/bin:/bin", "LMS_SECRET": "s", "PLAIN": "p"}


def run(folder: str, line: str, *words: str, data: bytes = b"", **table: Any) -> list[str]:
    """What it printed, as it is reported."""
    said: list[str] = []
    context = HandlerContext(folder, ENVIRON, frozenset({"LMS_SECRET"}), said.append, 10.0, lambda *_: 0)
    made = HandlerProgram({"handler": "exec", "run": ["/bin/sh", "-c", line, *words], **table}, context)  # type: ignore[typeddict-item]
    event: Any = SimpleNamespace(
        data=data, record_text="record", type="paid", id="7", attempt=1,
        source=SimpleNamespace(name="lms"), scope={"id": "7"}, time=None,
    )  # fmt: skip
    try:
        asyncio.run(made.run(event, "r/1"))
    finally:
        asyncio.run(made.close())
    return said


@pytest.mark.parametrize(("more", "where"), [({}, ""), ({"dir": "inner"}, "inner")])
def test_it_runs_in_the_folder_of_its_routes_or_below(more: dict[str, Any], where: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (said,) = run(str(tmp_path), "pwd -P", **more)
    assert said.endswith(str((tmp_path / where).resolve())), said


def test_it_sees_the_event_and_no_secret(tmp_path: Path) -> None:
    (said,) = run(str(tmp_path), "read line; echo $line $EVENT_TYPE $1 ${{LMS_SECRET-none}} $PLAIN", "sh", "{id}")
    assert said.endswith("record paid 7 none p")
    (said,) = run(str(tmp_path), "echo $LMS_SECRET", secrets=["LMS_SECRET"])
    assert said.endswith("s")


@pytest.mark.parametrize(
    ("line", "problem"),
    [("exit 3", "exit code 3"), ("kill -9 $$", "ended with signal 9"), ("exec /none", "exit code 127")],
)
def test_what_its_end_means(line: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(HandlerFailed, match=problem):
        run(str(tmp_path), line)


def test_it_has_a_time(tmp_path: Path) -> None:
    with pytest.raises(HandlerFailed, match=r"timed out after 0\.2 s, stopped"):
        run(str(tmp_path), "sleep 30", timeout="200ms")


@pytest.mark.parametrize("words", [[], "echo", None])
def test_a_program_is_a_list_of_words(words: Any) -> None:
    context = HandlerContext("", ENVIRON, frozenset(), lambda _: None, 10.0, lambda *_: 0)
    with pytest.raises(DefinitionError, match="expected a list, the program and its arguments"):
        HandlerProgram({"handler": "exec", "run": words}, context)


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("./missing", "No such file or directory"),
        ("./plain", "Permission denied"),
        ("{{no}}", "No such file or directory"),
    ],
)
def test_a_program_that_cannot_be_started_is_named(word: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("", encoding="utf-8")
    context = HandlerContext(str(tmp_path), ENVIRON, frozenset(), print, 10.0, lambda *_: 0)
    made = HandlerProgram({"handler": "exec", "run": [word]}, context)
    event: Any = SimpleNamespace(
        data=b"", record_text="", type="paid", id="7", attempt=1,
        source=SimpleNamespace(name="lms"), scope={"id": "7"}, time=None,
    )  # fmt: skip
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(made.run(event, "r/1"))
    assert str(caught.value) == f"cannot run {word.replace('{{', '{').replace('}}', '}')!r}: {problem}"
