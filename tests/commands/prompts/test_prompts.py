"""Questions where a terminal can do nothing but lines, and a text in an editor."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from callsheet.commands.prompts import Prompts, edit_in_editor, editor_command, keep_text
from callsheet.commands.streams import Streams
from callsheet.errors import CallsheetError, UsageError
from support.terminal import Screen

PEOPLE = ["Robin Sample (r-1)", "Kim Example (k-1)", "Robin Other (r-2)"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="scripts as editors, and file modes")


def prompts(typed: str, environ: dict[str, str] | None = None, **options: Any) -> tuple[Prompts, Screen]:
    shown = Screen()
    return Prompts(Streams(Screen(typed), io.StringIO(), shown), environ or {}, options.get), shown


CHOICES = [("2\n", 1), ("Kim Example (k-1)\n", 1), ("kim\n", 1), ("0\n4\nrobin\n\n3\n", 2), ("OTHER\n", 2)]


@pytest.mark.parametrize(("typed", "place"), CHOICES)
def test_one_is_chosen_by_its_number_or_by_what_no_other_has(typed: str, place: int) -> None:
    asked, shown = prompts(typed)
    assert asked.ask_choice("Who?", PEOPLE) == place
    assert shown.getvalue().startswith("Who?\n  1  Robin Sample (r-1)\n  2  Kim")


def test_a_text_is_asked_for_with_what_stands_in_for_it() -> None:
    asked, shown = prompts("  so \n\n")
    assert asked.ask_text("Summary") == "so"
    assert asked.ask_text("Type", "Task") == "Task"
    assert shown.getvalue() == "Summary: Type [Task]: "


@pytest.mark.parametrize(
    ("typed", "default", "agreed"), [("y\n", False, True), ("\n", True, True), ("no\n", True, False)]
)
def test_yes_or_no(typed: str, default: bool, agreed: bool) -> None:
    assert prompts(typed)[0].ask_agreement("So?", default=default) is agreed


def test_the_end_of_the_input_is_an_interruption() -> None:
    for ask in (lambda asked: asked.ask_text("Summary"), lambda asked: asked.ask_choice("Who?", PEOPLE)):
        with pytest.raises(KeyboardInterrupt):
            ask(prompts("")[0])


def test_what_others_wrote_does_not_act_in_a_question() -> None:
    asked, shown = prompts("1\n")
    asked.ask_choice("Who\x1b[2J?", ["\x1b]0;t\x07\u202eR"])
    assert not set(shown.getvalue()) & set("\x1b\x07\u202e")


SILENT = [({"CI": "true"}, {}), ({}, {"no-input": True}), ({}, {"dry-run": True})]


@pytest.mark.parametrize(("environ", "options"), SILENT)
def test_nothing_is_asked_where_nobody_is_to_answer(environ: dict[str, str], options: dict[str, Any]) -> None:
    assert prompts("")[0].can_ask
    assert not prompts("", environ, **options)[0].can_ask


def test_both_streams_have_to_be_terminals() -> None:
    for streams in (Streams(io.StringIO(), None, Screen()), Streams(Screen(), None, io.StringIO())):
        assert not Prompts(streams, {}, {}.get).can_ask


def script(directory: Path, text: str) -> dict[str, str]:
    path = directory / "my editor"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"EDITOR": f"'{path}' --wait"}


@posix
def test_a_text_comes_back_from_the_editor_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    environ = script(tmp_path, f'ls -ld "$(dirname "$2")" > {tmp_path}/mode; echo "$1" >> "$2"; basename "$2" >> "$2"')
    assert edit_in_editor("so\n", "summary.md", environ) == "so\n--wait\nsummary.md\n"
    assert (tmp_path / "mode").read_text().startswith("drwx------")


@posix
def test_an_editor_that_fails_or_is_absent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CallsheetError, match="exit code 3; nothing was sent"):
        edit_in_editor("so", "x.md", script(tmp_path, "exit 3"))
    with pytest.raises(UsageError, match="cannot start the editor /absent/ed"):
        edit_in_editor("so", "x.md", {"VISUAL": "/absent/ed", "EDITOR": "true"})


@posix
def test_an_editor_that_is_no_command_is_an_error_and_an_empty_one_is_none() -> None:
    with pytest.raises(UsageError, match=r"cannot read the editor.s command .*: no closing quotation"):
        editor_command({"EDITOR": "vi '"})
    assert editor_command({"VISUAL": "  ", "EDITOR": "ed -p"}) == ["ed", "-p"]


def test_without_a_choice_the_usual_editors_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name if name in ("vi", "notepad") else None)
    assert editor_command({}) in (["vi"], ["notepad"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UsageError, match="no editor was found"):
        editor_command({})


@posix
def test_a_text_that_could_not_be_used_is_kept_for_its_writer_alone() -> None:
    path = keep_text("so", "description.md")
    try:
        assert Path(path).read_text() == "so"
        assert path.endswith(".md")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    finally:
        os.unlink(path)
