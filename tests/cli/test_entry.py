"""A program starts whatever the file is called that starts it."""

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
import sys
import tomllib
import zipapp
from pathlib import Path

import pytest

from callsheet.cli import entry
from callsheet.cli.main import _called_by, run
from callsheet.installation import own_command
from support.places import ROOT

START = "import sys; from callsheet.cli.entry import {entry}; sys.argv[0] = {name!r}; {entry}()"


@pytest.mark.parametrize(
    ("name", "function", "program"),
    [
        ("suite", "main", "suite"),
        ("suite.exe", "main", "suite"),
        ("/opt/suite.pyz", "main", "suite"),
        ("suite-linux-x86_64.pyz", "main", "suite"),
        ("lms_0.1.pyz", "main", "lms"),
        ("lms-0.1.pyz", "lms", "lms"),
        ("tracker", "suite", "suite"),
        ("/usr/local/bin/x.cmd", "suite", "suite"),
    ],
)
def test_the_file_may_have_any_name(name: str, function: str, program: str, tmp_path: Path, cache: Path) -> None:
    command = [sys.executable, "-c", START.format(entry=function, name=name), "version"]
    environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{program} ")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_is_the_program_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "suite.pyz").touch()
    (tmp_path / "tracker").symlink_to(tmp_path / "suite.pyz")
    assert _called_by(str(tmp_path / "tracker")) == "suite"
    assert _called_by(str(tmp_path / "other")) == "other"


def test_every_console_script_names_its_program() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts == {name: f"callsheet.cli.entry:{name}" for name in scripts}
    assert {"suite", "lms"} <= scripts.keys()
    with pytest.raises(AttributeError):
        entry._nothing  # noqa: B018 - looking it up is what raises


def test_a_program_in_one_file_starts_itself_again_under_any_name(tmp_path: Path, cache: Path) -> None:
    """A zip file in which Python finds the program; nothing outside says which engine is to be started again."""
    (tmp_path / "app").mkdir()
    where = [str(ROOT / "engine"), *(path for path in sys.path if "site-packages" in path)]
    again = "import json; from callsheet.installation import own_command; print(json.dumps(own_command('suite')))"
    main = f"import sys; sys.path[:0] = {where!r}\n{again}\nfrom callsheet.cli.entry import main; main()\n"
    (tmp_path / "app" / "__main__.py").write_text(main, encoding="utf-8")
    zipapp.create_archive(tmp_path / "app", tmp_path / "suite-linux-x86_64.pyz")
    (tmp_path / "callsheet").mkdir()  # what somebody has in the folder that they work in
    (tmp_path / "callsheet" / "__init__.py").write_text("raise SystemExit('the wrong package')\n", encoding="utf-8")
    command = [sys.executable, "suite-linux-x86_64.pyz"]
    for _ in range(2):
        environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
        words = [*command, "version"]
        done = subprocess.run(words, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        line, said = done.stdout.splitlines()
        assert said.startswith("suite ")
        command = json.loads(line)
    assert command == [sys.executable, str(tmp_path / "suite-linux-x86_64.pyz")]


def test_an_installed_program_starts_itself_again(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "callsheet").mkdir()
    (tmp_path / "callsheet" / "__init__.py").write_text("raise SystemExit('the wrong package')\n", encoding="utf-8")
    environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
    words = [*own_command("lms"), "version"]
    done = subprocess.run(words, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:4], done.stderr) == (0, "lms ", "")


COLLECTING = """
import gc, sys
from callsheet.cli import invoke
from callsheet.cli.entry import suite

def begin():
    print(gc.isenabled())
    original()
    print(gc.isenabled(), gc.get_freeze_count() > 0)

original, invoke.freeze_loaded = invoke.freeze_loaded, begin

sys.argv = ["suite", "version"]
suite()
"""


def test_the_collector_rests_until_the_command_begins(tmp_path: Path, cache: Path) -> None:
    """What runs for long needs it; a start does not."""
    environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
    command = [sys.executable, "-c", COLLECTING]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:2] == ["False", "True True"]


def test_who_runs_programs_in_a_process_keeps_what_can_be_collected(tmp_path: Path, cache: Path) -> None:
    """What is frozen is never collected, so each run after the first would leave its cycles behind."""
    environ = {"CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
    frozen = gc.get_freeze_count()
    assert run("suite", ["version"], environ=environ, stdout=io.StringIO()) == 0
    assert gc.isenabled()
    assert gc.get_freeze_count() <= frozen
