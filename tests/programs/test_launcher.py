"""Launchers: where they go, what they start, and whose files stay as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from callsheet.errors import UsageError
from callsheet.programs.installed import (
    find_launcher,
    find_launchers,
    launcher_directory,
    launcher_path,
    look_up,
    remove_launchers,
    started_program,
    write_launcher,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="scripts of POSIX")


def environ(tmp_path: Path, *path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "me"), "PATH": os.pathsep.join(map(str, path))}


@pytest.mark.slow
@posix
def test_a_launcher_starts_its_program_wherever_it_is_called(tmp_path: Path) -> None:
    directory = tmp_path / "with space's"
    launcher = write_launcher("lms", str(directory), environ(tmp_path, directory))
    assert (launcher.on_path, launcher.hidden_by) == (True, None)
    (tmp_path / "callsheet").mkdir()
    (tmp_path / "callsheet" / "__init__.py").write_text("raise SystemExit('somebody else')")
    copy = tmp_path / "anything"
    copy.write_bytes(Path(launcher.path).read_bytes())
    copy.chmod(0o755)
    for path in (launcher.path, str(copy)):
        home = {**os.environ, "CALLSHEET_HOME": str(tmp_path / "home")}
        done = subprocess.run([path, "version"], cwd=tmp_path, env=home, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout[:4], done.stderr) == (0, "lms ", "")


@posix
def test_it_goes_where_a_person_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, beside = tmp_path / "me" / ".local" / "bin", tmp_path / "venv" / "bin"
    for each in (usual, beside):
        each.mkdir(parents=True)
    monkeypatch.setattr("sys.argv", [str(beside / "callsheet")])
    assert launcher_directory(environ(tmp_path, usual, beside), None) == str(usual)
    assert launcher_directory(environ(tmp_path, beside), None) == str(beside)
    assert launcher_directory(environ(tmp_path), None) == str(usual)
    assert launcher_directory({**environ(tmp_path), "CALLSHEET_BIN": "/x"}, None) == "/x"
    assert launcher_directory({**environ(tmp_path), "CALLSHEET_BIN": "/x"}, "/y") == "/y"
    beside.chmod(0o777)
    assert launcher_directory(environ(tmp_path, beside), None) == str(usual)


@posix
@pytest.mark.parametrize("content", ["#!/bin/sh\necho mine\n", "", "#!/bin/sh\n# callsheet launcher: other\n"])
def test_a_foreign_file_stays_as_it_is(content: str, tmp_path: Path) -> None:
    path = tmp_path / "shop"
    path.write_text(content)
    with pytest.raises(UsageError, match="is another program"):
        write_launcher("shop", str(tmp_path), environ(tmp_path, tmp_path))
    assert find_launchers("shop", environ(tmp_path, tmp_path), [str(path)]) == []
    assert path.read_text() == content


@posix
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    write_launcher("shop", str(tmp_path / "real"), {})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "shop").symlink_to(tmp_path / "real" / "shop")
    with pytest.raises(UsageError, match="is another program"):
        write_launcher("shop", str(tmp_path / "bin"), {})
    assert find_launcher("shop", environ(tmp_path, tmp_path / "bin")) is None


@posix
def test_one_that_another_program_hides_is_told(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    (first / "shop").write_text("#!/bin/sh\n")
    (first / "shop").chmod(0o755)
    found = write_launcher("shop", str(tmp_path / "bin"), environ(tmp_path, first, tmp_path / "bin"))
    assert found.hidden_by == str(first / "shop")
    assert look_up("shop", str(tmp_path / "bin"), environ(tmp_path)).on_path is False


@posix
def test_it_can_be_written_again_found_and_removed(tmp_path: Path) -> None:
    where = environ(tmp_path, tmp_path / "bin")
    for _ in range(2):
        write_launcher("shop", str(tmp_path / "bin"), where)
    path = launcher_path("shop", str(tmp_path / "bin"))
    assert (started_program(path), find_launcher("shop", where)) == ("shop", path)
    remove_launchers(find_launchers("shop", where))
    assert find_launcher("shop", where) is None


def test_windows_gets_a_batch_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callsheet.programs.installed.sys.platform", "win32")
    monkeypatch.setattr("callsheet.programs.installed.sys.executable", "C:\\100% py\\python.exe")
    launcher = write_launcher("shop", str(tmp_path), {})
    text = Path(launcher.path).read_bytes().decode()
    assert launcher.path.endswith("shop.cmd")
    assert text.startswith('@echo off\r\nrem callsheet launcher: shop\r\n"C:\\100%% py\\python.exe" -P -c ')
    assert text.endswith(" %*\r\n")
    assert started_program(launcher.path) == "shop"
