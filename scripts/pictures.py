"""The pictures of the documentation, from real runs of the demonstration: `python3 scripts/pictures.py [NAME...]`.

Each part of tour.toml that names a picture is run at a pseudo terminal; docs/pictures/ gets it in light and dark.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from demonstration import clear, one
from environment import ROOT, ready
from terminal_svg import COLUMNS, PALETTES, ROWS, Moment, svg
from tour import PATIENCE, Part, Screen, Script, Step, Tour, plain, read, surroundings
from tour_processes import at_terminal

FOLDER = ROOT / "docs" / "pictures"
LARGEST = 200_000  # bytes
# Pictures that commands draw by themselves, in both palettes at once.
STILLS = {"status": "status", "board": "boards view 1 --by assignee", "burndown": "sprints burndown 2"}
STILL = 0.8  # seconds without a change: the screen has come to rest


class Recorder:
    """Takes what a screen would show."""

    def __init__(self, steady: Mapping[str, str]) -> None:
        self._steady = steady
        self.moments: list[Moment] = []

    def comment(self, text: str) -> None:
        if text or self.moments:
            blank = "\n" if self.moments else ""
            self.moments.append(Moment("shown", f"{blank}\x1b[2m# {text}\x1b[0m\n" if text else "\n"))

    def command(self, prompt: str, line: str) -> None:
        self.moments.append(Moment("typed", self._same(line), prompt))

    def show(self, text: str) -> None:
        """What comes at once is one moment; a comment and what an agent asks for are moments of their own."""
        last = self.moments[-1]
        apart = last.text.startswith(("\n\x1b[2m#", "\x1b[2m#")) or text.startswith("\x1b[1magent: ")
        if last.kind == "shown" and not apart:
            self.moments[-1] = Moment("shown", self._same(last.text + text))
        elif text:
            self.moments.append(Moment("shown", self._same(text)))

    def _same(self, text: str) -> str:
        return without_changes(text, self._steady)


def without_changes(text: str, steady: Mapping[str, str]) -> str:
    """Without what differs from run to run."""
    for pattern, replacement in steady.items():
        text = re.sub(pattern, replacement, text)
    return text


def frames(screen: Screen, environ: Mapping[str, str], steady: Mapping[str, str]) -> list[Moment]:
    """What a program that fills the terminal shows at first, and after each key."""
    if shutil.which("tmux") is None:
        raise SystemExit(f"{screen.picture}: tmux is needed (Debian and Ubuntu: apt install tmux)")
    server = ["tmux", "-f", os.devnull, "-L", f"callsheet-{os.getpid()}"]

    def tmux(*words: str) -> str:
        done = subprocess.run([*server, *words], env=dict(environ), stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def settled() -> str:
        """The screen, when it has something on it and nothing of it has changed for a while."""
        shown, since, end = "", time.monotonic(), time.monotonic() + PATIENCE
        while time.monotonic() < end and (not shown.strip() or time.monotonic() - since < STILL):
            time.sleep(0.1)
            if (now := tmux("capture-pane", "-e", "-p")) != shown:
                shown, since = now, time.monotonic()
        return without_changes(shown, steady)

    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), screen.run)
    try:
        moments = [Moment("typed", screen.run, "$ "), Moment("screen", settled())]
        for key in screen.keys:
            tmux("send-keys", key)
            moments.append(Moment("screen", settled()))
    finally:
        tmux("kill-server")
    return moments


def told(moments: list[Moment]) -> str:
    """The commands of a picture, one a line."""
    return "\n".join(f"{moment.prompt}{moment.text}" for moment in moments if moment.kind == "typed")


def private(text: str, home: Path) -> list[str]:
    """What of this machine stands in a picture."""
    words = [str(home), str(Path.home()), str(ROOT), socket.gethostname(), getpass.getuser()]
    return [word for word in words if len(word) > 3 and word in text]


def draw(part: Part | Screen, moments: list[Moment], home: Path) -> None:
    for palette in PALETTES:
        picture = svg(part.title, told(moments), moments, palette)
        if words := private(plain(picture), home):
            raise SystemExit(f"{part.picture}: {', '.join(words)} stands in the picture; add a pattern to tour.toml")
        if len(picture.encode()) > LARGEST:
            raise SystemExit(f"{part.picture}: more than {LARGEST} bytes")
        (FOLDER / f"{part.picture}-{palette}.svg").write_text(picture, encoding="utf-8")
    print(f"{part.picture}: {len(picture.encode()) // 1024} KiB")


def record(script: Script, names: list[str], scripts: Path) -> None:
    home = Path(tempfile.mkdtemp(prefix="callsheet-pictures-"))
    (home / "work").mkdir()
    environ = {**surroundings(os.environ, home, scripts), "TERM": "xterm-256color", "COLORTERM": ""}
    tour = Tour(script, environ, home / "work", at_terminal(COLUMNS, ROWS), styled=True)
    try:
        for part in script.parts:
            recorder = Recorder(script.steady)
            for step in part.steps:
                one(tour, step, recorder)
            if part.picture and (not names or part.picture in names):
                draw(part, recorder.moments, home)
        for screen in script.screens:
            if not names or screen.picture in names:
                tour.do(Step(run="suite sandbox reset --yes --quiet"), lambda _: None)
                draw(screen, frames(screen, environ, script.steady), home)
        for name, line in STILLS.items():
            if not names or name in names:
                words = [str(scripts / "suite"), "--site", "sandbox", *line.split(), "-o", "svg"]
                done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, text=True, check=True)
                (FOLDER / f"{name}.svg").write_text(done.stdout, encoding="utf-8")
    finally:
        clear(tour, home)


def main(names: list[str]) -> None:
    script = read()
    known = [
        *(part.picture for part in script.parts if part.picture),
        *(screen.picture for screen in script.screens),
        *STILLS,
    ]
    if unknown := set(names).difference(known):
        raise SystemExit(f"no picture {min(unknown)!r}; there are {', '.join(known)}")
    FOLDER.mkdir(exist_ok=True)
    record(script, names, ready("dev").parent)


if __name__ == "__main__":
    main(sys.argv[1:])
