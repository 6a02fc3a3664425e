"""`op` and `api` from the command line to the socket and back; the cases are `cases/op`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cases import environment, load_cases, run_case, run_program
from support.fakes import Definitions
from support.places import CASES
from support.sampled import sampled
from support.server import exchange, reply, serve

OP_CASES = CASES / "op"


@pytest.mark.parametrize("case", sampled(load_cases(OP_CASES), 2))
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    run_case(case, tmp_path)


def offline(tmp_path: Path, *argv: str) -> tuple[int, str, str]:
    done = run_program("suite", list(argv), environment(tmp_path / "home", "http://127.0.0.1:9"))
    return done.exit, done.stdout.decode(), done.stderr


def test_all_operations_are_listed(tmp_path: Path) -> None:
    code, out, err = offline(tmp_path, "op", "list", "-o", "id")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == len(set(out.splitlines())) == 1143


def test_every_operation_can_be_described(tmp_path: Path) -> None:
    """In one process, since a description is asked for by id only."""
    import io

    from callsheet.cli.builtin.operations import describe_operation
    from callsheet.commands.context import Context
    from callsheet.commands.streams import Streams

    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    context = Context("suite", environment(tmp_path / "home", ""), streams)
    for id in context.catalog.operations.ids():
        text = describe_operation(context, id, context.catalog.operations.get(id))
        assert text.splitlines()[-1].startswith(f"  suite op call {id}")
        assert f"\n\n{context.catalog.operations.get(id)['http']}\n" in text
    context.close()


def test_skeletons_are_json_that_the_operation_accepts(tmp_path: Path) -> None:
    code, out, _ = offline(tmp_path, "op", "skeleton", "createIssue")
    assert code == 0
    (tmp_path / "body.json").write_text(out, encoding="utf-8")
    code, out, err = offline(tmp_path, "op", "call", "createIssue", "-d", f"@{tmp_path / 'body.json'}", "--dry-run")
    assert (code, err) == (0, "")
    assert out.startswith("curl -X POST http://127.0.0.1:9/rest/api/3/issue ")


@pytest.mark.slow
def test_the_example_of_every_operation_runs_when_it_is_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one run of the program, as most of the time goes into starting one."""
    import io
    import shlex

    import click

    from callsheet.cli.builtin.operations import example_line
    from callsheet.cli.invoke import run_command
    from callsheet.cli.tree import root_group
    from callsheet.commands.context import Context
    from callsheet.commands.streams import Streams
    from callsheet.errors import CallsheetError

    monkeypatch.chdir(tmp_path)
    for name in ("example.txt", "example.bin", "example.png"):
        (tmp_path / name).write_bytes(b"x")
    environ = environment(tmp_path / "home", "http://127.0.0.1:9")
    out = io.StringIO()
    context = Context("suite", environ, Streams(io.StringIO(), out, io.StringIO()))
    group = root_group(context, run_command)
    examples = {
        id: example_line(context, id, found)
        for id, found in context.catalog.operations.all().items()
        if not found.get("hidden")
    }
    assert len(examples) == 1143
    failed = {}
    for id, line in examples.items():
        program, *argv = shlex.split(line)
        out.seek(out.truncate(0))
        problem = "" if program == "suite" else "another program"
        try:
            group.main([*argv, "--dry-run"], prog_name=program, standalone_mode=False, obj=context)
        except (CallsheetError, click.ClickException) as error:
            problem = str(error)
        if problem or not out.getvalue().startswith("curl "):
            failed[id] = line, problem
    context.close()
    assert failed == {}


def test_hints_name_the_program_that_is_running(tmp_path: Path, cache: Path) -> None:
    environ = {"CALLSHEET_HOME": str(tmp_path / "home"), "CALLSHEET_CACHE": str(cache)}
    assert "`suite init`" in run_program("suite", ["op", "call", "getCurrentUser"], environ).stderr
    assert "`suite init`" in run_program("suite", ["doctor"], environ).stdout.decode()
    assert "`lms webhook events`" in run_program("lms", ["webhook", "trigger", "grade_chang"], environ).stderr


