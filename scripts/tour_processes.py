"""Command lines as processes: in pipes, at a pseudo terminal, in the background."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

MINUTES = 120.0  # seconds after which a command that hangs is ended


class Place(NamedTuple):
    environ: dict[str, str]
    folder: Path


class Ended(NamedTuple):
    code: int
    text: str


Run = Callable[[Sequence[str], Place, Callable[[str], None]], Ended]


class Interrupts:
    """Handles signals that end the tour: they wait while a process starts, which nobody would know of otherwise."""

    def __init__(self) -> None:
        self._holding = self._came = False

    def __call__(self, *_: object) -> None:
        if not self._holding:
            raise KeyboardInterrupt
        self._came = True

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._came:
            self._came = False
            raise KeyboardInterrupt


INTERRUPTS = Interrupts()


def stages(words: Sequence[str]) -> tuple[list[list[str]], str]:
    """The commands of a line between its `|`, and the file behind `>`."""
    target = ""
    if ">" in words:
        at = words.index(">")
        words, (target,) = words[:at], words[at + 1 :]
    found: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    return found, target


def piped(words: Sequence[str], place: Place, show: Callable[[str], None]) -> Ended:
    """Run a line; what it prints on both streams comes through a pipe, as in a script."""
    ours, theirs = os.pipe()
    return _run(words, place, show, ours, theirs)


def at_terminal(columns: int, lines: int) -> Run:
    """A way to run lines whose programs see a terminal of this size. Not on Windows."""

    def run(words: Sequence[str], place: Place, show: Callable[[str], None]) -> Ended:
        import pty
        import termios

        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (lines, columns))
        return _run(words, place, show, ours, theirs)

    return run


def _run(words: Sequence[str], place: Place, show: Callable[[str], None], ours: int, theirs: int) -> Ended:
    commands, target = stages(words)
    with contextlib.ExitStack() as opened:
        output: IO[bytes] | int = opened.enter_context(open(place.folder / target, "wb")) if target else theirs
        processes: list[subprocess.Popen[bytes]] = []
        opened.callback(_end, processes)
        with INTERRUPTS.held():
            _start(commands, place, output, theirs, processes)
        os.close(theirs)
        killer = threading.Timer(MINUTES, processes[-1].kill)
        opened.callback(killer.cancel)
        killer.start()
        text = ""
        for piece in _pieces(ours):
            show(piece)
            text += piece
        codes = [process.wait() for process in processes]
    return Ended(codes[-1], text)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Nothing is left running where Ctrl-C came in between."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
            process.wait()


def _start(
    commands: Sequence[Sequence[str]],
    place: Place,
    output: IO[bytes] | int,
    errors: int,
    processes: list[subprocess.Popen[bytes]],
) -> None:
    """Start the commands of a line, each reading what the one before it prints."""
    source: IO[bytes] | int | None = subprocess.DEVNULL
    for command in commands:
        target = output if len(processes) == len(commands) - 1 else subprocess.PIPE
        words, environ = found(command, place), place.environ
        process = subprocess.Popen(words, cwd=place.folder, env=environ, stdin=source, stdout=target, stderr=errors)
        if processes and processes[-1].stdout:
            processes[-1].stdout.close()  # the next command alone reads it
        processes.append(process)
        source = process.stdout


def found(command: Sequence[str], place: Place) -> list[str]:
    """The command with the path of its program, which Windows looks for in our own PATH instead of the given one."""
    import shutil

    program = shutil.which(command[0], path=place.environ["PATH"])
    if program is None:
        raise FileNotFoundError(f"no program {command[0]!r}")
    return [program, *command[1:]]


def _pieces(descriptor: int) -> Iterator[str]:
    """What can be read, as text, until the last writer is gone. A pseudo terminal then fails with EIO."""
    import codecs

    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with contextlib.closing(os.fdopen(descriptor, "rb", buffering=0)) as stream:
        while True:
            try:
                data = stream.read(65536)
            except OSError:
                return
            if not data:
                return
            yield decode(data)


class Background:
    """A command that goes on; each of its lines is shown as it comes."""

    def __init__(self, words: Sequence[str], place: Place, show: Callable[[str], None]) -> None:
        self.text = ""
        self._new = threading.Condition()
        self._process = subprocess.Popen(
            found(words, place),
            cwd=place.folder,
            env=place.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._reader = threading.Thread(target=self._read, args=(show,), daemon=True)
        self._reader.start()

    def _read(self, show: Callable[[str], None]) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            show(line)
            with self._new:
                self.text += line
                self._new.notify_all()
        self._process.wait()
        with self._new:
            self._new.notify_all()

    def wait_for(self, word: str, seconds: float) -> bool:
        """Whether it printed the word in time; False as soon as it has ended without."""
        with self._new:
            self._new.wait_for(lambda: word in self.text or self._process.poll() is not None, seconds)
            return word in self.text

    def end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join(5)
        if self._process.stdout:
            self._process.stdout.close()
