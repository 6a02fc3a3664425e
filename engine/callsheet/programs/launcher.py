"""The file that starts a program: where it goes, writing it, taking it away. Nobody else's file is ever touched."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors import CallsheetError, UsageError
from ..files import changeable_by_others
from ..installation import start_code
from ..written import output_file

BIN = "CALLSHEET_BIN"
_MARK = "callsheet launcher:"
_HEAD = 300  # bytes in which the mark stands
_EXECUTABLE = 0o755


class Launcher(NamedTuple):
    """`on_path`: a shell finds it by its name. `hidden_by` is another file that a shell finds first."""

    path: str
    on_path: bool
    hidden_by: str | None


def launcher_path(program: str, directory: str) -> str:
    return os.path.join(directory, f"{program}.cmd" if sys.platform == "win32" else program)


def launcher_directory(environ: Mapping[str, str], chosen: str | None) -> str:
    """Where launchers go: what was chosen, else a directory of the person's own that is on the PATH.

    That is `~/.local/bin`, or where the running program itself lies. When neither is on the PATH it is the first.
    """
    given = chosen or environ.get(BIN)
    if given:
        return os.path.abspath(given)
    usual = _usual(environ)
    beside = os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv[0] else usual
    on_path = [each for each in (usual, beside) if is_on_path(each, environ) and _is_own(each)]
    return on_path[0] if on_path else usual


def _usual(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(environ.get("LOCALAPPDATA") or home, "callsheet", "bin")
    return os.path.join(home, ".local", "bin")


def is_on_path(directory: str, environ: Mapping[str, str]) -> bool:
    entries = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    return _same(directory) in {_same(entry) for entry in entries}


def _same(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _is_own(directory: str) -> bool:
    """Whether a person may write there and nobody else may."""
    return os.path.isdir(directory) and os.access(directory, os.W_OK) and changeable_by_others(directory) is None


def starts(path: str) -> str | None:
    """The program that a launcher of ours starts; None for any other file."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return None
    _, mark, rest = head.partition(_MARK)
    return rest.split()[0] if mark and rest.split() else None


def check_launcher(program: str, directory: str) -> None:
    """Raise `UsageError` where a file stands in the way that is not a launcher of this program."""
    path = launcher_path(program, directory)
    if os.path.lexists(path) and (os.path.islink(path) or starts(path) != program):
        raise UsageError(f"{path} is another program", hint="choose another name, or another directory with --bin")


def write_launcher(program: str, directory: str, environ: Mapping[str, str]) -> Launcher:
    """Raises `UsageError` where another file stands in the way or nothing can be written."""
    check_launcher(program, directory)
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}", hint="choose another directory with --bin") from None
    path = launcher_path(program, directory)
    text = _cmd(program) if sys.platform == "win32" else _script(program)
    with output_file(path, named=False, mode=_EXECUTABLE) as file:
        file.write(text.encode())
    return look_up(program, directory, environ)


def look_up(program: str, directory: str, environ: Mapping[str, str]) -> Launcher:
    path = launcher_path(program, directory)
    found = shutil.which(program, path=environ.get("PATH", ""))
    hidden_by = found if found and _same(found) != _same(path) else None
    return Launcher(path, is_on_path(directory, environ), hidden_by)


def find_launcher(program: str, environ: Mapping[str, str]) -> str | None:
    """The launcher of a program: where launchers go, or anywhere on the PATH."""
    return next(iter(find_launchers(program, environ)), None)


def find_launchers(program: str, environ: Mapping[str, str], known: Iterable[str] = ()) -> list[str]:
    """All of them: also those of the `known` paths that still start the program."""
    entries = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    places = (launcher_directory(environ, None), _usual(environ), *entries)
    paths = dict.fromkeys([*(launcher_path(program, directory) for directory in places), *known])
    return [path for path in paths if not os.path.islink(path) and starts(path) == program]


def remove_launchers(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            os.remove(path)
        except OSError as error:
            raise CallsheetError(f"{path}: {error.strerror}") from None


def another_program(program: str, environ: Mapping[str, str]) -> str | None:
    """What a shell starts by this name now, where that is no launcher of ours."""
    found = shutil.which(program, path=environ.get("PATH", ""))
    return found if found and starts(found) is None else None


def _script(program: str) -> str:
    python, start = shlex.quote(sys.executable), shlex.quote(start_code(program))
    return f'#!/bin/sh\n# {_MARK} {program}\nexec {python} -P -c {start} "$@"\n'


def _cmd(program: str) -> str:
    start = start_code(program).replace("%", "%%").replace('"', '\\"')
    python = sys.executable.replace("%", "%%")
    return f'@echo off\r\nrem {_MARK} {program}\r\n"{python}" -P -c "{start}" %*\r\n'
