"""Lines drawn from a grammar of the shell: none of those by which Bash reaches a deletion is allowed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.agents.invocations import effects_of_line, ruling_on_effects
from callsheet.agents.shell_syntax import Unclear, Word
from support.shell_lines import DELETION, GRAMMAR, SETTINGS, RecordingShell, drawn_line, put_into

PROGRAMS = ["callsheet", "lms", "suite"]
Read = Callable[[str, Sequence[Word]], Any]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> RecordingShell:
    return RecordingShell(tmp_path_factory.mktemp("shell"))


def is_allowed(line: str, read: Read) -> bool:
    return ruling_on_effects(effects_of_line(line, PROGRAMS, read), all_writes=False).decision == "allow"


def deletes(line: str, shell: RecordingShell, read: Read) -> bool:
    """Whether a run of the line starts the program for a deletion, or with other settings."""
    for words in shell.run(line):
        if words[:1] == [SETTINGS]:
            return True
        try:
            if read("suite", [Word(word) for word in words]).safety == "destroy":
                return True
        except Unclear:
            continue
    return False


@settings(deadline=None)
@given(seed=st.integers(0, 2**48))
def test_no_line_that_reaches_a_deletion_is_allowed(seed: int, shell: RecordingShell, read: Read) -> None:
    line = drawn_line(Random(seed))
    assert not (is_allowed(line, read) and deletes(line, shell, read)), line


@pytest.mark.slow
def test_no_place_of_a_line_is_left_out(shell: RecordingShell, read: Read) -> None:
    lines = [put_into(place, DELETION) for place in GRAMMAR["around"]]
    lines += [line.replace("{h}", harmless) for line in GRAMMAR["twisted"] for harmless in GRAMMAR["harmless"][:1]]
    allowed = [line for line in lines if is_allowed(line, read)]
    assert [line for line in allowed if deletes(line, shell, read)] == []


def test_the_lines_are_what_they_are_meant_to_be(shell: RecordingShell, read: Read) -> None:
    """Most of them do reach a deletion, and a guard that asked about everything would not be what passes here."""
    lines = [drawn_line(Random(seed)) for seed in range(60)]
    assert sum(deletes(line, shell, read) for line in lines) > len(lines) / 3
    assert any(is_allowed(line, read) for line in lines)


def test_lines_of_build_scripts_are_seldom_asked_about(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a command of ours, since lines without one never reach the guard."""
    monkeypatch.chdir(tmp_path)
    lines = (Path(__file__).parent / "build_lines.txt").read_text(encoding="utf-8").splitlines()
    asked = [line for line in lines if not is_allowed(f"{line}\nsuite issues list", read)]
    assert len(lines) > 100
    assert len(asked) <= len(lines) * 0.02, asked
    assert [line for line in lines if not is_allowed(line, read)] == []
