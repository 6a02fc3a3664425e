"""The demonstration as a person sees it: options, pace, screen, and what is left at the end.

It makes an environment of its own in .venv, starts a local site, and shows the everyday work step by step, with the
real output of real commands. Settings, sites and keys of yours are neither read nor changed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Protocol

from environment import ready
from tour import Step, Tour, WentWrong, read, surroundings
from tour_processes import INTERRUPTS, Place, at_terminal, found, piped

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
PAUSE = 1.0  # seconds between two steps, for reading


def options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo.py", description=(__doc__ or "").partition("\n\n")[2])
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--fast", action="store_true", help="no pauses between the steps")
    pace.add_argument("--step", action="store_true", help="wait for Enter before each step")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--keep", action="store_true", help="leave the local site running (default at a terminal)")
    end.add_argument("--remove", action="store_true", help="leave nothing behind (default elsewhere)")
    parser.add_argument("--ci", action="store_true", help="as in CI: --fast --remove, no colours")
    chosen = parser.parse_args(words)
    if chosen.step and (chosen.ci or not (sys.stdin.isatty() and sys.stdout.isatty())):
        parser.error("--step needs a terminal")
    chosen.terminal = sys.stdout.isatty() and not chosen.ci
    chosen.keep = chosen.keep or (chosen.terminal and not chosen.remove)
    chosen.fast = chosen.fast or not chosen.terminal
    return chosen


class Shown(Protocol):
    """Where a step is shown: a screen, or a picture of one."""

    def comment(self, text: str) -> None: ...
    def command(self, prompt: str, line: str) -> None: ...
    def show(self, text: str) -> None: ...


class Screen:
    """Prints the tour: comments, commands, and what they print; coloured at a terminal that wants it."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def part(self, title: str) -> None:
        self._print(f"\n== {title} ==\n", "1;36")

    def comment(self, text: str) -> None:
        self._print(f"\n# {text}\n" if text else "\n", "2")

    def command(self, prompt: str, line: str) -> None:
        self._print(prompt, "32")
        self._print(f"{line}\n", "1")

    def show(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _print(self, text: str, style: str) -> None:
        self.show(f"\x1b[{style}m{text}\x1b[0m" if self._colour else text)


def play(tour: Tour, screen: Screen, chosen: argparse.Namespace) -> None:
    for part in tour.script.parts:
        screen.part(part.title)
        for step in part.steps:
            if chosen.step:
                input("-- Enter goes on, Ctrl-C stops --")
            one(tour, step, screen)
            if not chosen.fast:
                time.sleep(PAUSE)


def one(tour: Tour, step: Step, screen: Shown) -> None:
    screen.comment(step.say)
    written = tour.written(step)
    if written.name:
        screen.command("$ ", f"{'type' if os.name == 'nt' else 'cat'} {written.name}")
    screen.show(written.text)
    if step.run and written.text:
        screen.comment("")
    if step.run:
        screen.command(f"{step.person}$ ", tour.shown(step))
        tour.do(step, screen.show)


def exports(environ: dict[str, str], scripts: Path) -> str:
    """What a shell needs to go on with the sandbox, in its own words. The program of the tour can be run, too."""
    folders = [str(Path(environ["CALLSHEET_HOME"]) / "bin"), str(scripts)]
    values = {"CALLSHEET_HOME": environ["CALLSHEET_HOME"], "SUITE_SITE": environ["SUITE_SITE"]}
    if any(os.environ.get(name) for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")):
        values["NO_PROXY"] = environ["NO_PROXY"]
    if os.name == "nt":
        quoted = {name: value.replace("'", "''") for name, value in values.items()}
        path = ";".join(folders).replace("'", "''")
        lines = [f"$env:PATH = '{path};' + $env:PATH", *(f"$env:{n} = '{v}'" for n, v in quoted.items())]
    else:
        path = shlex.quote(":".join(folders))
        lines = [f'export PATH={path}:"$PATH"', *(f"export {n}={shlex.quote(v)}" for n, v in values.items())]
    return "".join(f"{line}\n" for line in lines)


def leave(home: Path, environ: dict[str, str], scripts: Path) -> str:
    """What is said at the end, when the local site goes on."""
    windows = os.name == "nt"
    file = home / ("env.ps1" if windows else "env.sh")
    file.write_text(exports(environ, scripts), encoding="utf-8")
    end = f"Remove-Item -Recurse '{home}'" if windows else f"rm -r {shlex.quote(str(home))}"
    return f"""
The local site goes on. To use it in this shell:

  . {shlex.quote(str(file))}
  suite issues list --project DEMO
  suite pages list --space DOC
  suite op search "what you want to do"

When you are done:

  . {shlex.quote(str(file))}; suite sandbox stop; {end}

For a site of your own, in a new shell: suite init
"""


def clear(tour: Tour, home: Path) -> None:
    """End everything that was started, and take its files away; a second Ctrl-C does not stop this."""
    for name in SIGNALS:
        signal.signal(name, signal.SIG_IGN)
    tour.close()
    for left in [home / "sandbox.json", *home.glob("programs/*/sandbox.json")]:
        program = "suite" if left.parent == home else left.parent.name
        with contextlib.suppress(OSError):
            stop = found([program, "sandbox", "stop", "--quiet"], Place(tour.environ, home))
            subprocess.run(stop, env=tour.environ, capture_output=True, timeout=60, check=False)
    shutil.rmtree(home, ignore_errors=True)


def run(chosen: argparse.Namespace, python: Path) -> None:
    try:
        home = Path(tempfile.mkdtemp(prefix="callsheet-demo-"))
    except OSError as error:
        raise SystemExit(f"cannot make a temporary folder: {error.strerror}; TMPDIR can name another place") from None
    folder = home / "work"
    folder.mkdir()
    environ = surroundings(os.environ, home, python.parent)
    colour = chosen.terminal and not os.environ.get("NO_COLOR")
    size = shutil.get_terminal_size()
    seen = at_terminal(size.columns, size.lines) if chosen.terminal and os.name != "nt" else piped
    tour = Tour(read(), environ, folder, seen, styled=colour)
    done = False
    try:
        play(tour, Screen(colour), chosen)
        done = True
    except (WentWrong, OSError) as error:
        raise SystemExit(f"\nthe demonstration did not go as it should: {error}") from None
    finally:
        if done and chosen.keep:
            tour.close()
            print(leave(home, environ, python.parent), end="")
        else:
            clear(tour, home)


def main(words: list[str]) -> int:
    """The exit code."""
    chosen = options(words)
    for name in SIGNALS:
        signal.signal(name, INTERRUPTS)
    try:
        run(chosen, ready("mcp"))
    except (KeyboardInterrupt, EOFError):
        print("\nstopped; the local site and its files are gone", file=sys.stderr)
        return 130
    return 0
