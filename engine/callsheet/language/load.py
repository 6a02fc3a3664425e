"""Read definition files and lay later ones over earlier ones."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import DefinitionError, did_you_mean
from .layers import Layer, files_of
from .locate import Path, line_of
from .merge import idle_removals, merge

DEFAULTS = "defaults"
PROGRAM = "program"
# What a program takes over from those that it uses. The rest is what a program says of itself.
_TAKEN_OVER = ("options", "paging", "id", "text", "synonyms", "aliases", "sections")
DEEPEST = 64  # tables and lists in one another; whatever reads a definition later needs no limit of its own


class SourceFile(NamedTuple):
    path: str
    layer: int
    depth: int
    tables: dict[str, Any]


class Definition:
    """One merged table, and the files that had a say in it, in the order they were laid over one another."""

    __slots__ = ("files", "id", "kind", "table")

    def __init__(self, kind: str, id: str, table: dict[str, Any], file: SourceFile) -> None:
        self.kind = kind
        self.id = id
        self.table = table
        self.files = [file]


class Definitions(dict[tuple[str, str], Definition]):
    """By kind and id. `removed` are those that a later file took away; the last of their files is that one."""

    def __init__(self) -> None:
        super().__init__()
        self.removed: dict[tuple[str, str], Definition] = {}


def read(path: str, layer: int = 0, depth: int = 0) -> SourceFile:
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
    if deep := _too_deep(tables):
        raise DefinitionError(f"{path}:{line_of(text, deep)}: {'.'.join(map(str, deep[:2]))}: nested too deeply")
    return SourceFile(path, layer, depth, tables)


def _last_line(text: str) -> int:
    return max(1, len(text.splitlines()))


def _deepest_line(text: str) -> int:
    """The line with most brackets, in a text that is too deep to be read."""
    lines = text.splitlines()
    return 1 + max(range(len(lines)), key=lambda place: lines[place].count("[") + lines[place].count("{"), default=0)


def _too_deep(tables: dict[str, Any]) -> Path | None:
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
        raise DefinitionError(f"{path}: not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise DefinitionError(f"{path}: {error.strerror}") from None


def _where(message: str) -> tuple[str, str]:
    """The line that the parser names, or nothing where it names the end of the file, and what it says."""
    problem, _, place = message.partition(" (at ")
    line = place.removeprefix("line ").partition(",")[0].rstrip(")")
    return (line if line.isdigit() else ""), problem


def load(found: list[Layer]) -> Definitions:
    """All definitions of a program. Raises `DefinitionError` with one detail per broken file."""
    definitions = Definitions()
    problems: list[str] = []
    for number, layer in enumerate(found):
        for path, depth in files_of(layer):
            try:
                _overlay(definitions, read(path, number, depth), problems)
            except DefinitionError as error:
                problems.append(error.message)
    if problems:
        raise DefinitionError(f"{len(problems)} problem{'s'[: len(problems) > 1]} in definitions", details=problems)
    _take_over(definitions)
    return definitions


def _take_over(definitions: Definitions) -> None:
    """Lay a program over those that it uses, and leave these out: then there is one program."""
    programs = {id: definition for (kind, id), definition in definitions.items() if kind == PROGRAM}
    used: set[str] = set()
    for program in programs.values():
        uses = program.table.get("uses")
        below: dict[str, Any] = {}
        for other in (programs[name] for name in uses if name in programs) if isinstance(uses, list) else ():
            below = merge(below, {key: other.table[key] for key in _TAKEN_OVER if key in other.table})
            program.files = [*other.files, *program.files]
            used.add(other.id)
        program.table = merge(below, program.table)
    for id in used:
        del definitions[PROGRAM, id]


def _overlay(definitions: Definitions, file: SourceFile, problems: list[str]) -> None:
    for kind, id, table in _entries(file, problems):
        known = definitions.get((kind, id))
        if table.get("remove") is True:
            problems += _remove(definitions, Definition(kind, id, {}, file))
        elif known is None:
            definitions[kind, id] = Definition(kind, id, merge({}, table), file)
        elif any(other.layer == file.layer and other.depth == file.depth for other in known.files):
            problems.append(f'{_at(file, kind, id)}: {kind} "{id}": also defined in {known.files[-1].path}')
        else:
            for path, near in idle_removals(known.table, table):
                key = ".".join(map(str, path))
                problems.append(f'{_at(file, kind, id, *path)}: {kind} "{id}": {key}: nothing to remove{near}')
            known.table = merge(known.table, table)
            known.files.append(file)


def _remove(definitions: Definitions, removal: Definition) -> list[str]:
    key = removal.kind, removal.id
    known = definitions.pop(key, None)
    if known is None:
        near = did_you_mean(removal.id, (id for kind, id in definitions if kind == removal.kind))
        return [f'{_at(removal.files[-1], *key)}: {removal.kind} "{removal.id}": nothing to remove{near}']
    known.files.extend(removal.files)
    definitions.removed[key] = known
    return []


def _at(file: SourceFile, *keys: str | int) -> str:
    return f"{file.path}:{line_of(text_of(file.path), keys)}"


def _entries(file: SourceFile, problems: list[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    defaults = file.tables.get(DEFAULTS, {})
    wrong = _wrong_defaults(defaults, file)
    if wrong is not None:
        problems.append(wrong)
        return
    for kind, tables in file.tables.items():
        if kind == DEFAULTS:
            continue
        if not isinstance(tables, dict):
            problems.append(f"{_at(file, kind)}: {kind}: expected tables [{kind}.<id>]")
            continue
        common = defaults.get(kind, {})
        for id, table in tables.items():
            if not isinstance(table, dict):
                problems.append(f"{_at(file, kind, id)}: {kind}.{id}: expected a table")
            else:
                yield kind, id, {**common, **table}


def _wrong_defaults(defaults: Any, file: SourceFile) -> str | None:
    if not isinstance(defaults, dict):
        return f"{_at(file, DEFAULTS)}: {DEFAULTS}: expected tables [{DEFAULTS}.<kind>]"
    for kind, table in defaults.items():
        problem = None
        if not isinstance(table, dict):
            problem = "expected a table"
        elif kind not in file.tables:
            problem = f"no {kind} is defined in this file{did_you_mean(kind, file.tables)}"
        if problem is not None:
            return f"{_at(file, DEFAULTS, kind)}: {DEFAULTS}.{kind}: {problem}"
    return None
