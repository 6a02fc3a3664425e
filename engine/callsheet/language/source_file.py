"""Definition files: their text and tables, the line of each key, and what all of them say."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli

from ..errors import DefinitionError

if TYPE_CHECKING:
    from .merge import Table


# Key path → line of a TOML file. Only used to word an error, so it reads the text again, slowly and simply.


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
    offsets = _offsets_of_keys(text)
    known = (path[:length] for length in range(len(path), 0, -1))
    nearest = next((offsets[part] for part in known if part in offsets), None)
    return 1 if nearest is None else text.count("\n", 0, nearest) + 1


@lru_cache(maxsize=4)
def _offsets_of_keys(text: str) -> dict[Path, int]:
    """Where each key stands for the first time. It is kept: a file with one fault often has many."""
    offsets: dict[Path, int] = {}
    for path, offset in keys_of(text):
        offsets.setdefault(path, offset)
    return offsets


def holds_path(tables: Any, path: Path) -> bool:
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
        if not holds_path(tables, (here,)):
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
    position = _skip_to_value(text, 0)
    while position < len(text):
        start = position
        if text[position] == "[":
            double = text.startswith("[[", position)
            keys, position = _key_at(text, position + 1 + double)
            table = _header_path(keys, counts, double=double)
            yield from ((table[:length], start) for length in range(1, len(table) + 1))
            position = text.find("\n", position)
            position = len(text) if position < 0 else position
        else:
            keys, position = _key_at(text, position)
            yield from ((table + keys[:length], start) for length in range(1, len(keys) + 1))
            position = yield from _value_keys(text, position + 1, table + keys)
        position = _skip_to_value(text, position)


def part_of_key(text: str, offset: int, number: int) -> tuple[int, int]:
    """Where a part of the dotted key or the header that begins at `offset` stands; parts are counted from 0."""
    position = offset
    while text[position] == "[":
        position += 1
    while True:
        position = _skip_spaces(text, position)
        bare = _BARE.match(text, position)
        end = position + len(_string_end(text, position) or (bare.group() if bare else ""))
        if number == 0:
            return position, end
        number, position = number - 1, _skip_spaces(text, end) + 1


def _header_path(keys: Path, counts: dict[Path, int], *, double: bool) -> Path:
    """The full path of a table header: names of arrays of tables are followed by the current index."""
    path: Path = ()
    for place, key in enumerate(keys):
        path += (key,)
        if place == len(keys) - 1 and double:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path += (counts[path],)
    return path


def _key_at(text: str, position: int) -> tuple[Path, int]:
    """A dotted key; the returned offset is at the `=` or `]` behind it."""
    keys: Path = ()
    while True:
        position = _skip_spaces(text, position)
        match = _string_end(text, position)
        if match:
            keys += (tomli.loads(f"key = {match}")["key"],)
        else:
            bare = _BARE.match(text, position)
            match = bare.group() if bare else ""
            keys += (match,)
        position = _skip_spaces(text, position + len(match))
        if text[position : position + 1] != ".":
            return keys, position
        position += 1


def _value_keys(text: str, position: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    """Yields the keys inside a value; returns the offset behind it."""
    position = _skip_to_value(text, position)
    match = _string_end(text, position)
    if match:
        return position + len(match)
    opening = text[position : position + 1]
    if opening == "[":
        return (yield from _array_keys(text, position + 1, path))
    if opening == "{":
        return (yield from _inline_table_keys(text, position + 1, path))
    scalar = _SCALAR.match(text, position)
    return max(scalar.end(), position + 1) if scalar else position + 1


def _array_keys(text: str, position: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    index = 0
    position = _skip_to_value(text, position)
    while position < len(text) and text[position] != "]":
        item = (*path, index)
        yield item, position
        position = _skip_to_value(text, (yield from _value_keys(text, position, item)))
        if text[position : position + 1] == ",":
            position = _skip_to_value(text, position + 1)
        index += 1
    return position + 1


def _inline_table_keys(text: str, position: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    position = _skip_to_value(text, position)
    while position < len(text) and text[position] != "}":
        start = position
        keys, position = _key_at(text, position)
        yield from ((path + keys[:length], start) for length in range(1, len(keys) + 1))
        position = _skip_to_value(text, (yield from _value_keys(text, position + 1, path + keys)))
        if text[position : position + 1] == ",":
            position = _skip_to_value(text, position + 1)
    return position + 1


def _string_end(text: str, position: int) -> str:
    for pattern in _STRINGS:
        match = pattern.match(text, position)
        if match:
            return match.group()
    return ""


def _skip_to_value(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _skip_spaces(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position


# What is read out of definition files: a file, one merged table, and all of them.


DEFAULTS = "defaults"
PROGRAM, RESOURCE = "program", "resource"  # kinds
# A table of a resource → the kind that it is compiled as.
PARTS = {"find": "lookup", "names": "naming", "snapshot": "snapshot", "address": "address"}


class SourceFile(NamedTuple):
    """`tables` are by kind and id, whether they define or extend; `extends` are those that extend.

    `language` is the version that the file is written in; `shipped` ones come with the program. `written` has the ids
    that the file writes for those that have another name now, and `moved` kind and id of what is a table of a resource
    now, by resource and table.
    """

    path: str
    layer: int
    depth: int
    tables: Table
    extends: frozenset[tuple[str, str]] = frozenset()
    language: int = 1
    shipped: bool = False
    written: dict[tuple[str, str], str] = {}  # noqa: RUF012 - made anew for each file that is read
    moved: dict[tuple[str, str], tuple[str, str]] = {}  # noqa: RUF012 - made anew for each file that is read


class Stale(NamedTuple):
    """A definition of a person's that is about something which is gone, and what is told of it."""

    path: str
    kind: str
    id: str
    text: str


