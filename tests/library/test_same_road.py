"""A week's work of four people once more, through the library: each command gives what the command line prints."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import callsheet
from callsheet.cli.read_line import click_path
from callsheet.cli.tree import root_group
from callsheet.commands.context import Context
from callsheet.commands.streams import Streams
from callsheet.errors import CallsheetError
from callsheet.library.arguments import python_name
from support.canary import SITES
from support.places import CASES
from support.scripted import Script, steps
from support.simulated import TOKEN, serving

WEEK = CASES / "week"
PEOPLE = ("robin", "kim", "jan", "noor")
OF_PRINTING = ("columns", "dry-run", "jq", "output", "query", "raw", "site", "template")


class ScriptOfCalls(Script):
    """What only looks at how something is printed stays on the command line."""

    calls = 0

    def _run(self, step: Mapping[str, Any]) -> tuple[int, str, str]:
        words = [self._filled(word) for word in shlex.split(step["run"])]
        found = None if "says" in step or "-o" in words else self._read(words)
        if found is None:
            return super()._run(step)
        for name, content in step.get("files", {}).items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(content), encoding="utf-8")
        type(self).calls += 1
        path, values = found
        email = self.people[step.get("as", next(iter(self.people)))]
        with callsheet.open("suite", base_url=self.environ["SUITE_BASE_URL"], email=email, token=TOKEN) as suite:
            try:
                given = {name: self._text(value, step) for name, value in values.items()}
                result = suite.command(path)(**given, **({"yes": True} if "--yes" in words else {}))
                shown = list(result) if isinstance(result, callsheet.Rows) else result
                return 0, "" if shown is None else json.dumps(shown), ""
            except CallsheetError as error:
                return error.exit_code, "", f"{error} {error.hint}"

    def _read(self, words: list[str]) -> tuple[str, dict[str, Any]] | None:
        """The command's words and its values, by the names that the library takes them under; None for some others."""
        found: list[tuple[Any, dict[str, Any]]] = []
        context = Context("suite", self.environ, Streams(io.StringIO(), io.StringIO(), io.StringIO()))
        try:
            group = root_group(context, lambda _context, command, values: found.append((command, values)))
            group.main([*words], prog_name="suite", standalone_mode=False, obj=context)
            path = click_path(context, words)
        except Exception:  # noqa: BLE001 - the library raises many kinds, and all mean the same
            return None
        finally:
            context.close()
        if not found or any(context.option(name) for name in OF_PRINTING):
            return None
        params = {each["name"]: each for each in found[0][0].get("params", ())}
        given = {}
        for name, value in found[0][1].items():
            if name in params and value not in (None, [], False):
                split = params[name].get("split") and isinstance(value, list)  # at commas, on a command line
                given[python_name(name)] = [part for word in value for part in word.split(",")] if split else value
        return path, given

    def _text(self, value: Any, step: Mapping[str, Any]) -> Any:
        """What `@file` and `-` say, which the library does not read."""
        if isinstance(value, list):
            return [text for each in value for text in self._texts(each, step)]
        return next(iter(self._texts(value, step))) if isinstance(value, str) else value

    def _texts(self, word: str, step: Mapping[str, Any]) -> list[str]:
        if word in ("-", "@-"):
            given = str(step.get("input", ""))
            return given.split() if word == "-" else [given]
        if word.startswith("@@"):
            return [word[1:]]
        return [Path(word[1:]).read_text(encoding="utf-8")] if word.startswith("@") else [word]


@pytest.mark.slow
@pytest.mark.parametrize("deployment", ["cloud", "datacenter"])
def test_a_week_of_calls_gives_what_the_command_line_prints(
    deployment: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix = "@example.org" if deployment == "cloud" else ""
    people = {name: f"{name}{suffix}" for name in PEOPLE}
    monkeypatch.setenv("SUITE_DEPLOYMENT", deployment)
    monkeypatch.setenv("SUITE_METHOD", "basic")
    ScriptOfCalls.calls = 0
    wrong: dict[str, list[str]] = {}
    with serving(deployment=deployment) as url:
        SITES.add(url)
        for person in ("developer", "lead", "agent", "writer"):
            script = ScriptOfCalls(url, deployment, tmp_path / person, cache, people)
            wrong[person] = list(script.wrong(steps(WEEK / f"{person}.toml", deployment)))
    assert wrong == {"developer": [], "lead": [], "agent": [], "writer": []}
    assert ScriptOfCalls.calls > 120
