"""Command lines that a parser would take in silence, and what a person may write besides."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import environment, run_program

WRONG = [
    (["issues", "list", "--jql", "a", "--jql", "b"], "--jql is given twice; it takes one value"),
    (["issues", "get", "A-1", "-o", "json", "-o", "csv"], "--output is given twice; it takes one value"),
    (["-o", "json", "issues", "get", "A-1", "-o", "csv"], "--output is given twice: json and csv"),
    (["requests", "comment", "A-1", "one", "--body", "two"], "TEXT|@FILE|- is given twice, once with --body"),
    (["pages", "list", "--space", "A", "--space=B"], "--space is given twice; it takes one value"),
    (["issues", "get", "A-1", "B 2"], "unexpected argument 'B 2'"),
    (["issues", "comment", "A-1", "h\udce9"], "--body: not valid UTF-8"),
    (["issues", "edit", "A-1", "--label", "a,h\udce9"], "--label: not valid UTF-8"),
    (["issues", "log-work", "A-1"], "missing --time DURATION"),
    (["issues", "assign", "A-1", "A-2", "x y", "--to", "me"], "'x y' is not a valid issue"),
    (
        ["issues", "edit", "--silent", "-s", "x"],
        "no issues: pass keys, - to read them from standard input, or --jql",
    ),
    (["issues", "edit", "A-1", "--jql", "x", "-s", "x"], "keys and --jql cannot be used together"),
    (["issues", "list", "--mine=maybe"], "--mine takes true or false, not 'maybe'"),
    (["issues", "get", "A-1", "--feilds", "x"], "no such option --feilds, did you mean '--fields'?"),
    (["issues", "list", "--mine", "--max", "ten"], "--max: 'ten' is not a valid integer"),
    (["--timeout", "soon", "issues", "list"], "--timeout: 'soon' is not a duration"),
    (["--rps", "x", "issues", "list"], "--rps: 'x' is not a number"),
    (["issues", "get", "A-1", "--yse"], "no such option --yse"),
    (["issues", "get", "A-1", "--yes-please"], "no such option --yes-please"),
    (["issues", "comments", "A-1", "--to", "x"], "no such option --to"),
    (["requests", "list", "--status", "opne"], "unknown value 'opne', did you mean 'open'?"),
    (["boards", "list", "--type", "scrum,kanbn"], "unknown value 'kanbn', did you mean 'kanban'?"),
]

ELSEWHERE = [
    (
        ["issues", "create", "--project", "A", "--type", "B", "--summary=x"],
        "`suite issues new` takes --project, --type and --summary",
    ),
    (["page", "create", "--space", "A", "--yes", "--body", "x"], "`suite page new` takes --space and --body"),
    (
        ["issue", "create", "-tBug", "-sx", "-p", "A"],
        "`suite issue new` takes -t, -s and -p",
    ),
    (["issue", "create", "-t", "Bug", "--order", "-1"], "see suite issue create --help"),
    (["issue", "edit", "A-1", "--to", "Done"], "`suite issue assign` or `suite issue transition` takes --to"),
    (["issues", "transition", "A-1", "--status", "Done"], "did you mean `suite issues transition KEY STATUS`?"),
    (["issues", "list", "--plain"], "did you mean `--no-headers` or `--output csv`?"),
    (["issues", "list", "-L5"], "did you mean `--max N`?"),
    (["issues", "get", "A-1", "-L", "5"], "see suite issues get --help"),
    (["pages", "new", "-F", "page.md"], "did you mean `--body @FILE`?"),
    (["issues", "new", "--body-file=page.md"], "did you mean `--body @FILE` or `--description @FILE`?"),
    (["issues", "link", "A-1", "A-2", "Blocks"], "did you mean `issues link A-1 Blocks A-2`?"),
    (["issues", "watch", "A-1", "me"], "--who names the watcher (default: you)"),
    (["issues", "--json", "list"], "did you mean `--output json`?"),
    (["issues", "create", "--sumary", "x"], "see suite issues create --help"),
    (["--plain"], "did you mean `--no-headers` or `--output csv`?"),
]


FURTHER_DOWN = [
    (["me"], "did you mean `suite users me`?"),
    (["comment", "A-1", "x"], "did you mean `suite issues comment`, `suite requests comment`?"),
    (["view"], "did you mean `suite issues get KEY`, `suite pages get PAGE`?"),
    (["children"], "did you mean `suite pages children`?"),
    (["issues", "comment", "add", "A-1", "x"], "did you mean `suite issues comment KEY TEXT`?"),
    (["attach"], "did you mean `suite issues attach`, `suite pages attach`?"),
]


@pytest.mark.parametrize(
    ("argv", "hint"), ELSEWHERE + FURTHER_DOWN, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_an_option_of_another_command_names_it(argv: list[str], hint: str, tmp_path: Path) -> None:
    done = run_program("suite", argv, environment(tmp_path / "home", "http://localhost:9"))
    assert (done.exit, done.stdout) == (2, b"")
    assert f"hint: {hint}\n" in done.stderr


def test_a_short_name_of_the_program_is_suggested(tmp_path: Path) -> None:
    done = run_program("lms", ["listn"], environment(tmp_path / "home", "http://localhost:9"))
    assert (done.exit, "did you mean `lms listen`?" in done.stderr) == (2, True)


@pytest.mark.parametrize(("argv", "told"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_line_that_is_not_clear_is_refused(argv: list[str], told: str, tmp_path: Path) -> None:
    done = run_program("suite", argv, environment(tmp_path / "home", "http://localhost:9"))
    first = done.stderr.splitlines()[0]
    assert (done.exit, done.stdout) == (2, b"")
    assert told in first
    assert ("did you mean" in first) == ("did you mean" in told)


SAME = [
    (["issues", "-o", "json", "list", "--mine"], ["issues", "list", "--mine", "-o", "json"]),
    (["pages", "labels", "-o", "json", "add", "1", "x"], ["pages", "labels", "add", "1", "x", "-o", "json"]),
    (["pages", "labels", "-o", "json", "1"], ["pages", "labels", "list", "1", "-o", "json"]),
    (["issues", "list", "--mine=true", "--status", "a,b"], ["issues", "list", "--mine", "-s", "a", "-s", "b"]),
    (["issues", "list", "--jql", "x", "--mine=false"], ["issues", "list", "--jql", "x"]),
    (["issues", "edit", "A-1", "--label", r"a\,b"], ["issues", "edit", "A-1", "-l", r"a\,b"]),
    (["op", "call", "--strict", "getFields"], ["op", "call", "getFields"]),
    (["op", "call", "getFields", "--strict=false"], ["op", "call", "getFields", "--no-strict"]),
    (["issues", "log-work", "A-1", "1h", "--started", "2026-01-31"],
     ["issues", "log-work", "A-1", "--time", "1h", "--started", "2026-01-31"]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME, ids=" ".join)
def test_two_ways_to_write_the_same(one: list[str], other: list[str], tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", "http://localhost:9")
    first, second = (run_program("suite", [*argv, "--dry-run"], environ) for argv in (one, other))
    assert first.exit == 0, first.stderr
    assert first.stdout.startswith(b"curl ")
    assert first == second


def test_a_default_board_is_no_option_that_was_given(tmp_path: Path) -> None:
    environ = {name: value for name, value in environment(tmp_path / "home", "").items() if "BASE_URL" not in name}
    site = {"base_url": "http://localhost:9", "method": "none", "deployment": "cloud", "board": "1"}
    for key, value in site.items():
        assert run_program("suite", ["config", "set", f"sites.work.{key}", value], environ).exit == 0
    argv = ["--site", "work", "issues", "list", "--project", "DEMO", "--dry-run"]
    listed, with_board = (run_program("suite", [*argv, *more], environ) for more in ([], ["--board", "2"]))
    assert (listed.exit, listed.stderr) == (0, "")
    assert (with_board.exit, "--board goes with --sprint next" in with_board.stderr) == (2, True)
