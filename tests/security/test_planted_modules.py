"""Files of the current directory are never taken for modules by a Python that is started, whatever they are called."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from callsheet.installation import own_command
from callsheet.listener.handlers.python_handler import PythonProcesses
from callsheet.programs.installed import _shell_script
from support.cases import environment
from support.places import ROOT
from support.sampled import sampled
from support.waiting import PATIENCE

INSTALLED = {name.partition(".")[0] for name in os.listdir(sysconfig.get_path("purelib"))}
NAMES = sorted(
    {*sys.stdlib_module_names, *filter(str.isidentifier, INSTALLED), "callsheet", "conftest"} - {"__future__"}
)
STARTS = re.compile(r"\[\s*sys\.executable,\s*([^,\]]+)")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A directory with a file for every module of the library and of all that is installed; each says that it ran."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\n")
    return folder


def ran(planted: Path) -> str:
    mark = planted.parent / "ran"
    return mark.read_text() if mark.exists() else ""


def run_in(planted: Path, words: list[str], tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {**environment(tmp_path / "home", ""), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, **more}
    return subprocess.run(
        words, cwd=planted, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_what_is_planted_would_be_found(planted: Path, tmp_path: Path) -> None:
    """Else this file would test nothing."""
    run_in(planted, [sys.executable, "-c", "import csv"], tmp_path)
    assert ran(planted)  # which of them depends on what Python itself imports to start


@pytest.mark.parametrize(
    "words",
    sampled(
        [
            ["version", "--check"],
            ["definitions", "check"],
            ["sandbox", "start", "--quiet"],
            ["doctor"],
            ["mcp", "list"],
        ],
        2,
    ),
    ids=" ".join,
)
def test_a_command_and_what_it_starts_take_nothing_from_the_current_directory(
    words: list[str], planted: Path, tmp_path: Path
) -> None:
    done = run_in(planted, [*own_command("suite"), *words], tmp_path)
    if words[0] == "sandbox":
        run_in(planted, [*own_command("suite"), "sandbox", "stop"], tmp_path)
        assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert ran(planted) == ""


# In one process, in the planted directory: the help of every command, and a dry run of its first example.
_ALL = """
import os, shlex, sys
from contextlib import closing
from io import StringIO
from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import run

program, some = sys.argv[1], int(sys.argv[2])
with closing(open_catalog(program, os.environ)) as catalog:
    commands = catalog.commands.all()
done = 0
for id, command in list(commands.items())[::some]:
    words = [id.split() + ["--help"]]
    if "builtin" not in command:
        words += [shlex.split(each) + ["--dry-run"] for each in command.get("examples", [])[:1]]
    for argv in words:
        out, err = StringIO(), StringIO()
        run(program, argv, stdin=StringIO(), stdout=out, stderr=err)
        assert "Traceback" not in err.getvalue(), (argv, err.getvalue())
        done += 1
print(done)
"""


@pytest.mark.parametrize(
    ("program", "some"),
    [
        ("suite", 12),
        ("callsheet", 1),
        pytest.param("suite", 1, marks=pytest.mark.slow),
        pytest.param("lms", 1, marks=pytest.mark.slow),
    ],
)
def test_every_command_takes_nothing_from_the_current_directory(
    program: str, some: int, planted: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script" / "all.py"
    script.parent.mkdir()
    script.write_text(_ALL)
    environ = {"SUITE_BASE_URL": "http://localhost:9", "SUITE_TOKEN": "only here", "SUITE_METHOD": "pat"}
    done = run_in(planted, [sys.executable, "-P", str(script), program, str(some)], tmp_path, **environ)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
    assert ran(planted) == ""


def test_a_launcher_takes_nothing_from_the_current_directory(planted: Path, tmp_path: Path) -> None:
    launcher = tmp_path / "suite"
    launcher.write_text(_shell_script("suite"))
    done = run_in(planted, ["/bin/sh", str(launcher), "version"], tmp_path)
    assert (done.returncode, ran(planted)) == (0, ""), done.stderr


def test_a_handler_finds_its_own_folder_and_not_the_current_directory(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "handlers"
    folder.mkdir()
    (folder / "mine.py").write_text("import csv, httpx\n\ndef handle(record):\n    csv.reader, httpx.Client\n")
    monkeypatch.chdir(planted)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # as where Python was started with -c

    async def handle() -> None:
        processes = PythonProcesses(
            {"call": "mine:handle", "folder": str(folder), "wants_result": False}, dict(os.environ)
        )
        try:
            await processes.run(b"{}\n", PATIENCE)
        finally:
            processes.close()

    asyncio.run(handle())
    assert ran(planted) == ""


def test_started_as_a_module_it_imports_nothing_of_its_own_from_the_current_directory(
    planted: Path, tmp_path: Path
) -> None:
    """What Python itself imports before it starts a module is out of reach; what lies there is the package's."""
    for name in (*sys.stdlib_module_names, "callsheet"):
        (planted / f"{name}.py").unlink(missing_ok=True)
    done = run_in(planted, [sys.executable, "-m", "callsheet", "suite", "version", "--check"], tmp_path)
    assert "Traceback" not in done.stderr
    assert ran(planted) == ""


def test_every_python_that_is_started_leaves_the_current_directory_out() -> None:
    """A program in a single file has nothing else on its path."""
    found = [
        (path.name, first.strip())
        for path in (ROOT / "engine").rglob("*.py")
        for first in STARTS.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 3
    assert [each for each in found if each[1] not in ('"-P"', "os.path.abspath(sys.argv[0")] == []
