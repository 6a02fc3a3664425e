"""Shell lines drawn from a grammar, and what Bash really starts when it runs them.

The lines hide a deletion, or what turns harmless words into one, in all places where a shell runs something. They run
in a directory of their own, where `suite` and other programs are stand-ins that write down what they are given.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path
from random import Random

from .places import TESTS

REAL = """basename bash cat cut dirname env expr false find git grep head ln ls mkdir nice nohup printf sed seq setsid
sh sort stdbuf tail tee timeout touch tr true uniq wc xargs"""
SETTINGS = "SETTINGS"  # stands before the words of a start with other settings
DELETION = "suite issues delete PP-1"
GRAMMAR = tomllib.loads((TESTS / "agents" / "shell_grammar.toml").read_text(encoding="utf-8"))


def drawn_line(random: Random) -> str:
    if random.random() < 0.3:
        line = random.choice(GRAMMAR["twisted"]).replace("{h}", random.choice(GRAMMAR["harmless"]))
        return _around(line, random) if random.random() < 0.4 else line
    line = _respelled(DELETION, random)
    for _ in range(random.choice((1, 1, 2, 2, 3))):
        line = _around(line, random)
    if random.random() < 0.2:
        line = random.choice(GRAMMAR["harmless"]) + random.choice(["; ", " && ", "\n", " | "]) + line
    return line


def _around(line: str, random: Random) -> str:
    return put_into(random.choice(GRAMMAR["around"]), line, _quoted(line, random))


def put_into(place: str, line: str, quoted: str | None = None) -> str:
    return place.replace("{c}", line).replace("{q}", quoted or shlex.quote(line)).replace("{w}", _double(line))


def _quoted(text: str, random: Random) -> str:
    styles = [shlex.quote, shlex.quote, _double, _ansi]
    return random.choice(styles)(text)


def _double(text: str) -> str:
    return '"' + "".join(f"\\{sign}" if sign in '"\\$`' else sign for sign in text) + '"'


def _ansi(text: str) -> str:
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _respelled(line: str, random: Random) -> str:
    return " ".join(_spelled(word, random) if random.random() < 0.3 else word for word in line.split())


def _spelled(word: str, random: Random) -> str:
    place = random.randrange(1, len(word))
    before, behind = word[:place], word[place:]
    spellings = [f"'{word}'", f'"{word}"', f"$'{word}'", f"\\{word}", f"{word} ", f"{before}''{behind}"]
    spellings += [f'{before}"{behind}"', f"{before}\\{behind}", f"{before}\\\n{behind}", f"{before}$x{behind}"]
    return random.choice([*spellings, f"\"{before}\"'{behind}'"])


class RecordingShell:
    """A directory with stand-ins, where lines are run."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.home, self.record = folder / "bin", folder / "home", folder / "record"
        for each in (self.bin, self.home):
            each.mkdir(parents=True)
        for name in REAL.split():
            if found := shutil.which(name):
                (self.bin / name).symlink_to(found)
        told = f'case "$SUITE_DEFINITIONS$CALLSHEET_HOME" in "") ;; *) set -- {SETTINGS} "$@";; esac\n'
        told += f'[ "$HOME" = {shlex.quote(str(self.home))} ] || set -- {SETTINGS} "$@"\n'
        told += f"{{ printf '%s\\0' \"$@\"; printf '\\n\\0'; }} >> {shlex.quote(str(self.record))}\necho delete PP-1\n"
        self._program("suite", told)
        for name, text in GRAMMAR["starters"].items():
            self._program(
                name,
                'exec 2>/dev/null\n[ "$1 $2" = "-m callsheet" ] && shift 2 && exec "$@"\n' * (name == "python3")
                + text
                + "\n",
            )
        self.environ = {"PATH": str(self.bin), "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        self.work = folder / "work"
        self.fresh()

    def _program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{text}")
        (self.bin / name).chmod(0o755)

    def fresh(self) -> None:
        """The directory where lines run, with nothing that an earlier one has left there."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@x.example"]
        for words in (
            ["init", "-q"],
            ["commit", "-q", "--allow-empty", "-m", "x"],
            ["commit", "-q", "--allow-empty", "-m", "y"],
        ):
            subprocess.run([*git, *words], cwd=self.work, env=self.environ, check=True, stdin=subprocess.DEVNULL)
        (self.work / "x").write_text("x\n")
        subprocess.run([*git, "add", "x"], cwd=self.work, env=self.environ, check=True, stdin=subprocess.DEVNULL)

    def run(self, line: str) -> list[list[str]]:
        """The words of each start of `suite`. The first is SETTINGS where what it goes by was changed."""
        self.record.unlink(missing_ok=True)
        process = subprocess.Popen(
            ["bash", "-c", line],
            cwd=self.work,
            env=self.environ,
            executable=str(self.bin / "bash"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        self._settle(process)
        text = self.record.read_bytes().decode(errors="replace") if self.record.exists() else ""
        return [each.split("\0")[:-1] for each in text.split("\n\0") if each]

    def _settle(self, process: subprocess.Popen[bytes]) -> None:
        """What a line has left in the background ends, or is ended."""
        for _ in range(50):
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.01)
                if process.returncode is not None and not _running(process.pid):
                    break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