@pytest.mark.parametrize(
    ("id", "argument"),
    [
        ("getIssue", "--param issueIdOrKey=DEMO-1"),
        ("createIssue", '"project": {"key": "DEMO"}'),
        ("setIssueProperty", '-d \'{"key": "value"}\''),
        ("createProjectAvatar", "--param projectIdOrKey=DEMO --file example.png"),
        ("addAttachment", "--file file=example.txt"),
        ("getAllSprints", "--param boardId=1"),
    ],
)
def test_examples_are_of_the_kind_that_is_meant(id: str, argument: str, tmp_path: Path) -> None:
    assert argument in offline(tmp_path, "op", "describe", id)[1].splitlines()[-1]


def test_a_description_is_filtered_like_any_result(tmp_path: Path) -> None:
    assert offline(tmp_path, "op", "describe", "getIssue", "--jq", ".http") == (
        0,
        "GET /rest/api/3/issue/{issueIdOrKey}\n",
        "",
    )
    assert offline(tmp_path, "op", "describe", "getIssue", "-o", "id") == (0, "getIssue\n", "")
    assert offline(tmp_path, "op", "describe", "getIssue", "--query", "product")[1] == "jira\n"
    assert "default: false" in offline(tmp_path, "op", "describe", "getIssue")[1]


def test_a_description_is_wrapped_for_a_terminal() -> None:
    from callsheet.cli.builtin.operations import describe_operation

    class Fake:
        program = "suite"

        catalog = Definitions('product.shop.title = "Shop"')

    operation = {
        "product": "shop",
        "title": "Get",
        "http": "GET /x",
        "params": [{"name": "a", "help": "one two three four five six seven"}],
    }
    lines = describe_operation(Fake(), "x", operation, 44).splitlines()  # type: ignore[arg-type]
    assert max(map(len, lines)) <= 44
    assert "  a  query  string  one two three four five" in lines
    assert "                    six seven" in lines


def test_a_skeleton_comes_in_the_format_that_is_asked_for(tmp_path: Path) -> None:
    assert offline(tmp_path, "op", "skeleton", "addWatcher", "-o", "yaml")[1] == "string\n"
    assert offline(tmp_path, "op", "skeleton", "createIssue", "--jq", "keys|length")[1] == "5\n"
    assert offline(tmp_path, "op", "skeleton", "createIssue")[1].startswith('{\n  "fields": {')


@pytest.mark.parametrize("command", [["op", "list"], ["op", "search", "sprint"]], ids=" ".join)
def test_lists_of_operations_can_be_cut(command: list[str], tmp_path: Path) -> None:
    assert len(offline(tmp_path, *command, "--max", "2", "-o", "id")[1].splitlines()) == 2
    code, _, err = offline(tmp_path, *command, "--max", "0")
    assert (code, err) == (2, "error: --max expects a number of at least 1, not 0\n")


def test_the_version_comes_in_every_format(tmp_path: Path) -> None:
    assert offline(tmp_path, "version")[1].startswith("suite ")
    assert offline(tmp_path, "version", "--jq", ".program")[1] == "suite\n"
    assert offline(tmp_path, "version", "-o", "yaml")[1].startswith("program: suite\n")
    assert offline(tmp_path, "version", "--json")[1] == offline(tmp_path, "version", "-o", "json")[1]


def test_a_reader_of_a_download_that_has_enough_is_no_failure(tmp_path: Path) -> None:
    script = [exchange("GET", "/rest/api/3/attachment/content/1", reply(body=b"x" * 4_000_000))]
    with serve(script, trusted=True) as server:
        environ = {**os.environ, **environment(tmp_path / "home", server.url)}
        command = [sys.executable, "-m", "callsheet", "suite", "op", "call", "getAttachmentContent", "--param", "id=1"]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.read(10) == b"x" * 10
            process.stdout.close()
            told = process.stderr.read()
    assert (process.returncode, told) == (0, b"")
