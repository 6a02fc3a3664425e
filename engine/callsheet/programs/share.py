"""Programs that others can install: a directory of definition files."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import UsageError
from ..files import open_regular
from ..language.definition import PROGRAM
from ..language.layers import SUFFIX
from .program_names import check_name, prefix_of

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
