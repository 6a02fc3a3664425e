"""The Pythons of this machine that the project supports: `python3 scripts/pythons.py` prints a path for each version.

They are looked for by name on the path, and where pyenv and uv keep theirs. Each is run: a name may stand for nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from environment import MINIMUM

HOMES = ("PYENV_ROOT", "~/.pyenv", "versions"), ("UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python", ".")
# Can make environments, and is no preview of a version that packages do not know yet.
PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:2], *sys.version_info[3:4], sys.implementation.name)"
NAME = re.compile(r"python3(\.\d+)?(\.exe)?")


def candidates() -> Iterator[str]:
    yield sys.executable
    for folder in os.get_exec_path():
        yield from _in_folder(Path(folder))
    for variable, usual, below in HOMES:
        home = Path(os.environ.get(variable) or usual).expanduser() / below
        for version in sorted(home.iterdir()) if home.is_dir() else ():
            yield from _in_folder(version / "bin")


def _in_folder(folder: Path) -> Iterator[str]:
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    yield from (str(folder / name) for name in names if NAME.fullmatch(name) and shutil.which(folder / name))


def pythons() -> dict[tuple[int, int], str]:
    """The first that works of each version, the oldest version first."""
    found: dict[tuple[int, int], str] = {}
    tried: set[str] = set()
    for path in candidates():
        if path in tried:
            continue
        tried.add(path)
        try:
            done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        match done.stdout.split():
            case [major, minor, "final", "cpython"] if (version := (int(major), int(minor))) >= MINIMUM:
                found.setdefault(version, path)
    return dict(sorted(found.items()))


if __name__ == "__main__":
    print(*pythons().values(), sep="\n")
