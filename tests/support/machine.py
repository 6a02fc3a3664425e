"""A home with programs of its own, and `callsheet` as a person types it there."""

from __future__ import annotations

import io
import os
from pathlib import Path

from callsheet.cli.main import run


class Machine:
    """A home with nothing in it; every call sees what the ones before left."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.bin = root / "bin"
        self.environ = {
            "CALLSHEET_HOME": str(self.home),
            "CALLSHEET_BIN": str(self.bin),
            "HOME": str(root),
            "PATH": os.pathsep.join([str(self.bin), os.environ["PATH"]]),
        }
        self.out = self.err = ""

    def __call__(self, *words: str, program: str = "callsheet", given: str = "") -> int:
        streams = io.StringIO(given), io.StringIO(), io.StringIO()
        code = run(program, words, environ=self.environ, stdin=streams[0], stdout=streams[1], stderr=streams[2])
        self.out, self.err = streams[1].getvalue(), streams[2].getvalue()
        assert "Traceback" not in self.err
        assert "unexpected" not in self.err
        return code

    def files(self) -> set[str]:
        return {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
