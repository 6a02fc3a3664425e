"""What the entry points do with calls that go wrong before any command runs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from callsheet.cli.main import run
from support.cases import environment, run_program
from support.programs import small_program
from support.waiting import PATIENCE, at_most


def called(tmp_path: Path, *argv: str, program: str = "suite") -> tuple[int, str, str]:
    done = run_program(program, list(argv), environment(tmp_path / "home", "http://127.0.0.1:9"))
    return done.exit, done.stdout.decode(), done.stderr


@pytest.mark.parametrize("argv", [[], ["op"]], ids=["program", "group"])
def test_without_a_command_the_help_page_is_shown_and_nothing_is_called_an_error(
    argv: list[str], tmp_path: Path
) -> None:
    code, out, err = called(tmp_path, *argv)
    assert (code, out) == (2, "")
    assert err.startswith(" ".join(["Usage: suite", *argv]))
    assert "error:" not in err


@pytest.mark.parametrize(
    ("argv", "missing"),
    [
        (["op", "describe"], "OPERATION"),
        (["op", "call"], "OPERATION"),
        (["op", "skeleton"], "OPERATION"),
        (["op", "search"], "TEXT..."),
        (["api"], "PATH"),
        (["api", "GET"], "PATH"),
        (["completion"], "SHELL"),
        (["definitions", "import", "--product", "shop"], "SPEC"),
    ],
    ids=" ".join,
)
def test_a_missing_argument_is_named(argv: list[str], missing: str, tmp_path: Path) -> None:
    code, _, err = called(tmp_path, *argv)
    assert code == 2
    message, hint, *_ = err.split("\n")
    assert message == f"error: missing argument '{missing}'"
    assert hint.startswith((f"hint: such as `suite {argv[0]}", f"hint: see suite {argv[0]}"))


def python(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **environment(tmp_path / "home", "")}
    return subprocess.run([sys.executable, *arguments], env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [[], ["--help"]], ids=" ".join)
def test_the_module_wants_the_name_of_a_program(arguments: list[str], tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "callsheet", *arguments)
    assert (done.returncode, done.stderr) == (1, "usage: python -m callsheet PROGRAM ...\n")


@pytest.mark.parametrize("name", ["nothing", "../suite", "common", "", ".", "suite/commands"])
def test_what_is_not_a_program_is_refused(name: str, tmp_path: Path) -> None:
    streams = io.StringIO(), io.StringIO(), io.StringIO()
    code = run(
        name,
        ["version"],
        environ={"CALLSHEET_HOME": str(tmp_path)},
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
    )
    assert (code, streams[1].getvalue()) == (2, "")
    assert streams[2].getvalue().startswith(f"error: there is no program {name!r}")


BREAK = """
import sys
from callsheet.cli import main
main.run_command = lambda *_: 1 / 0
sys.argv[0] = "suite"
main.main()
"""


def test_a_fault_of_the_program_is_one_line_and_a_traceback_only_for_those_who_ask(tmp_path: Path) -> None:
    quiet, verbose = python(tmp_path, "-c", BREAK, "version"), python(tmp_path, "-c", BREAK, "version", "-v")
    assert quiet.returncode == verbose.returncode == 1
    assert quiet.stderr.startswith("error: unexpected ZeroDivisionError in ")
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in verbose.stderr


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The definitions of a small program."""
    return small_program(tmp_path / "home")


def test_a_link_to_nothing_among_the_definitions_is_named(shop: Path, tmp_path: Path) -> None:
    link = shop / "mine.toml"
    link.symlink_to(tmp_path / "gone.toml")
    code, _, err = called(tmp_path, "--help", program="shop")
    assert code == 0
    assert f"{link}: No such file or directory" in err


def test_what_is_no_file_is_not_waited_for(shop: Path, tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    os.mkfifo(shop / "mine.toml")
    with at_most(PATIENCE):
        code, _, err = called(tmp_path, "--help", program="shop")
    assert code == 0
    assert "mine.toml: not a file" in err


def test_a_byte_order_mark_does_no_harm(shop: Path, tmp_path: Path) -> None:
    (shop / "mine.toml").write_text('\ufeff[view.mine]\nid = "id"\ncolumns = []\n', encoding="utf-8")
    assert called(tmp_path, "definitions", "show", "view", "mine", program="shop")[0] == 0
    (shop / "mine.toml").write_text('\ufeff[view.mine]\nid = "id"\ncolums = []\n', encoding="utf-8")
    assert "mine.toml:3: view" in called(tmp_path, "--help", program="shop")[2]


def test_a_page_of_documentation_that_cannot_be_made_is_told(shop: Path, tmp_path: Path) -> None:
    product = '[product.things]\ntitle = "Things"\ndocs = "{slug(nothing)}"\n'
    operation = '[operation.getThing]\nproduct = "things"\nhttp = "GET /thing"\n'
    (shop / "mine.toml").write_text(product + operation, encoding="utf-8")
    code, _, err = called(tmp_path, "--help", program="shop")
    assert code == 0
    assert 'product "things": docs: ' in err
    assert "'nothing' is not known here" in err


def test_many_problems_are_cut_short(shop: Path, tmp_path: Path) -> None:
    operations = (f'[operation.get{n}]\nproduct = "gone"\nhttp = "GET /{n}"\n' for n in range(200))
    (shop / "mine.toml").write_text("".join(operations), encoding="utf-8")
    code, _, err = called(tmp_path, "--help", program="shop")
    assert code == 0
    assert len(err.splitlines()) < 30
    assert "more" in err.splitlines()[-1]


def test_directories_named_by_the_environment_must_be_there(tmp_path: Path) -> None:
    environ = {**environment(tmp_path / "home", ""), "SUITE_DEFINITIONS": str(tmp_path / "gone")}
    done = run_program("suite", ["--help"], environ)
    assert done.stderr == f"warning: SUITE_DEFINITIONS: no directory of definitions at {tmp_path / 'gone'}\n"


INTERRUPTED = """
import builtins
true = builtins.__import__
def interrupted(name, *rest):
    if name == "sqlite3":
        raise KeyboardInterrupt
    return true(name, *rest)
builtins.__import__ = interrupted
from callsheet.cli.entry import main
main()
"""


def test_an_interruption_while_the_program_is_loaded_is_quiet_too(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", INTERRUPTED)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full here")
@pytest.mark.parametrize("argv", [["--help"], ["op", "describe", "getIssue"], ["op", "list"]], ids=" ".join)
def test_a_full_disk_is_told_in_one_line(argv: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "callsheet", "suite", *argv]
    environ = {**os.environ, **environment(tmp_path / "home", "")}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, env=environ, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr in (
        "error: No space left on device\n",
        "error: cannot write the result: No space left on device\n",
    )


def test_a_body_keeps_its_bytes_in_a_locale_that_does_not_know_them(tmp_path: Path) -> None:
    environ = {**environment(tmp_path, "http://127.0.0.1:9"), "LC_ALL": "C", "PATH": os.environ["PATH"]}
    body = '{"fields": {"summary": "Ä 漢字"}}'.encode()
    command = [
        sys.executable.encode(),
        *b"-X utf8=0 -m callsheet suite api POST /rest/api/3/issue --dry-run -d".split(),
        body,
    ]
    done = subprocess.run(command, env={**environ, "PYTHONCOERCECLOCALE": "0"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Ä 漢字".encode() in done.stdout
