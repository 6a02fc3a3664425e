"""A program as a directory that others can install, and the file that says what is in it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import UsageError
from ..files import open_regular
from ..language.layers import SUFFIX
from ..language.source_file import PROGRAM
from ..written import write_output_file
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
    files = dict(_files(directory))
    programs: dict[str, Any] = {}
    for path, text in files.items():
        try:
            tables = tomllib.loads(text).get(PROGRAM)
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


def _files(directory: str) -> Iterator[tuple[str, str]]:
    count = total = 0
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in (*names, *folders) if not name.startswith(".")):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                raise UsageError(f"{path} is a symbolic link; only regular files can be installed")
        for name in sorted(name for name in names if name.endswith(SUFFIX) and not name.startswith(".")):
            text = _text(os.path.join(folder, name))
            count, total = count + 1, total + len(text)
            if count > _MOST_FILES or total > _LARGEST_OF_ALL:
                raise UsageError(f"{directory}: more than {_MOST_FILES} files or {_LARGEST_OF_ALL >> 20} MiB")
            relative = os.path.relpath(os.path.join(folder, name), directory).replace(os.sep, "/")
            if not all(_PART.fullmatch(part) for part in relative.split("/")):
                raise UsageError(f"{relative!r}: file names may contain only letters, digits, '.', '_' and '-'")
            yield relative, text


def _text(path: str) -> str:
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


def readme(program: str, title: str, commands: list[tuple[str, str]]) -> str:
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
        return [*tomllib.loads(text).get("command", {})]
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
