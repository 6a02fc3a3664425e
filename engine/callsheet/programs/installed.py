"""Programs that are installed on this machine, and the launchers that start them."""

from __future__ import annotations

import contextlib
import glob
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..errors import CallsheetError, UsageError, did_you_mean
from ..files import changeable_by_others, make_private_directory
from ..installation import start_code
from ..language.programs import program_names, program_table
from ..openapi.definition_files import save_files
from ..paths import cache_directory, config_directory, own_definitions, settings_directory, shipped_definitions
from ..written import output_file
from .share import FileChanges, Manifest, manifest_of, write_manifest

# The file that starts a program: where it goes, writing it, taking it away. Nobody else's file is ever touched.


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


# The programs that there are, and the files of those that belong to a person.


OWN, BUILT_IN = "own", "built in"


class Installed(NamedTuple):
    program: str
    title: str
    kind: str
    launcher: str | None


def is_shipped(program: str) -> bool:
    return program in program_names({}, own=False)


def installed_programs(environ: Mapping[str, str]) -> Iterator[Installed]:
    """Every program that can be called. What only changes a built-in one is not a program."""
    for name in program_names(environ):
        table = program_table(name, environ)
        if table.get("hidden") is not True and (table or not is_shipped(name)):
            kind = BUILT_IN if is_shipped(name) else OWN
            yield Installed(name, str(table.get("title", "")), kind, find_launcher(name, environ))


def own_directory(program: str, environ: Mapping[str, str]) -> str:
    """Where the definitions of a person's own program are; raises `UsageError` where there is no such program."""
    own = [each.program for each in installed_programs(environ) if each.kind == OWN]
    if is_shipped(program):
        raise UsageError(f"{program} is built in; this works with programs of your own only")
    if program not in own:
        known = f" (there are: {', '.join(own)})" if own else ""
        raise UsageError(f"no program {program!r} of your own{did_you_mean(program, own)}{known}")
    return own_definitions(environ, program)


def refuse_existing(program: str, environ: Mapping[str, str]) -> None:
    shipped, _ = shipped_definitions()
    if os.path.isdir(os.path.join(shipped, program)):
        raise UsageError(f"{program!r} is the name of a built-in program", hint="choose another name")
    if os.path.lexists(own_definitions(environ, program)):
        hint = f"remove it first: {{program}} remove {program}"
        raise UsageError(f"program {program!r} already exists", hint=hint)


def install_program(program: str, files: Mapping[str, str], manifest: Manifest, environ: Mapping[str, str]) -> str:
    """Write the definitions of a new program; all of them are there, or none. Returns the directory."""
    directory = own_definitions(environ, program)
    parent = os.path.dirname(directory)
    make_private_directory(parent)
    fresh = os.path.join(parent, f".{program}.{os.getpid()}")
    try:
        save_files(files, fresh)
        write_manifest(fresh, manifest_of(files, manifest))
        os.rename(fresh, directory)
    except OSError as error:
        raise CallsheetError(f"{error.filename or directory}: {error.strerror}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return directory


def renew_installed_program(directory: str, files: Mapping[str, str], changes: FileChanges, manifest: Manifest) -> None:
    """Write the new version of a program: `files` are all of it, `changes` what it does to the directory.

    The manifest is written last: where that is not reached, the next update does it all again.
    """
    try:
        save_files(changes.write, directory)
        for path in changes.remove:
            os.remove(os.path.join(directory, *path.split("/")))
        write_manifest(directory, manifest_of(files, manifest))
    except OSError as error:
        raise CallsheetError(f"{error.filename or directory}: {error.strerror}") from None


def remove_program_files(program: str, environ: Mapping[str, str]) -> list[str]:
    """Delete definitions, settings and what was compiled; returns the directories that are gone."""
    gone = []
    for directory in (own_definitions(environ, program), settings_directory(environ, program)):
        if os.path.islink(directory):
            os.remove(directory)  # what it leads to is somebody else's
        elif os.path.isdir(directory):
            try:
                shutil.rmtree(directory)
            except OSError as error:
                raise CallsheetError(f"{error.filename}: {error.strerror}") from None
        else:
            continue
        gone.append(directory)
    for path in glob.glob(os.path.join(glob.escape(cache_directory(environ)), f"{program}-????????.sqlite")):
        with contextlib.suppress(OSError):
            os.remove(path)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.join(config_directory(environ), "programs"))
    return gone
