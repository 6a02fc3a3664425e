"""Writes down what a Python process does that a test started; Python imports this when it begins.

It imports nothing that is not there already: what a program imports is tested, too.
"""

from __future__ import annotations

import _thread
import os
import sys

TYPE_CHECKING = False  # the name means something to the type checker; the module typing would be one more import
if TYPE_CHECKING:
    from typing import Any

RECORD = "CANARY_RECORD"  # the variable that names the file to write to
EVENTS = frozenset(
    {"open", "os.rename", "subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "socket.connect"}
)


def told(event: str, arguments: tuple[Any, ...]) -> tuple[str, ...] | None:
    """What an audit event means: ("wrote", path), ("started", *words), ("connected", host), or None."""
    if event == "open":
        path, mode, flags = arguments
        writes = set(mode or "") & set("wax+") or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR))
        return ("wrote", os.path.abspath(os.fsdecode(path))) if writes and not isinstance(path, int) else None
    if event == "os.rename":
        return ("wrote", os.path.abspath(os.fsdecode(arguments[1])))
    if event == "socket.connect":
        address = arguments[1]
        return ("connected", str(address[0])) if isinstance(address, tuple) else None
    words = arguments[0] if event == "os.system" else arguments[1]
    given = [words] if isinstance(words, (str, bytes)) or hasattr(words, "__fspath__") else list(words)
    return ("started", *(os.fsdecode(word) for word in given))


def write(path: str, line: tuple[str, ...]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, ascii(line).encode() + b"\n")
    finally:
        os.close(handle)


def _follow(path: str) -> None:
    seen: set[tuple[str, ...]] = set()
    busy: set[int] = set()  # threads that are writing one down

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS or _thread.get_ident() in busy:
            return
        busy.add(_thread.get_ident())
        try:
            line = told(event, arguments)
            if line is not None and line not in seen:
                seen.add(line)
                write(path, line)
        except Exception:  # noqa: BLE001 - the library raises many kinds, and all mean the same
            pass
        finally:
            busy.discard(_thread.get_ident())

    sys.addaudithook(hook)


if __name__ == "sitecustomize" and RECORD in os.environ:
    _follow(os.environ[RECORD])
