"""What people type who have not read the help: it works, or the error says what to type."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from support.cases import environment, run_program
from support.places import CASES
from support.simulated import serving

DEAD_END = "dead end"


@pytest.mark.slow
def test_what_is_guessed_works_or_is_answered_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some lines write files
    guesses = tomllib.loads((CASES / "guesses.toml").read_text(encoding="utf-8"))
    wrong = {}
    with serving(deployment="cloud") as url:
        environ = environment(tmp_path / "home", url)
        for line, told in guesses.items():
            done = run_program("suite", shlex.split(line), environ)
            if (done.exit == 0) == bool(told) or (told != DEAD_END and told not in done.stderr):
                wrong[line] = f"{done.exit}: {done.stderr}"
    assert not wrong, "\n".join(f"{line}: {said}" for line, said in wrong.items())
    assert len(guesses) > 400
    assert list(guesses.values()).count(DEAD_END) <= 0.05 * len(guesses)
