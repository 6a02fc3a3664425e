"""The demonstration as it stands in tour.toml: its steps, and running them in a home of their own."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from tour_agent import session
from tour_processes import INTERRUPTS, Background, Ended, Place, Run, piped

DATA = Path(__file__).with_suffix(".toml")
PATIENCE = 30.0  # seconds for what goes on in the background
ENDS_WITH = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")
OWN = ("SUITE_", "LMS_", "CALLSHEET_", "_SUITE", "_LMS", "PYTHONPATH", "PYTHONHOME")

Show = Callable[[str], None]


class WentWrong(Exception):
    """A step did not do what it should; the text says what was expected."""


@dataclass(frozen=True)
class Step:
    """What tour.toml says of one step; its first lines explain the keys."""

    say: str = ""
    run: str = ""
    code: int = 0
    shows: list[str] = field(default_factory=list)
    keep: dict[str, str] = field(default_factory=dict)
    person: str = ""
    env: dict[str, str] = field(default_factory=dict)
    file: dict[str, Any] = field(default_factory=dict)
    change: dict[str, str] = field(default_factory=dict)
    ready: str = ""
    hears: str = ""
    again: bool = False
    calls: list[dict[str, Any]] = field(default_factory=list)


class Written(NamedTuple):
    """A file of a step: its name where the whole of it is to be shown, and the text to show."""

    name: str
    text: str


@dataclass(frozen=True)
class Part:
    title: str
    steps: list[Step]
    picture: str = ""


class Screen(NamedTuple):
    """A program that fills the terminal; `keys` are named as tmux names them."""

    title: str
    picture: str
    run: str
    keys: list[str]


@dataclass(frozen=True)
class Script:
    parts: list[Part]
    people: dict[str, dict[str, str]]
    steady: dict[str, str] = field(default_factory=dict)
    screens: list[Screen] = field(default_factory=list)


def read(path: Path = DATA) -> Script:
    """Raises `WentWrong` where the file has a key that no step knows."""
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {one.name for one in fields(Step)}
    for table in (step for part in told["part"] for step in part["step"]):
        if unknown := table.keys() - known:
            raise WentWrong(f"{path.name}: unknown key {min(unknown)!r}; a step has {', '.join(sorted(known))}")
    parts = [
        Part(part["title"], [Step(**step) for step in part["step"]], part.get("picture", "")) for part in told["part"]
    ]
    screens = [Screen(**table) for table in told.get("screen", ())]
    return Script(parts, told.get("person", {}), told.get("steady", {}), screens)


def surroundings(environ: Mapping[str, str], home: Path, scripts: Path) -> dict[str, str]:
    """The variables of every step: nothing of the person's own settings, and no way to them."""
    kept = {name: value for name, value in environ.items() if not name.upper().startswith(OWN)}
    return {
        **kept,
        "PATH": os.pathsep.join([str(home / "bin"), str(scripts), environ.get("PATH", os.defpath)]),
        "CALLSHEET_HOME": str(home),
        "CALLSHEET_BIN": str(home / "bin"),
        "SUITE_SITE": "sandbox",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PAGER": "cat",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


class Tour:
    """Runs steps one after another. `environ` is what `surroundings` gives; `folder` is where they are typed."""

    def __init__(
        self, script: Script, environ: dict[str, str], folder: Path, run: Run = piped, *, styled: bool = False
    ) -> None:
        self.script = script
        self.folder = folder
        self.environ = environ
        self.kept: dict[str, str] = {}
        self.background: list[Background] = []
        self._run = run
        self._styled = styled

    def shown(self, step: Step) -> str:
        """The command as it would be typed, with the variables of the step before it."""
        variables = "".join(f"{name}={value} " for name, value in step.env.items())
        return variables + self.line(step) + (" &" if step.ready else "")

    def line(self, step: Step) -> str:
        return self._filled(step.run)

    def written(self, step: Step) -> Written:
        """Write or change the step's file."""
        if step.change:
            path = self.folder / step.change["name"]
            path.write_text(self._changed(path, step.change), encoding="utf-8")
            return Written("", f"  - {step.change['old']}\n  + {step.change['new']}\n")
        if not step.file:
            return Written("", "")
        path = self.folder / step.file["name"]
        text = step.file["text"].removeprefix("\n")
        path.touch(0o600 if step.file.get("private") else 0o644)
        path.write_text(text, encoding="utf-8")
        return Written("", "") if step.file.get("private") else Written(path.name, text)

    def _changed(self, path: Path, change: Mapping[str, str]) -> str:
        text = path.read_text(encoding="utf-8")
        if text.count(change["old"]) != 1:
            raise WentWrong(f"{path.name}: {change['old']!r} was expected once in it")
        return text.replace(change["old"], change["new"])

    def do(self, step: Step, show: Show) -> str:
        """Run the step's command, show what it prints as it comes, and return it as plain text.

        Raises `WentWrong` when it ends otherwise than it should.
        """
        if step.ready:
            return self._started(step, show)
        end = monotonic() + PATIENCE
        while True:
            held: list[str] = []
            done = self._once(step, held.append if step.again else show)
            if not step.again or self._missing(step, done) is None or monotonic() > end:
                break
            sleep(0.2)
        for text in held:
            show(text)
        if problem := self._missing(step, done):
            raise WentWrong(f"{self.line(step)}\n{problem}")
        self._keep(step, done.text)
        if step.hears and not any(process.wait_for(step.hears, PATIENCE) for process in self.background):
            raise WentWrong(f"{self.line(step)}\n{step.hears.strip()!r} is missing in what goes on in the background")
        return plain(done.text)

    def _once(self, step: Step, show: Show) -> Ended:
        words = shlex.shlex(self.line(step), posix=True, punctuation_chars="|>")
        words.whitespace_split = True
        place = Place(self._variables(step), self.folder)
        if step.calls:
            return session(list(words), step.calls, place, show, styled=self._styled)
        return self._run(list(words), place, show)

    def _started(self, step: Step, show: Show) -> str:
        place = Place(self._variables(step), self.folder)
        with INTERRUPTS.held():
            process = Background(shlex.split(self.line(step)), place, show)
            self.background.append(process)
        if not process.wait_for(step.ready, PATIENCE):
            raise WentWrong(f"{self.line(step)}\nit did not say {step.ready.strip()!r}")
        self._keep(step, process.text)
        return process.text

    def _missing(self, step: Step, done: Ended) -> str | None:
        if done.code != step.code:
            return f"exit code {done.code} instead of {step.code}"
        printed = " ".join(plain(done.text).split())
        for text in step.shows:
            if " ".join(self._filled(text).split()) not in printed:
                return f"{self._filled(text)!r} is missing in what it printed"
        return None

    def _keep(self, step: Step, text: str) -> None:
        for name, pattern in step.keep.items():
            found = re.search(pattern, plain(text))
            if not found:
                raise WentWrong(f"{self.line(step)}\nno {name} in what it printed")
            self.kept[name] = found[1]

    def _variables(self, step: Step) -> dict[str, str]:
        changes = {**self.script.people.get(step.person, {}), **step.env}
        filled = {name: self._filled(value) for name, value in changes.items()}
        return {name: value for name, value in {**self.environ, **filled}.items() if value}

    def _filled(self, text: str) -> str:
        for name, value in self.kept.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def close(self) -> None:
        """End what goes on in the background. The sandbox stays."""
        for process in self.background:
            process.end()
        self.background.clear()


def plain(text: str) -> str:
    """Without what only acts on a terminal."""
    return ENDS_WITH.sub("", text)
