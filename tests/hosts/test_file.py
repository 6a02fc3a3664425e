"""Files of other programs: replaced in one step, with a copy of what was there, and read by nobody else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from callsheet.errors import CallsheetError
from callsheet.hosts import BACKUP, read_foreign_file


def test_a_file_is_replaced_and_what_it_was_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("old")
    read_foreign_file(str(path)).replace_text("new")
    assert (path.read_text(), Path(f"{path}{BACKUP}").read_text()) == ("new", "old")


def test_what_was_changed_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("old")
    before = read_foreign_file(str(path))
    path.write_text("theirs")
    with pytest.raises(CallsheetError, match="changed by another program meanwhile"):
        before.replace_text("new")
    assert path.read_text() == "theirs"


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
def test_a_link_in_the_place_of_the_copy_is_not_followed(tmp_path: Path) -> None:
    path, other = tmp_path / "settings.json", tmp_path / "other"
    path.write_text("old")
    other.write_text("mine")
    Path(f"{path}{BACKUP}").symlink_to(other)
    read_foreign_file(str(path)).replace_text("new")
    assert (other.read_text(), Path(f"{path}{BACKUP}").is_symlink()) == ("mine", False)


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    made, there = tmp_path / "made", tmp_path / "there"
    there.write_text("old")
    there.chmod(0o640)
    umask = os.umask(0)
    try:
        for path in (made, there):
            read_foreign_file(str(path)).replace_text("new")
    finally:
        os.umask(umask)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (made, there, Path(f"{there}{BACKUP}"))]
    assert modes == [0o600, 0o640, 0o640]
