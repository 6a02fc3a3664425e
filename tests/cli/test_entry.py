"""A program starts whatever the file is called that starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from callsheet.cli import entry
from callsheet.cli.main import _called_by
from support.places import ROOT

START = "import sys; from callsheet.cli.entry import {entry}; sys.argv[0] = {name!r}; {entry}()"


@pytest.mark.parametrize(
    ("name", "function", "program"),
    [
        ("suite", "main", "suite"),
        ("suite.exe", "main", "suite"),
        ("/opt/suite.pyz", "main", "suite"),
        ("lms-0.1.pyz", "lms", "lms"),
        ("tracker", "suite", "suite"),
        ("/usr/local/bin/x.cmd", "suite", "suite"),
    ],
)
def test_the_file_may_have_any_name(name: str, function: str, program: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", START.format(entry=function, name=name), "version"]
    environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path)}
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
        entry._nothing  # noqa: B018
