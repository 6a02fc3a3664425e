"""A command that changes something and is given nothing says what is missing, and asks the site for nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from support.cases import environment, run_program
from support.places import ROOT
from support.ports import free_port

CHANGING = sorted(
    name
    for file in (ROOT / "definitions" / "suite" / "commands").glob("*.toml")
    for name, command in tomllib.loads(file.read_text(encoding="utf-8")).get("command", {}).items()
    if command.get("safety") in ("write", "destroy") and not command.get("hidden")
)


@pytest.mark.slow
def test_what_is_missing_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", f"http://127.0.0.1:{free_port()}")
    answered = {}
    for name in CHANGING:
        done = run_program("suite", ["--no-input", "--yes", *name.split()], environ)
        if done.exit != 2:
            answered[name] = f"{done.exit}: {done.stderr}"
    assert answered == {}
    assert len(CHANGING) > 90
