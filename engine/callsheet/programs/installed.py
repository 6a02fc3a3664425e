"""Programs that others can install, and those that are installed on this machine."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import tomli

from ..catalog.checked_files import record_of_checks
from ..errors import CallsheetError, UsageError, did_you_mean
from ..files import changeable_by_others, make_private_directory, open_regular
from ..installation import start_code
from ..language.layers import SUFFIX
from ..language.load import program_names, program_table
from ..language.source_file import PROGRAM
from ..openapi.definition_files import save_files
from ..output_files import output_file, write_output_file
from ..paths import cache_directory, config_directory, own_definitions_folder, settings_directory, shipped_definitions
from .naming import check_name, prefix_of

# Programs that others can install: a directory of definition files.


README = "README.md"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_MOST_FILES, _LARGEST, _LARGEST_OF_ALL = 5000, 8 << 20, 64 << 20  # files, bytes of one, bytes of all


class Shared(NamedTuple):
    """`files` by path relative to the directory, with what they hold: what is checked is what gets installed."""

    program: str
    table: dict[str, Any]
    files: dict[str, str]
    directory: str


def read_shared(directory: str) -> Shared:
    """The definition files of a directory; raises `UsageError` for links, for too much, and for what is no program."""
    if not os.path.isdir(directory):
        raise UsageError(f"{directory}: expected a directory of definition files")
    files = dict(_program_files(directory))
    programs: dict[str, Any] = {}
    for path, text in files.items():
        try:
            tables = tomli.loads(text).get(PROGRAM)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{os.path.join(directory, path)}: not TOML: {error}") from None
        programs |= tables if isinstance(tables, dict) else {}
    if len(programs) != 1 or not isinstance(next(iter(programs.values())), dict):
        found = f"it has {', '.join(map(repr, programs))}" if programs else "it has none"
        raise UsageError(f"{directory}: expected the definitions of one program; {found}")
    program, table = next(iter(programs.items()))
    check_name(program)
    if table.get("prefix") != prefix_of(program):
        hint = "else it could read the variables of another program"
        raise UsageError(f"program {program!r}: prefix must be {prefix_of(program)}", hint=hint)
    return Shared(program, table, files, directory)


def _program_files(directory: str) -> Iterator[tuple[str, str]]:
    count = total = 0
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in (*names, *folders) if not name.startswith(".")):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                raise UsageError(f"{path} is a symbolic link; only regular files can be installed")
        for name in sorted(name for name in names if name.endswith(SUFFIX) and not name.startswith(".")):
            text = _read_text(os.path.join(folder, name))
            count, total = count + 1, total + len(text)
            if count > _MOST_FILES or total > _LARGEST_OF_ALL:
                raise UsageError(f"{directory}: more than {_MOST_FILES} files or {_LARGEST_OF_ALL >> 20} MiB")
            relative = os.path.relpath(os.path.join(folder, name), directory).replace(os.sep, "/")
            if not all(_PART.fullmatch(part) for part in relative.split("/")):
                raise UsageError(f"{relative!r}: file names may contain only letters, digits, '.', '_' and '-'")
            yield relative, text


def _read_text(path: str) -> str:
    try:
        with open_regular(path) as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"{path}: larger than {_LARGEST >> 20} MiB")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def readme_text(program: str, title: str, commands: list[tuple[str, str]]) -> str:
    """What stands beside shared definitions for a person to read."""
    rows = "\n".join(f"    {program} {words}{' ' * max(1, 34 - len(words))}{help}" for words, help in commands)
    before = "A program of definitions for Callsheet. To install it, and to be shown before what it could do:"
    return f"# {program}\n\n{title}\n\n{before}\n\n    callsheet install .\n\nIts commands:\n\n{rows}\n"


# Which files of a program were made or installed, so that a new version leaves alone what a person has changed.


NAME = ".made.json"  # no definition file: those do not begin with a dot
_READABLE = 0o644


class Manifest(NamedTuple):
    """`files`: path → digest; `source`: the document or directory that they came from, "" where that is not known.

    `base_url` and `title` were chosen in the place of what the document says; `launchers` were written for it.
    """

    files: dict[str, str]
    source: str = ""
    base_url: str | None = None
    title: str | None = None
    launchers: tuple[str, ...] = ()


NO_MANIFEST = Manifest({})


class FileChanges(NamedTuple):
    """By path: `write` is new, `same` is there already, `kept` has been changed by the person and by the version."""

    write: dict[str, str]
    same: dict[str, str]
    remove: list[str]
    kept: list[str]


def read_manifest(directory: str) -> Manifest:
    """An empty one where there is none that can be read: then every file counts as changed by a person."""
    try:
        with open(os.path.join(directory, NAME), encoding="utf-8") as file:
            found: Any = json.load(file)
        files = {str(path): str(digest) for path, digest in found["files"].items() if ".." not in path.split("/")}
        given = {key: found[key] for key in ("source", "base_url", "title") if isinstance(found.get(key), str)}
        launchers = tuple(map(str, found.get("launchers", ())))
        return Manifest(files, **given, launchers=launchers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return NO_MANIFEST


def manifest_of(files: Mapping[str, str], manifest: Manifest = NO_MANIFEST) -> Manifest:
    """One of all that a version brings: path → text."""
    return manifest._replace(files={path: digest_of(text.encode()) for path, text in files.items()})


def write_manifest(directory: str, manifest: Manifest) -> None:
    text = json.dumps(manifest._asdict(), indent=1)
    write_output_file(os.path.join(directory, NAME), f"{text}\n".encode(), _READABLE)


def remember_launcher(directory: str, path: str) -> None:
    """For the day that the program is removed: nothing else tells of one that is not on the PATH."""
    manifest = read_manifest(directory)
    if path not in manifest.launchers:
        write_manifest(directory, manifest._replace(launchers=(*manifest.launchers, path)))


def with_present(directory: str, manifest: Manifest, folder: str) -> Manifest:
    """One that takes the files of a folder for untouched, whatever they say: their first lines say that they go."""
    found = {path: _digest_at(directory, path) for path in manifest.files if path.startswith(f"{folder}/")}
    files = {path: digest for path, digest in {**manifest.files, **found}.items() if digest is not None}
    return manifest._replace(files=files)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def changes_of_files(directory: str, manifest: Manifest, files: Mapping[str, str]) -> FileChanges:
    """What a new version does to a directory."""
    present = {path: _digest_at(directory, path) for path in {*files, *manifest.files}}
    write, same, kept = {}, {}, []
    for path, text in files.items():
        before, here, wanted = manifest.files.get(path), present[path], digest_of(text.encode())
        if here == wanted:
            same[path] = text
        elif here == before:
            write[path] = text
        elif wanted != before:
            kept.append(path)
    gone = [path for path, before in manifest.files.items() if path not in files]
    remove = [path for path in gone if is_untouched(directory, manifest, path)]
    return FileChanges(write, same, sorted(remove), sorted(kept))


def changed_commands(directory: str, manifest: Manifest, files: Mapping[str, str], changes: FileChanges) -> list[str]:
    """A line for each command that a new version brings or takes away."""
    present = {path: _text_at(directory, path) for path in {*files, *manifest.files}}
    before = [id for path in manifest.files for id in _commands(present[path])]
    brought = {**changes.same, **changes.write}
    after = [id for path in files for id in _commands(brought.get(path, present[path]))]
    after += [id for path in manifest.files if path not in (*files, *changes.remove) for id in _commands(present[path])]
    came = [f"+ command {id}" for id in after if id not in before]
    return [*came, *(f"- command {id}" for id in before if id not in after)]


def _text_at(directory: str, path: str) -> str:
    try:
        with open(os.path.join(directory, *path.split("/")), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _commands(text: str) -> list[str]:
    try:
        return [*tomli.loads(text).get("command", {})]
    except (ValueError, RecursionError, AttributeError, TypeError):
        return []


def is_untouched(directory: str, manifest: Manifest, path: str) -> bool:
    return _digest_at(directory, path) == manifest.files.get(path)


def _digest_at(directory: str, path: str) -> str | None:
    try:
        with open(os.path.join(directory, *path.split("/")), "rb") as file:
            return digest_of(file.read())
    except OSError:
        return None


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
    usual = _usual_directory(environ)
    beside = os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv[0] else usual
    on_path = [each for each in (usual, beside) if is_on_path(each, environ) and _is_own(each)]
    return on_path[0] if on_path else usual


def _usual_directory(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(environ.get("LOCALAPPDATA") or home, "callsheet", "bin")
    return os.path.join(home, ".local", "bin")


def is_on_path(directory: str, environ: Mapping[str, str]) -> bool:
    entries = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    return _normalized_path(directory) in {_normalized_path(entry) for entry in entries}


def _normalized_path(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _is_own(directory: str) -> bool:
    """Whether a person may write there and nobody else may."""
    return os.path.isdir(directory) and os.access(directory, os.W_OK) and changeable_by_others(directory) is None


def started_program(path: str) -> str | None:
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
    if os.path.lexists(path) and (os.path.islink(path) or started_program(path) != program):
        raise UsageError(f"{path} is another program", hint="choose another name, or another directory with --bin")


def write_launcher(program: str, directory: str, environ: Mapping[str, str]) -> Launcher:
    """Raises `UsageError` where another file stands in the way or nothing can be written."""
    check_launcher(program, directory)
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}", hint="choose another directory with --bin") from None
    path = launcher_path(program, directory)
    text = _batch_script(program) if sys.platform == "win32" else _shell_script(program)
    with output_file(path, named=False, mode=_EXECUTABLE) as file:
        file.write(text.encode())
    return look_up(program, directory, environ)


def look_up(program: str, directory: str, environ: Mapping[str, str]) -> Launcher:
    path = launcher_path(program, directory)
    found = shutil.which(program, path=environ.get("PATH", ""))
    hidden_by = found if found and _normalized_path(found) != _normalized_path(path) else None
    return Launcher(path, is_on_path(directory, environ), hidden_by)


def find_launcher(program: str, environ: Mapping[str, str]) -> str | None:
    """The launcher of a program: where launchers go, or anywhere on the PATH."""
    return next(iter(find_launchers(program, environ)), None)


def find_launchers(program: str, environ: Mapping[str, str], known: Iterable[str] = ()) -> list[str]:
    """All of them: also those of the `known` paths that still start the program."""
    entries = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    places = (launcher_directory(environ, None), _usual_directory(environ), *entries)
    paths = dict.fromkeys([*(launcher_path(program, directory) for directory in places), *known])
    return [path for path in paths if not os.path.islink(path) and started_program(path) == program]


def remove_launchers(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            os.remove(path)
        except OSError as error:
            raise CallsheetError(f"{path}: {error.strerror}") from None


def another_program(program: str, environ: Mapping[str, str]) -> str | None:
    """What a shell starts by this name now, where that is no launcher of ours."""
    found = shutil.which(program, path=environ.get("PATH", ""))
    return found if found and started_program(found) is None else None


def _shell_script(program: str) -> str:
    python, start = shlex.quote(sys.executable), shlex.quote(start_code(program))
    return f'#!/bin/sh\n# {_MARK} {program}\nexec {python} -P -c {start} "$@"\n'


def _batch_script(program: str) -> str:
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
    return own_definitions_folder(environ, program)


def refuse_existing(program: str, environ: Mapping[str, str]) -> None:
    shipped, _ = shipped_definitions()
    if os.path.isdir(os.path.join(shipped, program)):
        raise UsageError(f"{program!r} is the name of a built-in program", hint="choose another name")
    if os.path.lexists(own_definitions_folder(environ, program)):
        hint = f"remove it first: {{program}} remove {program}"
        raise UsageError(f"program {program!r} already exists", hint=hint)


def install_program(program: str, files: Mapping[str, str], manifest: Manifest, environ: Mapping[str, str]) -> str:
    """Write the definitions of a new program; all of them are there, or none. Returns the directory."""
    directory = own_definitions_folder(environ, program)
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
    for directory in (own_definitions_folder(environ, program), settings_directory(environ, program)):
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
    compiled = glob.glob(os.path.join(glob.escape(cache_directory(environ)), f"{program}-????????.sqlite*"))
    for path in (*compiled, record_of_checks(program, environ)):
        with contextlib.suppress(OSError):
            os.remove(path)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.join(config_directory(environ), "programs"))
    return gone
