"""A line of plain words means what click makes of it, and click is not loaded for it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callsheet.cli.invoke import read_plain_line
from callsheet.cli.main import run
from callsheet.cli.tree import root_group
from callsheet.commands.context import Context
from callsheet.commands.streams import Streams
from callsheet.errors import DefinitionError

PROGRAMS = ("suite", "lms", "callsheet")
TEXTS = ("first", "", "second words", "third")


@pytest.fixture
def environ(tmp_path: Path, cache: Path) -> dict[str, str]:
    return {"CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}


def called(environ: dict[str, str], *line: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = run("suite", line, environ=environ, stdin=io.StringIO(), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(params=PROGRAMS)
def context(request: pytest.FixtureRequest, environ: dict[str, str]) -> Iterator[Context]:
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    context = Context(request.param, environ, streams)
    yield context
    context.close()


def click_makes(context: Context, line: list[str]) -> tuple[Any, Any] | None:
    """The command and its values, or None where click refuses the line."""
    found: list[tuple[Any, Any]] = []
    group = root_group(context, lambda _, command, values: found.append((command, values)))
    context.options.clear()
    with suppress(Exception):
        group.main(line, prog_name=context.program, standalone_mode=False, obj=context)
    return found[0] if found else None


def test_each_command_takes_the_same_values_with_and_without_click(context: Context) -> None:
    read = 0
    for path in context.catalog.commands.ids():
        for count in range(len(TEXTS) + 1):
            line = [*path.split(), *TEXTS[:count]]
            plain = read_plain_line(context, line)
            if plain is not None:
                read += 1
                assert (plain.command, plain.values) == click_makes(context, line), line
                assert not any(context.options.values()), line
                assert plain.words == f"{context.program} {path}"
    assert read > 10


LEFT_TO_CLICK = {
    "an option": ["op", "describe", "getIssue", "--raw"],
    "a command that sends requests": ["issues", "get", "DEMO-1"],
    "an argument too few": ["op", "describe"],
    "an argument too many": ["op", "describe", "getIssue", "getIssue"],
    "a group": ["op"],
    "no word at all": [],
    "a word that is no command": ["opp", "describe", "getIssue"],
    "an argument of some words": ["completion", "bash"],
    "standard input": ["convert", "-"],
}


@pytest.mark.parametrize("line", LEFT_TO_CLICK.values(), ids=LEFT_TO_CLICK)
def test_any_other_line_is_read_by_click(line: list[str], environ: dict[str, str]) -> None:
    context = Context("suite", environ)
    assert read_plain_line(context, line) is None
    context.close()


@pytest.mark.parametrize(
    "line", [["op", "describe", "getIssue"], ["op", "search", "sprint"], ["version"]], ids=" ".join
)
def test_a_plain_line_loads_no_click(line: list[str], environ: dict[str, str]) -> None:
    program = "import sys; from callsheet.cli.main import run; run('suite', sys.argv[1:]); print(*sys.modules)"
    assert called(environ, *line)[0] == 0  # which compiles the definitions where that is still to be done
    command = [sys.executable, "-c", program, *line]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=True)
    assert "click" not in done.stdout.split()


def test_two_words_that_a_group_explains_are_left_to_click(environ: dict[str, str], tmp_path: Path) -> None:
    own = tmp_path / "definitions" / "suite"
    own.mkdir(parents=True)
    said = 'language = 2\n[extend.group.op.instead]\n"describe it" = ["op search WORD"]\n'
    (own / "own.toml").write_text(said, encoding="utf-8")
    code, _, err = called({**environ, "CALLSHEET_CACHE": str(tmp_path / "cache")}, "op", "describe", "it")
    assert (code, "did you mean `suite op search WORD`?" in err) == (2, True), err


def test_what_is_wrong_in_a_plain_line_is_said_as_in_any_other(environ: dict[str, str]) -> None:
    plain, by_click = (called(environ, "op", "describe", "getIsue", *more) for more in ([], ["--no-color"]))
    assert plain == by_click
    assert plain[0] == 2
    assert "did you mean getIssue" in plain[2]


def test_ctrl_c_in_a_plain_line_ends_the_line_of_the_terminal(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("callsheet.cli.builtin.operations.print_description", interrupted)
    assert called(environ, "op", "describe", "getIssue") == (130, "", "\n")


def test_a_plain_line_with_broken_definitions_says_so(tmp_path: Path, environ: dict[str, str]) -> None:
    own = tmp_path / "definitions" / "suite"
    own.mkdir(parents=True)
    (own / "own.toml").write_text("[view.mine]\ncolums = []\n", encoding="utf-8")
    code, out, err = called(environ, "op", "describe", "getIssue")
    assert (code, out) == (DefinitionError.exit_code, "")
    assert "own.toml:2" in err
