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
    note = f"note: {directory / 'mine.toml'}:6: group \"own\": 'helps' is now called 'help'; `shop definitions upgrade`"
    assert (first.exit, first.stderr) == (0, f"{warning}{note} changes the file\n")
    assert (second.exit, second.stderr) == (0, warning)
    assert second.stdout == first.stdout != b""
    assert start(tmp_path, "completion", "bash").stderr == warning
    checked = start(tmp_path, "definitions", "check")
    assert (checked.exit, 'view "bill" is gone: use `order`' in checked.stderr) == (2, True)


def test_so_is_what_is_built_on_it_or_names_what_is_called_differently_now(tmp_path: Path) -> None:
    directory = small_program(tmp_path)
    renamed = '[renamed.view.gone]\nbill = "use `order`"\n[renamed.view.ids]\nbills = "alias"\n'
    (directory / "a.toml").write_text(f"{renamed}[renamed.input.gone]\ntill = 'say it'\n", encoding="utf-8")
    mine = directory / "mine.toml"
    mine.write_text(
        """language = 2
[view.qqq]
like = "bill"
[view.zzz]
like = "qqq"
[view.other]
like = "bills"
[group.own]
help = "Mine"
[command."own version"]
like = "version"
[command."own seen"]
like = "version"
view = "bills"
[command."own counted"]
like = "version"
params = [{ like = "till" }]
""",
        encoding="utf-8",
    )
    done = start(tmp_path, "own", "version")
    assert done.exit == 0
    assert sorted(done.stderr.splitlines()) == [
        f"warning: left out: {mine}:14: command \"own seen\": view: view 'bills' is now called 'alias'",
        f"warning: left out: {mine}:17: command \"own counted\": params.2.like: input 'till' is gone: say it",
        f"warning: left out: {mine}:3: view \"qqq\": like: view 'bill' is gone: use `order`",
        f"warning: left out: {mine}:5: view \"zzz\": like: no view 'qqq'",
        f"warning: left out: {mine}:7: view \"other\": like: view 'bills' is now called 'alias'",
    ]
    assert start(tmp_path, "definitions", "check").exit == 2
