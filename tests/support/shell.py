"""Running a program with a home of its own, and watching that no secret is printed or written."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from callsheet.cli.main import run
from support.canary import GIVEN, PASSWORD, file_leaks, leaks
from support.fakesite import FakeSite
from support.waiting import PATIENCE


@dataclass
class Done:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Running:
    """A program in a thread, with pipes that can be used as those of a `Popen`."""

    def __init__(self, program: str, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        self.returncode = -1
        self._stdout = io.StringIO()
        (its_input, own_input), (own_error, its_error) = os.pipe(), os.pipe()
        self.stdin, self.stderr = os.fdopen(own_input, "w", encoding="utf-8"), os.fdopen(own_error, encoding="utf-8")

        def work() -> None:
            with open(its_input, encoding="utf-8") as stdin, open(its_error, "w", encoding="utf-8") as stderr:
                self.returncode = run(
                    program, arguments, environ=environ, stdin=stdin, stdout=self._stdout, stderr=stderr
                )

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stdin.close()
        self.stderr.close()

    def communicate(self, *, timeout: float) -> tuple[str, str]:
        """All that it printed. Standard input ends here."""
        self.stdin.close()
        told = self.stderr.read()
        self._thread.join(timeout)
        assert not self._thread.is_alive(), told
        return self._stdout.getvalue(), told


class Shell:
    """`given` is where a test puts the secrets that a person would have; everything else is searched for them."""

    program = "suite"

    def __init__(self, root: Path, definitions: Path, cache: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.given = root / GIVEN
        self.given.mkdir()
        self.environ: dict[str, str] = {
            "CALLSHEET_HOME": str(self.home),
            "CALLSHEET_CACHE": str(cache),
            "SUITE_DEFINITIONS": str(definitions),
            "SUITE_KEYRING_PASSWORD": PASSWORD,
            "HOME": str(root),
            "PATH": os.environ["PATH"],
        }
        self.printed = b""

    def __call__(self, *arguments: str, stdin: str = "", **variables: str) -> Done:
        """In this process; every variable that is "" is taken away."""
        streams = io.StringIO(stdin), io.StringIO(), io.StringIO()
        code = run(
            self.program,
            arguments,
            environ=self.variables(variables),
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
        )
        return self._done(code, streams[1].getvalue(), streams[2].getvalue())

    def process(self, *arguments: str, stdin: str = "", **variables: str) -> Done:
        with self.start(*arguments, **variables) as process:
            out, err = process.communicate(stdin, timeout=PATIENCE)
        return self._done(process.returncode, out, err)

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        command = [sys.executable, "-W", "error", "-m", "callsheet", self.program, *arguments]
        return subprocess.Popen(command, env=self.variables(variables), stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def running(self, *arguments: str, **variables: str) -> Running:
        """Beside the test, in this process: what `start` gives, and without the start of an interpreter."""
        return Running(self.program, arguments, self.variables(variables))

    def variables(self, changes: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in {**self.environ, **changes}.items() if value}

    def _done(self, code: int, out: str, err: str) -> Done:
        self.printed += out.encode() + err.encode()
        assert not leaks(self.printed), f"a secret was printed: {out}{err}"
        assert "Traceback" not in err, err
        return Done(code, out, err)

    @property
    def profiles(self) -> str:
        path = self.home / "profiles.toml"
        return path.read_text() if path.exists() else ""

    def write_profiles(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "profiles.toml").write_text(text)

    def secret_file(self, name: str, text: str) -> Path:
        path = self.given / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def files(self) -> Iterator[Path]:
        yield from (path for path in self.root.rglob("*") if path.is_file() and self.given not in path.parents)

    def check(self) -> None:
        """No file but those the test gave holds a secret that can be read."""
        assert [path for path in self.files() if file_leaks(path)] == []


__all__ = ["Done", "FakeSite", "Shell", "leaks"]
