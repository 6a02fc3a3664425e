"""What this process does, and every Python process below it: files written, programs started, addresses connected to.

An audit hook observes each. In other processes `followed/sitecustomize.py` sets it up and writes down what it sees.
"""

from __future__ import annotations

import ast
import contextlib
import ipaddress
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.canary import GIVEN, file_leaks, leaks
from support.followed import sitecustomize

_PREFIX = "callsheet-watched-"
_FOLLOWED = str(Path(sitecustomize.__file__).parent)


class Watch:
    """What was done since `reset`, by this process and by those that it started."""

    def __init__(self) -> None:
        handle, self._record = tempfile.mkstemp(prefix=_PREFIX)
        os.close(handle)
        self._read = 0
        self.reset()

    def reset(self) -> None:
        self.written: set[str] = set()
        self.problems: list[str] = []
        self._read = os.path.getsize(self._record)

    def close(self) -> None:
        os.unlink(self._record)

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of a process that is to be followed."""
        before = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != _FOLLOWED]
        return {**environ, "PYTHONPATH": os.pathsep.join([_FOLLOWED, *before]), sitecustomize.RECORD: self._record}

    def seen(self, what: str, values: tuple[str, ...]) -> None:
        if what == "wrote" and not os.path.basename(values[0]).startswith(_PREFIX):
            self.written.add(values[0])
        elif what == "started":
            if leaks(b" ".join(os.fsencode(word) for word in values)):
                self._tell(f"a secret is an argument of a process: {list(values)}")
        elif what == "connected":
            with contextlib.suppress(ValueError):
                if not ipaddress.ip_address(values[0]).is_loopback:
                    self._tell(f"a test connected to {values[0]}, which is not this machine")

    def _tell(self, problem: str) -> None:
        """Once: some versions of Python start a program by a call that is an event of its own."""
        if problem not in self.problems:
            self.problems.append(problem)

    def found(self) -> list[str]:
        """What is wrong with what happened since `reset`."""
        self._read_record()
        files = (Path(path) for path in sorted(self.written) if GIVEN not in Path(path).parts)
        return self.problems + [f"a secret was written to {path}" for path in files if file_leaks(path)]

    def _read_record(self) -> None:
        with open(self._record, "rb") as file:
            file.seek(self._read)
            for line in file.read().splitlines():
                what, *values = ast.literal_eval(line.decode("ascii"))
                self.seen(what, tuple(values))
            self._read = file.tell()


_CURRENT: list[Watch] = []
_OWN = os.getpid()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _CURRENT or event not in sitecustomize.EVENTS:
        return
    with contextlib.suppress(Exception):  # an exception here would change what is tested
        told = sitecustomize.told(event, arguments)
        if told is None:
            return
        if os.getpid() != _OWN:  # between fork and exec
            sitecustomize.write(_CURRENT[-1].variables({})[sitecustomize.RECORD], told)
        for watch in _CURRENT:
            watch.seen(told[0], told[1:])


def note_start(words: Sequence[str]) -> None:
    """A program that is started in a way that no audit hook sees."""
    for watch in _CURRENT:
        watch.seen("started", tuple(words))


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """Observe this process, and those that it starts meanwhile, while the block runs."""
    watch = Watch()
    if not _CURRENT and not getattr(sys, "_canary_hook", False):
        sys.addaudithook(_hook)  # for good: there is no way to take one away
        sys._canary_hook = True  # type: ignore[attr-defined]
    _CURRENT.append(watch)
    try:
        with following(watch):
            yield watch
    finally:
        _CURRENT.remove(watch)
        watch.close()


@contextlib.contextmanager
def following(watch: Watch) -> Iterator[None]:
    """Every program that is started meanwhile is followed, also with an environment of its own."""
    start = subprocess.Popen.__init__
    before = dict(os.environ)

    def started(self: Any, *arguments: Any, **named: Any) -> None:
        if named.get("env") is not None:
            named["env"] = _CURRENT[-1].variables(named["env"])
        start(self, *arguments, **named)

    os.environ.update(watch.variables(before))
    subprocess.Popen.__init__ = started  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        subprocess.Popen.__init__ = start  # type: ignore[method-assign]
        for name in ("PYTHONPATH", sitecustomize.RECORD):
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
