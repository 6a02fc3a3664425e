"""Read definition files and lay later ones over earlier ones."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import DefinitionError, did_you_mean
from .layers import Layer, files_of
from .merge import merge

DEFAULTS = "defaults"


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


Definitions = dict[tuple[str, str], Definition]


def read(path: str, layer: int = 0, depth: int = 0) -> SourceFile:
    """One parsed file; raises `DefinitionError` with the line of a syntax error."""
    text = text_of(path)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, problem = _where(str(error))
        raise DefinitionError(f"{path}:{line}: not TOML: {problem}") from None
    except RecursionError:
        raise DefinitionError(f"{path}: nested too deeply") from None
    return SourceFile(path, layer, depth, tables)


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
    problem, _, place = message.partition(" (at line ")
    return (place.partition(",")[0].rstrip(")") if place[:1].isdigit() else "end"), problem


def load(found: list[Layer]) -> Definitions:
    """All definitions of a program. Raises `DefinitionError` with one detail per broken file."""
    definitions: Definitions = {}
    problems: list[str] = []
    for number, layer in enumerate(found):
        for path, depth in files_of(layer):
            try:
                _overlay(definitions, read(path, number, depth), problems)
            except DefinitionError as error:
                problems.append(error.message)
    if problems:
        raise DefinitionError(f"{len(problems)} problem{'s'[: len(problems) > 1]} in definitions", details=problems)
    return definitions


def _overlay(definitions: Definitions, file: SourceFile, problems: list[str]) -> None:
    for kind, id, table in _entries(file, problems):
        known = definitions.get((kind, id))
        if table.get("remove") is True:
            definitions.pop((kind, id), None)
        elif known is None:
            definitions[kind, id] = Definition(kind, id, merge({}, table), file)
        elif any(other.layer == file.layer and other.depth == file.depth for other in known.files):
            problems.append(f'{file.path}: {kind} "{id}": also defined in {known.files[-1].path}')
        else:
            known.table = merge(known.table, table)
            known.files.append(file)


def _entries(file: SourceFile, problems: list[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    defaults = file.tables.get(DEFAULTS, {})
    wrong = _wrong_defaults(defaults, file.tables)
    if wrong is not None:
        problems.append(f"{file.path}: {wrong}")
        return
    for kind, tables in file.tables.items():
        if kind == DEFAULTS:
            continue
        if not isinstance(tables, dict):
            problems.append(f"{file.path}: {kind}: expected tables [{kind}.<id>]")
            continue
        common = defaults.get(kind, {})
        for id, table in tables.items():
            if not isinstance(table, dict):
                problems.append(f"{file.path}: {kind}.{id}: expected a table")
            else:
                yield kind, id, {**common, **table}


def _wrong_defaults(defaults: Any, tables: dict[str, Any]) -> str | None:
    if not isinstance(defaults, dict):
        return f"{DEFAULTS}: expected tables [{DEFAULTS}.<kind>]"
    for kind, table in defaults.items():
        if not isinstance(table, dict):
            return f"{DEFAULTS}.{kind}: expected a table"
        if kind not in tables:
            return f"{DEFAULTS}.{kind}: no {kind} is defined in this file{did_you_mean(kind, tables)}"
    return None
