"""What a shared program reaches is shown before it is installed, by whatever way its definitions come to it."""

from __future__ import annotations

import io
import os
import tomllib
from pathlib import Path

import pytest

from callsheet import reach
from callsheet.cli.main import run
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.language.source_file import Definition
from callsheet.registry import REGISTRIES
from support.places import CASES, DEFINITIONS
from support.sampled import sampled

SHARED = tomllib.loads((CASES / "shared_programs.toml").read_text(encoding="utf-8"))["case"]
DECLARING = ("builtin", "converter", "handler", "queue")


def said(tmp_path: Path, *words: str) -> tuple[int, str]:
    environ = {"CALLSHEET_HOME": str(tmp_path / "home"), "CALLSHEET_BIN": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    environ["PATH"] = os.environ["PATH"]
    err = io.StringIO()
    code = run("callsheet", [*words], environ=environ, stdin=io.StringIO(), stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


def written(tmp_path: Path, case: dict) -> str:
    uses = case.get("uses", ["listener"])
    head = f'[program.theirs]\ntitle = "T"\nprefix = "THEIRS"\nuses = {uses}\n{case.get("program", "")}'
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "all.toml").write_text(head + case["files"], encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("case", sampled(SHARED, 3), ids=lambda case: case["name"])
def test_what_is_reached_is_shown_and_shared_with_the_same_words(case: dict, tmp_path: Path) -> None:
    folder = written(tmp_path, case)
    code, err = said(tmp_path, "install", folder)
    lines = [line for line in err.splitlines() if line.startswith(("note: it ", "warning: it "))]
    assert code == 2  # nobody has agreed
    assert not (tmp_path / "home" / "definitions").exists()
    assert [text for text in case["shown"] if not any(text in line for line in lines)] == [], err
    assert bool(case["shown"]) == bool(lines)
    assert said(tmp_path, "install", folder, "--yes")[0] == 0
    code, err = said(tmp_path, "share", "theirs", "--to", str(tmp_path / "to"))
    assert code == 0
    assert [line for line in err.splitlines() if line.startswith(("note: it ", "warning: it "))] == lines


@pytest.mark.parametrize("registry", DECLARING)
def test_each_function_of_the_engine_declares_what_it_reaches(registry: str) -> None:
    assert set(REGISTRIES[registry]) == set(reach.REACH[registry])


def commands() -> list[Definition]:
    layers = [Layer(str(DEFINITIONS / name), shipped=True) for name in ("common", "client", "listener", "callsheet")]
    return [
        each for (kind, _), each in load_definitions(layers).items() if kind == "command" and "builtin" in each.table
    ]


# A path, an address, a program, a secret: what a parameter that takes one is called by.
TELLING = {
    "PATH",
    "FILE",
    "DIR",
    "URL",
    "CMD",
    "SECRET",
    "JOURNAL",
    "ADDR",
    "TEXT|@FILE|@-",
    "JSON|@FILE|@-",
    "JSON|@FILE",
}


def test_each_parameter_that_takes_a_file_or_an_address_is_declared() -> None:
    missing = [
        f"{command.table['builtin']} {param['name']}"
        for command in commands()
        for param in command.table.get("params", ())
        if (param.get("type") == "path" or param.get("metavar") in TELLING)
        and param["name"] not in reach.REACH["builtin"][command.table["builtin"]]
    ]
    assert missing == []


def test_nothing_is_declared_that_no_command_has() -> None:
    known: dict[str, set[str]] = {}
    for command in commands():
        known.setdefault(command.table["builtin"], {reach.ITSELF}).update(
            param["name"] for param in command.table.get("params", ())
        )
    idle = {name: extra for name in known if (extra := reach.REACH["builtin"][name].keys() - known[name])}
    assert idle == {}


def test_what_declares_nothing_cannot_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path, next(case for case in SHARED if case["name"] == "a handler of a route"))
    monkeypatch.delitem(reach.REACH["handler"], "exec")
    code, err = said(tmp_path, "install", folder, "--yes")
    assert code == 2
    assert "handler 'exec' does not declare what it reaches" in err
    assert not (tmp_path / "home" / "definitions").exists()
