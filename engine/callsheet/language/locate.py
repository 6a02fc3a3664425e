"""Key path → line of a TOML file. Only used to word an error, so it reads the text again, slowly and simply."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Generator, Iterator
from functools import lru_cache
from typing import Any

Path = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"{3,5}(?!")', re.DOTALL),
    re.compile(r"'''.*?'{3,5}(?!')", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\])*"'),
    re.compile(r"'[^']*'"),
)


def line_of(text: str, path: Path) -> int:
    """The line, counted from 1, of the key at `path`, or of its nearest ancestor that the file holds.

    `text` must be valid TOML. Integers in `path` index into arrays.
    """
    offsets = _offsets(text)
    known = (path[:length] for length in range(len(path), 0, -1))
    nearest = next((offsets[part] for part in known if part in offsets), None)
    return 1 if nearest is None else text.count("\n", 0, nearest) + 1


@lru_cache(maxsize=4)
def _offsets(text: str) -> dict[Path, int]:
    """Where each key stands for the first time. It is kept: a file with one fault often has many."""
    offsets: dict[Path, int] = {}
    for path, offset in keys_of(text):
        offsets.setdefault(path, offset)
    return offsets


def holds(tables: Any, path: Path) -> bool:
    """Whether parsed TOML has a value at `path`."""
    for key in path:
        in_table = isinstance(tables, dict) and key in tables
        in_array = isinstance(tables, list) and isinstance(key, int) and 0 <= key < len(tables)
        if not (in_table or in_array):
            return False
        tables = tables[key]
    return True


def path_in(tables: Any, merged: Any, path: Path) -> Path | None:
    """Where one file says what stands at `path` after merging; None when the file is silent about it.

    Lists of named tables are merged by name, and one step may stand for several, so indexes differ between a file and
    the whole.
    """
    translated: Path = ()
    for key in path:
        merged = merged[key] if isinstance(key, int) or (isinstance(merged, dict) and key in merged) else None
        here = _same_name(tables, merged, key) if isinstance(key, int) else key
        if not holds(tables, (here,)):
            return None
        tables = tables[here]
        translated += (here,)
    return translated


def _same_name(items: Any, wanted: Any, index: int) -> int:
    if not isinstance(items, list) or not isinstance(wanted, dict):
        return index
    if "name" in wanted:
        named = (i for i, item in enumerate(items) if isinstance(item, dict) and item.get("name") == wanted["name"])
        return next(named, -1)
    return next((i for i, item in enumerate(items) if item == wanted), index)


def keys_of(text: str) -> Iterator[tuple[Path, int]]:
    """Every key of the file with its full path and offset, intermediate tables included.

    All parts of a dotted key, and of a header, have the offset where that begins.
    """
    table: Path = ()
    counts: dict[Path, int] = {}
    position = _skip(text, 0)
    while position < len(text):
        start = position
        if text[position] == "[":
            double = text.startswith("[[", position)
            keys, position = _key(text, position + 1 + double)
            table = _header(keys, counts, double=double)
            yield from ((table[:length], start) for length in range(1, len(table) + 1))
            position = text.find("\n", position)
            position = len(text) if position < 0 else position
        else:
            keys, position = _key(text, position)
            yield from ((table + keys[:length], start) for length in range(1, len(keys) + 1))
            position = yield from _value(text, position + 1, table + keys)
        position = _skip(text, position)


def part_of_key(text: str, offset: int, number: int) -> tuple[int, int]:
    """Where a part of the dotted key or the header that begins at `offset` stands; parts are counted from 0."""
    position = offset
    while text[position] == "[":
        position += 1
    while True:
        position = _spaces(text, position)
        bare = _BARE.match(text, position)
        end = position + len(_string(text, position) or (bare.group() if bare else ""))
        if number == 0:
            return position, end
        number, position = number - 1, _spaces(text, end) + 1


def _header(keys: Path, counts: dict[Path, int], *, double: bool) -> Path:
    """The full path of a table header: names of arrays of tables are followed by the current index."""
    path: Path = ()
    for place, key in enumerate(keys):
        path += (key,)
        if place == len(keys) - 1 and double:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path += (counts[path],)
    return path


def _key(text: str, position: int) -> tuple[Path, int]:
    """A dotted key; the returned offset is at the `=` or `]` behind it."""
    keys: Path = ()
    while True:
        position = _spaces(text, position)
        match = _string(text, position)
        if match:
            keys += (tomllib.loads(f"key = {match}")["key"],)
        else:
            bare = _BARE.match(text, position)
            match = bare.group() if bare else ""
            keys += (match,)
        position = _spaces(text, position + len(match))
        if text[position : position + 1] != ".":
            return keys, position
        position += 1


def _value(text: str, position: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    """Yields the keys inside a value; returns the offset behind it."""
    position = _skip(text, position)
    match = _string(text, position)
    if match:
        return position + len(match)
    opening = text[position : position + 1]
    if opening == "[":
        return (yield from _array(text, position + 1, path))
    if opening == "{":
        return (yield from _inline(text, position + 1, path))
    scalar = _SCALAR.match(text, position)
    return max(scalar.end(), position + 1) if scalar else position + 1


def _array(text: str, position: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    index = 0
    position = _skip(text, position)
    while position < len(text) and text[position] != "]":
        item = (*path, index)
        yield item, position
        position = _skip(text, (yield from _value(text, position, item)))
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        index += 1
    return position + 1


def _inline(text: str, position: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    position = _skip(text, position)
    while position < len(text) and text[position] != "}":
        start = position
        keys, position = _key(text, position)
        yield from ((path + keys[:length], start) for length in range(1, len(keys) + 1))
        position = _skip(text, (yield from _value(text, position + 1, path + keys)))
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return position + 1


def _string(text: str, position: int) -> str:
    for pattern in _STRINGS:
        match = pattern.match(text, position)
        if match:
            return match.group()
    return ""


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _spaces(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position
