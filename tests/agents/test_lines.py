"""What a shell line of an agent would do with our programs, however it is written."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callsheet.agents import shell_syntax
from callsheet.agents.invocations import effects_of_line, find_invocations, ruling_on_effects
from callsheet.agents.shell_syntax import Unclear

LINES: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "lines.toml").read_text(encoding="utf-8"))
PROGRAMS = ["callsheet", "lms", "suite"]
Under = Callable[[str], Any]


def decision(line: str, read: Any, *, all_writes: bool = False) -> str:
    found = ruling_on_effects(effects_of_line(line, PROGRAMS, read), all_writes=all_writes).decision
    return "ask" if found == "allow" and "SUITE_POLICY" in line else found  # as the hook does


@pytest.mark.parametrize("line", LINES["ask_or_deny"])
def test_what_destroys_is_asked_about_or_denied(line: str, reader: Under) -> None:
    assert decision(line, reader("")) == "ask"
    assert decision(line, reader("destroy=deny")) == "deny"


@pytest.mark.parametrize("line", LINES["ask"])
def test_what_does_not_tell_is_asked_about(line: str, reader: Under) -> None:
    assert decision(line, reader("")) == "ask"


@pytest.mark.parametrize("line", LINES["allow"])
def test_nobody_is_kept_from_the_rest(line: str, reader: Under) -> None:
    assert decision(line, reader("destroy=deny")) == "allow"


@pytest.mark.parametrize("here", [False, True], ids=["nothing here", "a directory of that name"])
def test_others_that_start_something_are_seen_through(
    here: bool, reader: Under, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if here:
        (tmp_path / "suite").mkdir()
    read = reader("")
    assert [line for line in LINES["ask_in_others"] if decision(line, read) != "ask"] == []
    quiet = LINES["allow_beside_others"][0 if here else 2 :]  # without one, the name could be the program's
    assert [line for line in quiet if decision(line, read) != "allow"] == []


def test_a_change_is_asked_about_where_that_is_wanted(reader: Under) -> None:
    line = "suite issues new --project DEMO --type Task --summary x"
    assert [decision(line, reader(""), all_writes=each) for each in (False, True)] == ["allow", "ask"]
    assert decision(line, reader("write=deny")) == "deny"
    assert decision(line, reader("createIssue=deny")) == "deny"
    assert decision(line, reader("write=ask")) == "deny"  # nobody can be asked where an agent runs it
    assert decision("suite issues delete A-1", reader("read-only")) == "deny"
    assert decision("suite issues list", reader("write=deny"), all_writes=True) == "allow"


WORDS = ["suite", "issues", "delete", "list", "PP-1", "'x y'", '"a"', "$x", "$(", ")", "`", "'", '"', "\\"]
SIGNS = ["|", "&&", ";", "&", "(", "{", "}", "<", ">", "<<E", "\n", "#", "xargs", "sh", "-c", "eval", "echo", "E", " "]


@given(parts=st.lists(st.sampled_from([*WORDS, *SIGNS]), max_size=12), glue=st.sampled_from(["", " "]))
def test_any_line_is_read_or_unclear(parts: list[str], glue: str) -> None:
    try:
        find_invocations(glue.join(parts), PROGRAMS)
    except Unclear:
        return


@pytest.mark.parametrize("line", ['$("' * 30_000, "suite '" + "x" * 200_000 + "'"], ids=["nested", "long"])
def test_a_line_without_end_is_unclear(line: str) -> None:
    with pytest.raises(Unclear):
        find_invocations(f"suite {line}", PROGRAMS)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)


@pytest.mark.slow
@given(words=st.lists(TEXTS, min_size=1, max_size=5))
def test_what_is_quoted_is_one_fixed_word(words: list[str]) -> None:
    [found] = find_invocations(f"suite {shlex.join(words)}", PROGRAMS)
    assert [word.text for word in found.words] == words
    assert all(word.fixed for word in found.words)


@example(before="()")  # a function without a name, as zsh has it
@given(before=st.text(st.sampled_from("abc '\"\\$();|&<>\n#`"), max_size=8))
def test_a_deletion_behind_anything_is_found_or_the_line_is_unclear(before: str) -> None:
    """Unless a comment, a here-document or a longer word swallows it, as in a shell."""
    line = f"{before}\nsuite issues delete PP-1"
    try:
        found = find_invocations(line, PROGRAMS)
    except Unclear:
        return
    swallowed = before.endswith("\\") or "<<" in before
    assert swallowed or [[word.text for word in each.words] for each in found] == [["issues", "delete", "PP-1"]]


def test_without_the_package_only_plain_words_are_read(monkeypatch: pytest.MonkeyPatch, reader: Under) -> None:
    monkeypatch.setattr(shell_syntax, "shfmt_program", lambda: None)
    read = reader("")
    assert decision("suite issues list --project DEMO", read) == "allow"
    assert decision("suite issues delete PP-1", read) == "ask"
    [unclear] = effects_of_line("suite issues list | head", PROGRAMS, read)
    assert unclear.safety is None
    assert unclear.note.endswith("pip install shfmt-py")
    assert effects_of_line("make all | tee log", PROGRAMS, read) == []


OF_OTHER_SHELLS = [
    "suite issues list \\; suite issues delete PP-1",
    'echo "a\\"; suite issues delete PP-1 #"',
    "echo 'a''; suite issues delete PP-1 #'",
    "suite --site @words issues list",
    "suite --site %WORDS% issues list",
    "suite issues list ^& suite issues delete PP-1",
    "suite issues d`elete PP-1",
]


def test_on_windows_a_line_that_its_shells_read_otherwise_is_asked_about(
    monkeypatch: pytest.MonkeyPatch, reader: Under
) -> None:
    monkeypatch.setattr(shell_syntax, "has_other_shells", lambda: True)
    read = reader("")
    assert [line for line in OF_OTHER_SHELLS if decision(line, read) != "ask"] == []
    assert decision("suite issues list -o csv | Select-Object -First 3; suite.exe issues view 'PP-1'", read) == "allow"
