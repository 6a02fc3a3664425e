"""A program as a person types it at a shell, with a site and a home of its own."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

from callsheet.cli.main import run
from support.cases import environment


class ShellUser:
    """`out`, `err` and `sent` (methods and paths) are those of the last command. None may end in a traceback."""

    def __init__(self, home: Path, address: str, deployment: str = "cloud") -> None:
        self.home = home
        self.environ = {**environment(home, address), "SUITE_DEPLOYMENT": deployment}
        self.out = self.err = ""
        self.sent: list[str] = []

    def __call__(self, *words: str, given: str = "") -> int:
        streams = io.StringIO(given), io.StringIO(), io.StringIO()
        words = (*words, "-v")
        code = run("suite", words, environ=self.environ, stdin=streams[0], stdout=streams[1], stderr=streams[2])
        self.out, self.err = streams[1].getvalue(), streams[2].getvalue()
        self.sent = re.findall(r"^> ((?:GET|POST|PUT|DELETE|PATCH) \S+)", self.err, re.MULTILINE)
        assert "Traceback" not in self.err
        assert not re.search("unexpected (?!answer from)", self.err)
        return code

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """What a command that must succeed lists."""
        assert self(*words, "-o", "json") == 0, self.err
        found: list[dict[str, Any]] = json.loads(self.out)
        return found

    @property
    def writes(self) -> list[str]:
        return [line for line in self.sent if not line.startswith("GET ")]
