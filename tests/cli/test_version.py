from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from callsheet import __version__
from support.cases import environment, run_program

ANSWERS = [
    (f"callsheet ({__version__})\nAvailable versions: {__version__}\n", "", 0, "note: this is the newest version\n"),
    ("callsheet (99.0)\nAvailable versions: 99.0\n", "", 0, "note: the newest version is 99.0\n"),
    (
        "",
        "ERROR: No matching distribution found for callsheet\n",
        7,
        "error: the newest version is not known: No match",
    ),
    ("", "", 7, "error: the newest version is not known: nothing"),
]


@pytest.mark.parametrize(("out", "err", "code", "told"), ANSWERS)
def test_the_newest_version_is_asked_of_pip(
    out: str, err: str, code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def pip(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, out, err)

    monkeypatch.setattr(subprocess, "run", pip)
    done = run_program("suite", ["version", "--check"], environment(tmp_path / "home", ""))
    assert done.exit == code
    assert done.stderr.startswith(told)
    assert asked[0][1:6] == ["-P", "-m", "pip", "index", "versions"]


def test_as_json(tmp_path: Path) -> None:
    done = run_program("suite", ["version", "--json"], environment(tmp_path / "home", ""))
    assert f'"version": "{__version__}"' in done.stdout.decode()
