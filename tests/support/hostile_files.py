"""A file system that others had their hands in: links, pipes, devices, open modes; and what it looked like before."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

import pytest

posix = pytest.mark.skipif(os.name == "nt", reason="modes, links and pipes of POSIX")


class Entry(NamedTuple):
    kind: int
    mode: int
    owner: tuple[int, int]
    content: bytes | str | None


def entry(path: Path) -> Entry | None:
    """What stands at a path itself, links not followed."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    content: bytes | str | None = None
    if stat.S_ISREG(found.st_mode):
        content = path.read_bytes()
    elif stat.S_ISLNK(found.st_mode):
        content = os.readlink(path)
    return Entry(stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid), content)


def tree(root: Path) -> dict[str, Entry | None]:
    """Everything below a folder, so that two looks can be compared."""
    return {str(path.relative_to(root)): entry(path) for path in sorted(root.rglob("*"))}


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def link(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


def open_to_others(path: Path, mode: int | None = None) -> Path:
    """A file or folder that everybody may write."""
    path.chmod(mode if mode is not None else (0o777 if path.is_dir() else 0o666))
    return path


def planted(folder: Path, mode: int = 0o777) -> Path:
    """A folder that was there first, made by somebody who lets everybody write it."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    return folder


def modes(*paths: Path) -> list[str]:
    return [oct(stat.S_IMODE(path.stat().st_mode)) for path in paths]
