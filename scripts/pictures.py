"""The pictures of the documentation, from real runs of the demonstration: `python3 scripts/pictures.py [NAME...]`.

Each part of tour.toml that names a picture is run at a pseudo terminal; docs/pictures/ gets it in light and dark.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from demonstration import clear, one
from environment import ROOT, ready
from terminal_svg import COLUMNS, PALETTES, ROWS, Moment, states, svg
from tour import Part, Script, Tour, plain, read, surroundings
from tour_processes import at_terminal

FOLDER = ROOT / "docs" / "pictures"
LARGEST = 200_000  # bytes


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
        """Without what differs from run to run."""
        for pattern, replacement in self._steady.items():
            text = re.sub(pattern, replacement, text)
        return text


def told(moments: list[Moment]) -> str:
    """The commands of a picture, one a line."""
    return "\n".join(f"{moment.prompt}{moment.text}" for moment in moments if moment.kind == "typed")


def private(text: str, home: Path) -> list[str]:
    """What of this machine stands in a picture."""
    words = [str(home), str(Path.home()), str(ROOT), socket.gethostname(), getpass.getuser()]
    return [word for word in words if len(word) > 3 and word in text]


def draw(part: Part, recorder: Recorder, home: Path) -> None:
    found = states(recorder.moments)
    rows = min(ROWS, max(len(state.rows) for state in found))
    for palette in PALETTES:
        picture = svg(part.title, told(recorder.moments), found, palette, rows)
        if words := private(plain(picture), home):
            raise SystemExit(f"{part.picture}: {', '.join(words)} stands in the picture; add a pattern to tour.toml")
        if len(picture.encode()) > LARGEST:
            raise SystemExit(f"{part.picture}: more than {LARGEST} bytes")
        (FOLDER / f"{part.picture}-{palette}.svg").write_text(picture, encoding="utf-8")
    print(f"{part.picture}: {found[-1].end:.0f} s, {len(picture.encode()) // 1024} KiB")


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
                draw(part, recorder, home)
    finally:
        clear(tour, home)


def main(names: list[str]) -> None:
    script = read()
    known = [part.picture for part in script.parts if part.picture]
    if unknown := set(names).difference(known):
        raise SystemExit(f"no picture {min(unknown)!r}; there are {', '.join(known)}")
    FOLDER.mkdir(exist_ok=True)
    record(script, names, ready("mcp").parent)


if __name__ == "__main__":
    main(sys.argv[1:])
