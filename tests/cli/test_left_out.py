"""A definition of one's own that needs what is gone: the program goes on without it, and says so."""

from __future__ import annotations

from pathlib import Path

from support.cases import Done, run_program
from support.programs import small_program

GONE = '[renamed.view.gone]\nbill = "use `order`"\n[renamed.group.keys]\nhelps = "help"\n'
MINE = """
[extend.view.bill]
id = "x"

[group.own]
helps = "What is mine"

[command."own version"]
like = "version"
help = "Print the version"
"""


def start(home: Path, *words: str) -> Done:
    environ = {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(home / "cache")}
    return run_program("shop", list(words), environ)


def test_it_is_told_at_every_start_and_the_rest_works(tmp_path: Path) -> None:
    directory = small_program(tmp_path)
    (directory / "a.toml").write_text(GONE, encoding="utf-8")
    (directory / "mine.toml").write_text(MINE, encoding="utf-8")
    warning = f'warning: left out: {directory / "mine.toml"}:2: view "bill" is gone: use `order`\n'
    first, second = start(tmp_path, "own", "version"), start(tmp_path, "own", "version")
    note = f"note: {directory / 'mine.toml'}:6: group \"own\": 'helps' is called 'help' now; `shop definitions upgrade`"
    assert (first.exit, first.stderr) == (0, f"{warning}{note} changes the file\n")
    assert (second.exit, second.stderr) == (0, warning)
    assert second.stdout == first.stdout != b""
    assert start(tmp_path, "completion", "bash").stderr == warning
    checked = start(tmp_path, "definitions", "check")
    assert (checked.exit, 'view "bill" is gone: use `order`' in checked.stderr) == (2, True)
