"""One definition file: its text, and the tables in it."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from ..errors import DefinitionError
from .definition import SourceFile
from .locate import Path, line_of

DEEPEST = 64  # tables and lists in one another; whatever reads a definition later needs no limit of its own


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


def place_in(file: SourceFile, *keys: str | int) -> str:
    """`path:line` of what a file says at these keys."""
    return f"{file.path}:{line_of(text_of(file.path), keys)}"
