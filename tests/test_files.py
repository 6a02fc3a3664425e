"""Writing in one step, and one writer at a time, whatever happens in between."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from callsheet.errors import CallsheetError
from callsheet.files import (
    changeable_by_others,
    entry_changeable,
    is_shared_with_others,
    locked_file,
    make_private_directory,
    write_atomically,
)

# A program that is killed right before one of the steps of a writing.
KILLED = """
import os, signal, sys
from callsheet.files import write_atomically
step, path = sys.argv[1:]
def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if step == "write":
    real = os.fdopen
    def fdopen(*a, **k):
        file = real(*a, **k)
        file.write(b"ne")
        file.flush()
        killed()
    os.fdopen = fdopen
else:
    setattr(os, step, killed)
write_atomically(path, b"new")
"""


@pytest.mark.parametrize("step", ["open", "write", "fsync", "replace"])
def test_a_crash_at_any_step_leaves_the_old_content(tmp_path: Path, step: str) -> None:
    path = tmp_path / "file"
    write_atomically(str(path), b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, step, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert all(stat.S_IMODE(left.stat().st_mode) == 0o600 for left in tmp_path.iterdir())
    write_atomically(str(path), b"newer")
    assert path.read_bytes() == b"newer"


def test_a_failed_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    write_atomically(str(path), b"old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CallsheetError, match="No space left on device"):
        write_atomically(str(path), b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "profiles.toml"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "profiles.toml"
    link.symlink_to(target)
    write_atomically(str(link), b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_atomically(str(tmp_path / "deep" / "file"), b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "deep" / "file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700


def test_a_lock_that_is_never_given_back_is_an_error(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    with (
        locked_file(path),
        pytest.raises(CallsheetError, match="another process has been changing"),
        locked_file(path, 0.1),
    ):
        pass


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    code = (
        "import os, sys; from callsheet.files import locked_file\n"
        "with locked_file(sys.argv[1]): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, path], check=False)
    with locked_file(path, 0.1):
        pass


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
@pytest.mark.parametrize(
    ("owner", "group", "mode", "me", "is_shared"),
    [
        (0, 0, 0o440, 1000, False),  # by a list of rights, as systemd gives a service its credentials
        (0, 0, 0o440, 0, True),
        (0, 0, 0o444, 1000, True),
        (0, 0, 0o460, 1000, True),
        (0, 5, 0o440, 1000, True),
        (1000, 0, 0o440, 1000, True),
        (1000, 1000, 0o400, 1000, False),
    ],
)
def test_who_else_may_use_a_file_with_a_secret(
    owner: int, group: int, mode: int, me: int, is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: me)
    status = os.stat_result((mode | stat.S_IFREG, 0, 0, 1, owner, group, 0, 0, 0, 0))
    assert is_shared_with_others(status) is is_shared


@pytest.mark.skipif(os.name == "nt", reason="groups of POSIX")
@pytest.mark.parametrize(
    ("name", "number", "members", "is_own"),
    [
        ("robin", 1000, [], True),
        ("robin", 1000, ["robin"], True),
        ("robin", 1000, ["robin", "kim"], False),
        ("robin", 1001, [], False),
        ("staff", 1000, [], False),
    ],
)
def test_a_group_is_ones_own_where_nobody_else_is_in_it(
    name: str, number: int, members: list[str], is_own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grp
    import pwd

    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_gid=1000, pw_name="robin"))
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name=name, gr_mem=members))
    path = tmp_path / "file"
    path.write_text("content")
    status = os.stat_result((0o660 | stat.S_IFREG, 0, 0, 1, os.geteuid(), number, 0, 0, 0, 0))
    stat_of = os.stat
    monkeypatch.setattr(os, "stat", lambda each, **more: status if each == str(path) else stat_of(each, **more))
    assert (entry_changeable(str(path)) is None) is is_own


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_what_a_link_leads_to_is_looked_at_with_all_above_it(tmp_path: Path) -> None:
    there = tmp_path / "there" / "own"
    make_private_directory(str(there))
    (there / "file").write_text("content")
    (there / "file").chmod(0o600)
    here = tmp_path / "here"
    here.mkdir(mode=0o700)
    (here / "link").symlink_to(there / "file")
    assert changeable_by_others(str(here / "link")) is None
    there.parent.chmod(0o777)
    doubt = changeable_by_others(str(here / "link"))
    assert doubt is not None
    assert doubt.path == str(there.parent)
