"""Words of one's own for whole command lines."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from callsheet.cli.aliases import aliases_path, expand_alias
from callsheet.errors import UsageError
from support.cases import Done, environment, run_program


@pytest.mark.parametrize(
    ("line", "given", "expected"),
    [
        ("issues list --mine", ["--all"], ["issues", "list", "--mine", "--all"]),
        (
            "issues transition $1 --to 'In Progress'",
            ["A-1", "-o", "id"],
            "issues|transition|A-1|--to|In Progress|-o|id",
        ),
        ("issues link $2 blocks $1", ["A-1", "A-2"], ["issues", "link", "A-2", "blocks", "A-1"]),
        ("search --jira $@ --max 1", ["a b", "c"], ["search", "--jira", "a b", "c", "--max", "1"]),
        ("issues list --jql 'project = $1'", ["DEMO"], ["issues", "list", "--jql", "project = DEMO"]),
    ],
)
def test_arguments_take_their_places_or_come_last(line: str, given: list[str], expected: list[str] | str) -> None:
    wanted = expected.split("|") if isinstance(expected, str) else expected
    assert expand_alias({"x": line}, ["x", *given]) == wanted


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(UsageError, match="alias x needs 2 arguments"):
        expand_alias({"x": "issues link $1 blocks $2"}, ["x", "A-1"])


def test_aliases_may_use_each_other_but_not_in_circles() -> None:
    aliases = {"mine": "list --mine", "list": "issues list", "a": "b", "b": "a"}
    assert expand_alias(aliases, ["mine"]) == ["issues", "list", "--mine"]
    with pytest.raises(UsageError, match="refer to each other"):
        expand_alias(aliases, ["a"])


def test_an_alias_is_kept_used_listed_and_forgotten(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", "http://localhost:9")

    def suite(*argv: str) -> Done:
        return run_program("suite", list(argv), environ)

    assert suite("alias", "set", "mine", "issues list --mine").exit == 0
    done = suite("mine", "--project", "DEMO", "--dry-run")
    assert done.exit == 0, done.stderr
    assert b"project%20%3D%20%22DEMO%22%20AND%20assignee%20%3D%20currentUser%28%29" in done.stdout
    assert suite("alias", "ls").stdout == b"NAME  EXPANSION\nmine  issues list --mine\n"
    assert suite("alias", "rm", "mine").exit == 0
    assert suite("mine").exit == 2


@pytest.mark.parametrize(
    ("line", "typed", "sent"),
    [
        ("issues list --text a --status Done", ["--text", "b"], 'status = "Done" AND text ~ "b"'),
        ("issues list --text=a", ["--text", "b"], 'text ~ "b"'),
        ("issues list --text a", ["--text=b"], 'text ~ "b"'),
        ("issues list $@ --text a", ["--text", "b"], 'text ~ "b"'),
        ("issues list --text $1 --status Done", ["b"], 'status = "Done" AND text ~ "b"'),
        ("issues list --text a --status Done", ["--status", "Open"], 'status in ("Done", "Open") AND text ~ "a"'),
        ("issues list --text --status --type Bug", ["--status", "Open"], 'text ~ "--status"'),
    ],
)
def test_what_is_typed_holds_in_the_place_of_an_aliass_option(
    line: str, typed: list[str], sent: str, tmp_path: Path
) -> None:
    """One that takes several values gets one more."""
    environ = environment(tmp_path, "http://localhost:9")
    assert run_program("suite", ["alias", "set", "x", line], environ).exit == 0
    done = run_program("suite", ["x", *typed, "--dry-run"], environ)
    assert done.exit == 0, done.stderr
    assert sent in unquote(done.stdout.decode())


def test_what_is_typed_twice_is_refused_beside_an_alias_too(tmp_path: Path) -> None:
    environ = environment(tmp_path, "http://localhost:9")
    run_program("suite", ["alias", "set", "x", "issues list --text a"], environ)
    done = run_program("suite", ["x", "--text", "b", "--text", "c", "--dry-run"], environ)
    assert (done.exit, done.stderr) == (2, "error: --text is given twice; it takes one value\n")


def test_a_broken_file_is_told_with_its_name(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", "")
    path = Path(aliases_path(environ, "suite"))
    path.parent.mkdir(parents=True)
    path.write_text("mine = 1\n", encoding="utf-8")
    done = run_program("suite", ["alias", "list"], environ)
    assert (done.exit, done.stderr) == (2, f"error: {path}: mine: expected a text\n")
