"""A credential that is searched for in everything: what a test printed, wrote, sent to strangers or started.

`watch` observes this process by an audit hook: files opened for writing, programs started, addresses connected to.
A test puts what a person would have given (a token file, a password) into a folder called `given`, which is not
searched. Whatever else holds the canary in clear or in base64 fails the test that was running.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

CANARY = "canary-5f2e"
GIVEN = "given"
LARGEST = 32 * 1024 * 1024

_FORMS = [
    CANARY.encode(),
    CANARY.encode("utf-16-le"),
    CANARY.encode().hex().encode(),
    *(base64.b64encode(b"x" * n + CANARY.encode())[8:-4] for n in (0, 1, 2)),
]


def leaks(data: bytes) -> bool:
    """Whether the canary stands in some bytes: as it is, in base64, in hexadecimal or in UTF-16."""
    return any(form in data for form in _FORMS)


def file_leaks(path: Path) -> bool:
    with contextlib.suppress(OSError):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
            return leaks(path.read_bytes())
    return False


def leaking_files(root: Path) -> list[Path]:
    """Files below a folder that hold the canary, but for what was given."""
    return [path for path in root.rglob("*") if GIVEN not in path.parts and file_leaks(path)]


class Watch:
    """What this process did since `reset`."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.written: set[str] = set()
        self.problems: list[str] = []

    def seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, str) and (set(mode or "") & set("wax+") or _writes(flags)):
                self.written.add(os.path.abspath(path))
        elif event == "os.rename":
            self.written.add(os.path.abspath(os.fsdecode(arguments[1])))
        elif event in {"subprocess.Popen", "os.posix_spawn", "os.exec"}:
            words = arguments[1]
            given = [words] if isinstance(words, str | bytes) else list(words)
            if leaks(b" ".join(os.fsencode(word) for word in given)):
                self.problems.append(f"a secret is an argument of a process: {given}")
        elif event == "socket.connect":
            self._connected(arguments[1])

    def _connected(self, address: Any) -> None:
        if isinstance(address, tuple):
            with contextlib.suppress(ValueError):
                if not ipaddress.ip_address(address[0]).is_loopback:
                    self.problems.append(f"a test connected to {address}, which is not this machine")

    def found(self) -> list[str]:
        """What is wrong with what happened since `reset`."""
        files = (Path(path) for path in self.written if GIVEN not in Path(path).parts)
        return self.problems + [f"a secret was written to {path}" for path in files if file_leaks(path)]


def _writes(flags: int | None) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


_CURRENT: list[Watch] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for watch in _CURRENT:
        with contextlib.suppress(Exception):  # an exception here would change what is tested
            watch.seen(event, arguments)


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """Observe this process while the block runs."""
    watch = Watch()
    if not _CURRENT and not getattr(sys, "_canary_hook", False):
        sys.addaudithook(_hook)  # for good: there is no way to take one away
        sys._canary_hook = True  # type: ignore[attr-defined]
    _CURRENT.append(watch)
    try:
        yield watch
    finally:
        _CURRENT.remove(watch)


def nothing_leaked(received: Iterable[bytes], who: str) -> None:
    """Fail when a stranger was sent the canary."""
    for data in received:
        assert not leaks(data), f"{who} received a secret: {data[:2000]!r}"
