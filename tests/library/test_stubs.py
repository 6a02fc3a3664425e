"""Types of programs: what a checker makes of them, and where they are written."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

import callsheet
from callsheet.cli.main import run
from support.imports import DOCUMENTS
from support.places import ROOT
from support.waiting import PATIENCE

HERE = Path(__file__).parent
LARGEST = 1 << 20  # bytes


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    target = tmp_path_factory.mktemp("types") / "suite-stubs"
    environ = {"CALLSHEET_HOME": str(target.parent / "home"), "CALLSHEET_CACHE": str(cache)}
    assert run("callsheet", ["stubs", "suite", "--to", str(target), "--quiet"], environ=environ) == 0
    return target


def test_the_stubs_are_python_and_fit_into_the_wheel(stubs: Path) -> None:
    text = (stubs / "callsheet_suite-stubs" / "__init__.pyi").read_text(encoding="utf-8")
    compile(text, "__init__.pyi", "exec")
    assert len(text.encode()) < LARGEST
    assert "class Suite:" in text


def test_what_is_written_twice_is_the_same_and_something_else_is_kept(
    stubs: Path, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
    before = {path: path.read_bytes() for path in stubs.rglob("*") if path.is_file()}
    assert run("callsheet", ["stubs", "suite", "--to", str(stubs)], environ=environ) == 0
    assert {path: path.read_bytes() for path in stubs.rglob("*") if path.is_file()} == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    assert run("callsheet", ["stubs", "suite", "--to", str(tmp_path / "other")], environ=environ) == 2
    assert "holds something else" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["notes.txt"]
    assert run("callsheet", ["stubs", "suite", "--to", str(tmp_path / "dry"), "--dry-run"], environ=environ) == 0
    assert not (tmp_path / "dry").exists()


def environment_of_checker(stubs: Path, folder: Path) -> Path:
    """A Python in whose environment the stubs are installed."""
    venv.create(folder / "env")
    packages = next(folder.glob("env/lib/python*/site-packages"))
    (packages / "callsheet_suite-stubs").symlink_to(stubs / "callsheet_suite-stubs")
    (packages / "paths.pth").write_text(f"{ROOT / 'engine'}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return folder / "env" / "bin" / "python"


def refused_by_mypy(python: Path, folder: Path, *files: Path) -> set[tuple[str, int]]:
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    command += ["--config-file", "", "--cache-dir", str(folder / "cache"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=folder, check=False)
    assert done.stderr == ""
    return {(name, int(line)) for name, line in re.findall(r"(\w+\.py):(\d+): error", done.stdout)}


def refused_by_pyright(python: Path, folder: Path, *files: Path) -> set[tuple[str, int]]:
    for file in files:
        shutil.copy(file, folder)
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}', encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", str(python)]
    command += [file.name for file in files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=folder, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found if each["severity"] == "error"
    }


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the environment of a checker is made of links")
@pytest.mark.parametrize("refused_by", [refused_by_mypy, refused_by_pyright])
def test_a_checker_accepts_the_examples_and_refuses_each_mistake(
    refused_by: Callable[..., set[tuple[str, int]]], stubs: Path, tmp_path: Path
) -> None:
    accepted, refused = HERE / "types_accepted.py", HERE / "types_refused.py"
    lines = refused.read_text(encoding="utf-8").splitlines()
    mistakes = {number for number, line in enumerate(lines, 1) if "# a mistake" in line}
    assert len(mistakes) >= 10
    python = environment_of_checker(stubs, tmp_path)
    assert refused_by(python, tmp_path, accepted, refused) == {(refused.name, number) for number in mistakes}


def test_a_new_program_of_ones_own_gets_its_types_and_is_a_library(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLSHEET_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CALLSHEET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    document = str(DOCUMENTS / "petshop.yaml")
    assert run("callsheet", ["new", "shop", "--from", document, "--no-launcher", "--stubs", "--quiet"]) == 0
    text = (tmp_path / "shop-stubs" / "callsheet_shop-stubs" / "__init__.pyi").read_text(encoding="utf-8")
    compile(text, "__init__.pyi", "exec")
    assert "class Shop:" in text
    assert "def listPets(self, *, " in text
    with callsheet.open("shop", dry_run=True) as shop:
        (planned,) = shop.op.listPets(tenant="a", params={"X-Trace": "1"})
        assert planned.url.startswith("https://pets.example.org/v2/api/pets")
        (same,) = shop.pets.list(tenant="a", x_trace="1")
        assert same.url == planned.url
