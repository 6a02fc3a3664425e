"""Every command of the tree as data, `cases/commands/*.toml`, and what must hold for all of them."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.language.template import evaluate
from support import published
from support.cases import environment, load_cases, nobody, run_case, run_program
from support.places import CASES, ROOT
from support.sampled import sampled

COMMAND_CASES = CASES / "commands"
SAMPLES = tomllib.loads((COMMAND_CASES.parent / "samples.toml").read_text(encoding="utf-8"))
SAFETY = {"GET": "read", "HEAD": "read", "DELETE": "destroy"}
BUILTINS = ROOT / "engine" / "callsheet" / "cli" / "builtin"
AGENTS = BUILTINS.parents[1] / "mcp"
KEYS = {"name", "argv", "on", "env", "stdin", "files", "exchange", "expect"}


@pytest.mark.parametrize("case", sampled(load_cases(COMMAND_CASES), 3))
def test_command(case: dict[str, Any], tmp_path: Path) -> None:
    """On cloud sites, what is sent fits the published documents."""
    assert set(case) <= KEYS
    done = run_case(case, tmp_path)
    if "on" not in case:
        assert [problem for request in done.requests for problem in published.problems(request)] == []


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    yield catalog
    catalog.close()


def composed(catalog: Catalog) -> dict[str, dict[str, Any]]:
    """The commands that are made of calls, not of a function of the engine."""
    return {id: command for id, command in catalog.commands.all().items() if "builtin" not in command}


def test_every_command_has_a_case_that_succeeds(catalog: Catalog) -> None:
    shown = set()
    for param in load_cases(COMMAND_CASES):
        case = param.values[0]
        if case.get("expect", {}).get("exit", 0) == 0 and "--dry-run" not in case["argv"]:
            shown.update(" ".join(case["argv"][:length]) for length in (1, 2, 3))
    assert sorted(set(composed(catalog)) - shown) == []


def test_every_command_has_an_example_and_a_view(catalog: Catalog) -> None:
    commands = composed(catalog)
    assert [id for id, command in commands.items() if not command.get("examples")] == []
    assert [id for id, command in commands.items() if "view" not in command] == []


@pytest.mark.slow
def test_every_example_works(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a dry run: each prints what it would send; what changes something shows the change, whatever it waits for."""
    monkeypatch.chdir(tmp_path)
    for name in ("notes.md", "report.md", "report.pdf", "photo.jpg", "body.md", "page.md", "diagram.png", "body.html"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    environ = environment(tmp_path / "home", "http://localhost:9")
    wrong = {}
    for command in composed(catalog).values():
        for example in command["examples"]:
            words = [word.replace("https://demo.example", "http://localhost:9") for word in shlex.split(example)]
            done = run_program("suite", [*words, "--dry-run"], environ)
            changes = command["safety"] != "read"
            if done.exit or not done.stdout.startswith(b"curl ") or (changes and b"curl -X " not in done.stdout):
                wrong[example] = done.stderr or done.stdout.decode()
    assert wrong == {}


def test_what_destroys_asks_first(catalog: Catalog, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", "http://localhost:9")
    for command in composed(catalog).values():
        if command["safety"] == "destroy":
            words = [word for word in shlex.split(command["examples"][0]) if word not in ("--yes", "-y")]
            done = run_program("suite", words, environ)
            assert (done.exit, done.stdout) == (2, b""), words
            assert "refused: not a terminal" in done.stderr
            assert "--yes" in done.stderr


def calls_of(catalog: Catalog, command: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for variant in (command, *command.get("on", {}).values()):
        for step in variant.get("step", ()):
            for each in (step, *step.get("each", {}).get("step", ())):
                if "call" in each:
                    yield catalog.operations.get(each["call"])


def test_a_command_is_as_dangerous_as_what_it_calls(catalog: Catalog) -> None:
    order = ["local", "read", "write", "destroy"]
    for id, command in composed(catalog).items():
        worst = max(
            (op.get("safety") or SAFETY.get(op["http"].split()[0], "write") for op in calls_of(catalog, command)),
            key=order.index,
        )
        undoes_itself = worst == "destroy" and command["safety"] == "write"
        assert command["safety"] == worst or undoes_itself, id


def test_a_change_that_is_answered_with_nothing_says_what_was_done(catalog: Catalog) -> None:
    for id, command in composed(catalog).items():
        last = list(calls_of(catalog, command))[-1]
        if last.get("reply") == "none" and command["safety"] != "read":
            assert "result" in command, id


def test_every_column_shows_something_of_its_sample(catalog: Catalog) -> None:
    views = {command["view"] for command in composed(catalog).values()}
    assert sorted(views - set(SAMPLES)) == []
    for name in views:
        view = catalog.views.get(name)
        for column in view["columns"]:
            assert evaluate(column["value"], SAMPLES[name]) is not None, f"{name}: {column['name']}"
        assert evaluate(view["id"], SAMPLES[name]) is not None


def test_nothing_is_defined_that_no_command_uses(catalog: Catalog) -> None:
    commands = catalog.commands.all().values()
    others = (
        each for kind in ("assignment", "operation", "resource") for each in catalog.records_of_kind(kind).values()
    )
    text = str([*commands, *others])
    # A few views belong to the engine's own commands.
    text += "".join(
        path.read_text(encoding="utf-8").replace('"', "'") for path in [*BUILTINS.glob("*.py"), *AGENTS.glob("*.py")]
    )
    for kind in ("view", "lookup", "assignment"):
        assert [id for id in catalog.ids(kind) if f"'{id}'" not in text] == []
    used = {command.get("view") for command in commands}
    assert set(SAMPLES) <= used


def test_no_deprecated_operation_is_called(catalog: Catalog) -> None:
    for id, command in composed(catalog).items():
        for step in command["step"]:
            if "call" in step:
                assert not catalog.operations.get(step["call"]).get("deprecated"), id


@pytest.mark.published
@pytest.mark.skipif(not published.SPECS.is_dir(), reason="the published documents are not here")
def test_the_judge_of_requests_sees_what_is_wrong() -> None:
    wrong = published.Received("GET", "/wiki/api/v2/pages/x?bogus=1", {}, b"")
    told = "\n".join(published.problems(wrong))
    assert "query bogus: not documented" in told
    assert "path id" in told
    assert published.problems(published.Received("GET", "/rest/api/2/field", {}, b"")) != []