class Inherited(NamedTuple):
    """A definition that another one is built on, and the place `at` that it fills there, with what it says `inside`.

    `use` is the place of the step that stands for shared ones, as the file has it.
    """

    at: Path
    base: Definition
    inside: Path = ()
    use: Path = ()


class Definition:
    """One merged table, and the files that had a say in it, in the order they are laid over one another.

    `laid` is what each of the files says. `inherited` are the definitions that it is built on. What is
    a part of a resource is `within` that table of it.
    """

    __slots__ = ("files", "id", "inherited", "kind", "laid", "references", "table", "within")

    table: Any  # of the shape of its kind, once it is checked: a function that reads it says which

    def __init__(self, kind: str, id: str, table: Table, file: SourceFile) -> None:
        self.kind = kind
        self.id = id
        self.table = table
        self.files = [file]
        self.laid = [table]
        self.inherited: list[Inherited] = []
        self.within = ""
        self.references: list[tuple[Path, str, str]] | None = None  # to what may call something, once looked for


class Definitions(dict[tuple[str, str], Definition]):
    """By kind and id. `removed` are those that a later file took away; the last of their files is that one.

    `idle` are removals of what is not there, as an error says them. `stale` are those that are about what is gone, and
    `notes` tell what is called differently now.
    """

    def __init__(self) -> None:
        super().__init__()
        self.idle: list[str] = []
        self.stale: list[Stale] = []
        self.notes: list[str] = []
        self.removed: dict[tuple[str, str], Definition] = {}
        self._by_kind: dict[str, list[Definition]] | None = None

    def of_kind(self, kind: str) -> list[Definition]:
        """In their order. Found again after a change: whoever walks over all definitions asks this for each."""
        if self._by_kind is None:
            self._by_kind = {}
            for each in self.values():
                self._by_kind.setdefault(each.kind, []).append(each)
        return self._by_kind.get(kind, [])

    def __setitem__(self, key: tuple[str, str], definition: Definition) -> None:
        self._by_kind = None
        super().__setitem__(key, definition)

    def __delitem__(self, key: tuple[str, str]) -> None:
        self._by_kind = None
        super().__delitem__(key)


# One definition file: its text, and the tables in it.


LANGUAGE, EXTEND = "language", "extend"
NEWEST = 2  # the version of the language that shipped definitions are written in
DEEPEST = 64  # tables and lists in one another; whatever reads a definition later needs no limit of its own


def read_definition_file(path: str, layer: int = 0, depth: int = 0, *, shipped: bool = False) -> SourceFile:
    """One parsed file; raises `DefinitionError` with the line of a syntax error."""
    text = read_definition_text(path)
    try:
        tables = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        line, problem = _where_in_message(str(error))
        raise DefinitionError(f"{path}:{line or _last_line(text)}: not TOML: {problem}") from None
    except RecursionError:
        raise DefinitionError(f"{path}:{_deepest_line(text)}: nested too deeply") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise DefinitionError(f"{path}:1: not TOML: {error}") from None
    if deep := way_too_deep(tables):
        raise DefinitionError(f"{path}:{line_of(text, deep)}: {'.'.join(map(str, deep[:2]))}: nested too deeply")
    return _divided_file(SourceFile(path, layer, depth, tables, shipped=shipped), text)


def _divided_file(file: SourceFile, text: str) -> SourceFile:
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


_HOLDS = (dict, list)


def way_too_deep(tables: Table) -> Path | None:
    """The way to something that lies too deep, if anything does."""
    level: list[Any] = [tables]  # all of one depth at once, without the ways to it: nothing ever lies too deep
    for _ in range(DEEPEST + 1):
        held = chain.from_iterable(value.values() if isinstance(value, dict) else value for value in level)
        level = [item for item in held if isinstance(item, _HOLDS)]
        if not level:
            return None
    waiting: list[tuple[Path, Any]] = [((), tables)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > DEEPEST:
            return path
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in value.items() if isinstance(item, _HOLDS)]
        elif isinstance(value, list):
            waiting += [((*path, place), item) for place, item in enumerate(value) if isinstance(item, _HOLDS)]
    return None


def read_definition_text(path: str) -> str:
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


def _where_in_message(message: str) -> tuple[str, str]:
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
    return f"{file.path}:{line_of(read_definition_text(file.path), path)}"
