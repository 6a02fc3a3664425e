"""The words a program is started with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import DefinitionError
from callsheet.listener.handlers import HandlerContext, HandlerFailed
from callsheet.listener.handlers.append_handler import Append
from callsheet.listener.handlers.event_content import HandlerArguments, as_argument, check_written_out
from callsheet.listener.handlers.exec_handler import HandlerProgram


@pytest.mark.parametrize("program", ["run.bat", "run.CMD"])
def test_a_batch_file_reads_its_words_as_a_shell_does(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert HandlerArguments([program, "{id}"]).fill_arguments({"id": "7"}) == [program, "7"]
    monkeypatch.setattr(sys, "platform", "win32")
    assert HandlerArguments([program, "x"]).fill_arguments({}) == [program, "x"]
    assert HandlerArguments(["run.exe", "{id}"]).fill_arguments({"id": "7"}) == ["run.exe", "7"]
    with pytest.raises(DefinitionError, match="the shell of a batch file"):
        HandlerArguments([program, "x", "{id}"])


@pytest.mark.parametrize(
    ("words", "value", "filled"),
    [
        (["p", "{x}"], "a", ["p", "a"]),
        (["p", "{x}"], "", ["p", ""]),
        (["p", "--to={x}"], "-a", ["p", "--to=-a"]),
        (["p", "--", "{x}"], "-a", ["p", "--", "-a"]),
        (["p", "-v", "{x}"], 7, ["p", "-v", "7"]),
        (["p", "{x}"], "a\0b", ["p", "a\ufffdb"]),
    ],
)
def test_values_stay_where_they_stand(words: list[str], value: object, filled: list[str]) -> None:
    assert HandlerArguments(words).fill_arguments({"x": value}) == filled


@pytest.mark.parametrize("words", [["p", "{x}"], ["p", "{x}", "--", "{x}"], ["p", "{x}y"]])
def test_a_value_is_never_an_option(words: list[str]) -> None:
    with pytest.raises(HandlerFailed, match="starts with '-': put '--' before it"):
        HandlerArguments(words).fill_arguments({"x": "-a"})


def test_the_program_is_never_taken_out_of_an_event() -> None:
    for word in ("{x}", "./{x}", "a{x}"):
        with pytest.raises(DefinitionError, match="the program cannot be taken out of an event"):
            HandlerArguments([word])


def test_what_no_argument_can_carry_is_replaced() -> None:
    assert [as_argument(text) for text in ("ü", "\0", "a\ud800")] == ["ü", "\ufffd", "a?"]


@pytest.mark.parametrize("path", ["{id}.log", "logs/{body.user}/x"])
def test_no_path_comes_out_of_an_event(path: str) -> None:
    with pytest.raises(DefinitionError, match=r"handler 'append': file: .* it cannot be taken out of an event"):
        check_written_out("append", "file", path)


@pytest.mark.parametrize("path", ["", "plain.log", "lone}brace", "{open", "{{two}}"])
def test_a_path_that_is_written_out_may_have_braces(path: str) -> None:
    check_written_out("append", "file", path)


def test_handlers_look_at_their_paths(tmp_path: Path) -> None:
    unused: Any = None
    context = HandlerContext(str(tmp_path), {}, frozenset(), print, 10.0, unused)
    with pytest.raises(DefinitionError, match="cannot be taken out of an event"):
        Append({"handler": "append", "file": "{id}"}, context)
    with pytest.raises(DefinitionError, match="cannot be taken out of an event"):
        HandlerProgram({"handler": "exec", "run": ["true"], "dir": "{id}"}, context)
