"""Command lines and what is expected of them, as data: run one after the other against a site.

A step has `run`, and of these what it wants: `as` (who asks), `input`, `files` (written beforehand), `code` (the exit
code; else 0), `true` (of the JSON that it prints), `says` (texts of what it prints or reports), `keep` (names for parts
of the JSON: later steps write `<name>`), `on` (only on this deployment), `differs` (why it fails on another server).
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from callsheet.cli.main import run
from callsheet.language.compiled_jmespath import compile_fast, is_true
from callsheet.language.template import TemplateError

KEYS = {"run", "as", "input", "files", "code", "true", "says", "keep", "on", "differs"}


def steps(path: Path, deployment: str) -> list[dict[str, Any]]:
    """Those of a file that are for a deployment."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))["step"]
    assert all(set(step) <= KEYS for step in found)
    return [step for step in found if step.get("on", deployment) == deployment]


class Script:
    """Runs steps with a home of their own; what is wrong with one does not end the others."""

    def __init__(self, url: str, deployment: str, home: Path, cache: Path, people: Mapping[str, str]) -> None:
        self.people = people
        self.home = home
        self.kept: dict[str, str] = {}
        self.environ = {**os.environ, "CALLSHEET_HOME": str(home / "home"), "CALLSHEET_CACHE": str(cache)}
        self.environ |= {"SUITE_BASE_URL": url, "SUITE_DEPLOYMENT": deployment, "SUITE_METHOD": "basic"}
        self.environ |= {"SUITE_TOKEN": "only for tests", "COLUMNS": "200"}

    def wrong(self, steps: list[dict[str, Any]], *, elsewhere: bool = False) -> Iterator[str]:
        """A sentence for each step that went otherwise than it says; `elsewhere` some are known to fail."""
        for number, step in enumerate(steps, 1):
            problems = list(self._problems(step))
            if elsewhere and "differs" in step:
                problems = [] if problems else [f"went well, although {step['differs']}"]
            if problems:
                yield f"{number}. {step['run']}: {'; '.join(problems)}"

    def _problems(self, step: Mapping[str, Any]) -> Iterator[str]:
        code, out, err = self._run(step)
        if code != step.get("code", 0):
            yield f"exit code {code}: {err or out}"
            return
        for text in step.get("says", []):
            if self._filled(text) not in out + err:
                yield f"does not say {text!r}: {out}{err}"
        if "true" in step or "keep" in step:
            yield from self._told(step, out)

    def _told(self, step: Mapping[str, Any], out: str) -> Iterator[str]:
        try:
            value = json.loads(out)
        except ValueError:
            yield f"no JSON: {out!r}"
            return
        if "true" in step and not self._is_true(step["true"], value):
            yield f"not true: {step['true']}: {_compact(value)}"
        for name, text in step.get("keep", {}).items():
            found = compile_fast(self._filled(text))(value)
            if found is None:
                yield f"nothing at {text}: {out[:1500]}"
            self.kept[name] = str(found)

    def _is_true(self, text: str, value: Any) -> bool:
        try:
            return is_true(compile_fast(self._filled(text))(value))
        except TemplateError:
            return False

    def _run(self, step: Mapping[str, Any]) -> tuple[int, str, str]:
        for name, content in step.get("files", {}).items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(content), encoding="utf-8")
        words = [self._filled(word) for word in shlex.split(step["run"])]
        if ("true" in step or "keep" in step) and "-o" not in words:
            words += ["-o", "json"]
        environ = {**self.environ, "SUITE_EMAIL": self.people[step.get("as", next(iter(self.people)))]}
        out, err = io.StringIO(), io.StringIO()
        code = run("suite", words, environ=environ, stdin=io.StringIO(step.get("input", "")), stdout=out, stderr=err)
        return code, out.getvalue(), err.getvalue()

    def _filled(self, text: str) -> str:
        """`<name>` becomes what an earlier step kept, `<home>` the directory of the files."""
        known = {**self.kept, "home": self.home.as_posix()}
        return re.sub(r"<(\w+)>", lambda match: known.get(match[1], match[0]), text)


def _compact(value: Any) -> str:
    """Enough of an answer to see what is wrong with it: addresses say nothing."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(r'"(self|avatarUrls|iconUrl)": ("[^"]*"|\{[^}]*\}),? ?', "", text)[:3000]
