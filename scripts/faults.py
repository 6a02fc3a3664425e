"""Which planted faults the tests notice: `python3 scripts/faults.py [client ...] [--only WORD] [--all]`.

Each fault of `tests/faults/*.toml` breaks one promise of the documentation: it names a file, a piece of its text, what
stands there instead, and the tests that should notice. Each is planted in a copy of the project, so the checkout may
change meanwhile. Ends with 1 where a fault is not noticed. With `--all`, what the named tests do not notice is tried
with all tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from environment import ROOT, ready

FAULTS = ROOT / "tests" / "faults"
COPIED = (
    "engine",
    "definitions",
    "tests",
    "docs",
    "scripts",
    "pyproject.toml",
    "profiles.example.toml",
    "README.md",
    "CONTRIBUTING.md",
)
LIMIT = 100  # seconds of the named tests; a fault that makes a loop endless is noticed too
PROGRAMS = ("suite", "lms", "callsheet")
CHANGED = 10**9  # a time of its own for each change: by time and size Python knows whether a compiled module holds


class Fault(NamedTuple):
    name: str
    promise: str
    file: str
    old: str
    new: str
    tests: list[str]

    def planted(self, source: str) -> str:
        """Raises `ValueError` where the text to change does not stand there exactly once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text stands {source.count(self.old)} times in {self.file}, not once")
        return source.replace(self.old, self.new)


def faults(*packages: str) -> Iterator[Fault]:
    for path in [FAULTS / f"{name}.toml" for name in packages] or sorted(FAULTS.glob("*.toml")):
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            yield Fault(f"{path.stem}: {name}", **table)


class Copy:
    """The project in a folder of its own, with an environment whose programs are those of this folder."""

    def __init__(self, python: Path, home: Path) -> None:
        self.home = home
        for name in COPIED:
            leave, source = shutil.ignore_patterns("__pycache__"), ROOT / name
            shutil.copytree(source, home / name, ignore=leave) if source.is_dir() else shutil.copy(source, home / name)
        made = home / ".venv"
        venv.create(made, with_pip=False, symlinks=True)
        (packages,) = made.glob("lib/python*/site-packages")
        paths = [home / "engine", python.parent.parent / packages.relative_to(made)]
        (packages / "project.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
        self.python = made / "bin" / "python"
        for program in python.parent.iterdir():
            mine = self.python.parent / program.name
            if program.name in PROGRAMS:
                mine.write_text(program.read_text(encoding="utf-8").replace(str(python.parent), str(mine.parent)))
                mine.chmod(0o755)
            elif not mine.exists():
                mine.symlink_to(program)
        left_out = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
        self.environ = {name: text for name, text in os.environ.items() if name not in left_out} | {"CI": "1"}
        self.changes = 0

    def noticed_by(self, fault: Fault, tests: list[str]) -> str | None:
        """The test that fails with the fault; None where all pass."""
        path = self.home / fault.file
        source = path.read_text(encoding="utf-8")
        try:
            self._write(path, fault.planted(source))
            return self._first_failure(tests)
        finally:
            self._write(path, source)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        self.changes += 1
        os.utime(path, (CHANGED + self.changes, CHANGED + self.changes))

    def _first_failure(self, tests: list[str]) -> str | None:
        command = [str(self.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-n", "0", *tests]
        try:
            ran: subprocess.CompletedProcess[str] = subprocess.run(
                command, cwd=self.home, env=self.environ, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no end within {LIMIT} seconds"
        if ran.returncode == 0:
            return None
        found = [line.split()[1] for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        if ran.returncode not in (1, 2) or not found:
            raise SystemExit(f"pytest ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="*", help="faults of tests/faults/PACKAGE.toml; all where none is named")
    parser.add_argument("--only", default="", metavar="WORD", help="only faults whose name contains this")
    parser.add_argument("--all", action="store_true", help="try what is not noticed with all tests")
    asked = parser.parse_args()
    packages = sorted(path.stem for path in FAULTS.glob("*.toml"))
    if unknown := [name for name in asked.package if name not in packages]:
        parser.error(f"no faults of {', '.join(unknown)}: there are those of {', '.join(packages)}")
    python = ready("dev")
    chosen = [fault for fault in faults(*asked.package) if asked.only in fault.name]
    survived = []
    with tempfile.TemporaryDirectory(prefix="faults-") as home:
        copy = Copy(python, Path(home))
        for fault in chosen:
            begun = time.monotonic()
            noticed = copy.noticed_by(fault, fault.tests)
            if noticed is None and asked.all:
                noticed = copy.noticed_by(fault, ["tests"])
            print(f"{fault.name}: {noticed or 'NOT NOTICED'} ({time.monotonic() - begun:.0f} s)", flush=True)
            if noticed is None:
                survived.append(fault)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} faults are noticed")
    for fault in survived:
        print(f"  {fault.name}: {fault.promise}")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
