"""One definition file: its text, and the tables in it."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

from ..errors import DefinitionError
from .definition import SourceFile
from .locate import Path, line_of

if TYPE_CHECKING:
    from .merge import Table

LANGUAGE, EXTEND = "language", "extend"
NEWEST = 2  # the version of the language that shipped definitions are written in
DEEPEST = 64  # tables and lists in one another; whatever reads a definition later needs no limit of its own


def read_definition_file(path: str, layer: int = 0, depth: int = 0, *, shipped: bool = False) -> SourceFile:
    """One parsed file; raises `DefinitionError` with the line of a syntax error."""
    text = text_of(path)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, problem = _where(str(error))
        raise DefinitionError(f"{path}:{line or _last_line(text)}: not TOML: {problem}") from None
    except RecursionError:
        raise DefinitionError(f"{path}:{_deepest_line(text)}: nested too deeply") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise DefinitionError(f"{path}:1: not TOML: {error}") from None
    if deep := way_too_deep(tables):
        raise DefinitionError(f"{path}:{line_of(text, deep)}: {'.'.join(map(str, deep[:2]))}: nested too deeply")
    return _divided(SourceFile(path, layer, depth, tables, shipped=shipped), text)


def _divided(file: SourceFile, text: str) -> SourceFile:
    """With what `extend` holds among the other tables, and the version of the language on its own."""
    tables = dict(file.tables)
    language, extending = tables.pop(LANGUAGE, 1), tables.pop(EXTEND, {})
    if type(language) is not int or not 1 <= language <= NEWEST:
        newer = type(language) is int and language > NEWEST
        why = f"it is written for a newer version of the program, which knows {NEWEST}" if newer else "expected 1 or 2"
        raise DefinitionError(f"{file.path}:{line_of(text, (LANGUAGE,))}: {LANGUAGE} = {language!r}: {why}")
    if not isinstance(extending, dict) or not all(isinstance(each, dict) for each in extending.values()):
        raise DefinitionError(
            f"{file.path}:{line_of(text, (EXTEND,))}: {EXTEND}: expected tables [{EXTEND}.<kind>.<id>]"
        )
    for kind, definitions in extending.items():
        own = tables.get(kind, {})
        if twice := next((id for id in definitions if isinstance(own, dict) and id in own), None):
            at = f"{file.path}:{line_of(text, (EXTEND, kind, twice))}"
            raise DefinitionError(f'{at}: {kind} "{twice}": the same file defines it: change it there')
        tables[kind] = {**own, **definitions} if isinstance(own, dict) else own
    extends = frozenset((kind, id) for kind, definitions in extending.items() for id in definitions)
    return file._replace(tables=tables, extends=extends, language=language, written={}, moved={})


def _last_line(text: str) -> int:
    return max(1, len(text.splitlines()))


def _deepest_line(text: str) -> int:
    """The line with most brackets, in a text that is too deep to be read."""
    lines = text.splitlines()
    return 1 + max(range(len(lines)), key=lambda place: lines[place].count("[") + lines[place].count("{"), default=0)


def way_too_deep(tables: Table) -> Path | None:
    """The way to something that lies too deep, if anything does."""
    waiting: list[tuple[Path, Any]] = [((), tables)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > DEEPEST:
            return path
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in value.items() if isinstance(item, dict | list)]
        elif isinstance(value, list):
            waiting += [((*path, place), item) for place, item in enumerate(value) if isinstance(item, dict | list)]
    return None


def text_of(path: str) -> str:
    """A file's text without the byte order mark that some editors write; raises `DefinitionError`."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise DefinitionError(f"{path}: not a file")
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DefinitionError(f"{path}:{line}: not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise DefinitionError(f"{path}: {error.strerror}") from None


def _where(message: str) -> tuple[str, str]:
    """The line that the parser names, or nothing where it names the end of the file, and what it says."""
    problem, _, place = message.partition(" (at ")
    line = place.removeprefix("line ").partition(",")[0].rstrip(")")
    return (line if line.isdigit() else ""), problem


def place_in(file: SourceFile, *keys: str | int) -> str:
    """`path:line` of what a file says at these keys; the first two are a kind and an id."""
    path: Path = keys
    if len(keys) > 1:
        key = str(keys[0]), str(keys[1])
        if len(keys) > 2 and (moved := file.moved.get((key[1], str(keys[2])))) is not None:
            key, keys = moved, keys[1:]
        id = file.written.get(key, key[1])
        above: Path = (EXTEND,) if (key[0], id) in file.extends else ()
        path = (*above, key[0], id, *keys[2:])
    return f"{file.path}:{line_of(text_of(file.path), path)}"
