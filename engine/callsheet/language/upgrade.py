"""Files of definitions rewritten in the words of today. Only these words change: comments and layout stay."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import tomli

from ..errors import DefinitionError
from .layers import Layer, files_of
from .load import overlay_definition
from .parameters import tool_name
from .renames import NAME, Renamed, moved_definition, present_id, renamed_keys, with_new_keys, with_resources
from .source_file import (
    DEFAULTS,
    EXTEND,
    LANGUAGE,
    NEWEST,
    RESOURCE,
    Definitions,
    Path,
    SourceFile,
    keys_of,
    line_of,
    part_of_key,
    read_definition_file,
    read_definition_text,
)

if TYPE_CHECKING:
    from .merge import Table


class Upgrade(NamedTuple):
    """A file, its text as it is and as it could be; `changes` says how many words are new.

    `written` are the bytes of the new text: line ends and a byte order mark are what they were.
    """

    path: str
    before: str
    after: str
    changes: int
    written: bytes


class _Part(NamedTuple):
    """A part of a key or a header: where it leads, where it stands, and whether it begins a line of the whole file."""

    path: Path
    start: int
    end: int
    is_first: bool


Edit = tuple[int, int, str]
Key = tuple[str, str]


def find_upgrades(found: list[Layer], wanted: Collection[str] = ()) -> Iterator[Upgrade]:
    """What could be changed in a person's files, or in those that are `wanted`.

    Raises `DefinitionError` for a file that cannot be read, or that only a person can divide.
    """
    definitions = Definitions()
    for number, layer in enumerate(found):
        for path, depth in files_of(layer):
            file = read_definition_file(path, number, depth, shipped=layer.shipped)
            if path in wanted or not (wanted or layer.shipped):
                yield _upgraded_file(file, definitions)
            overlay_definition(definitions, file, [])


def _upgraded_file(file: SourceFile, definitions: Definitions) -> Upgrade:
    text = read_definition_text(file.path)
    parts = list(_parts_of_text(text))
    words = list(_renamed_words(file, definitions, parts))
    changing = {
        (kind, id)
        for kind, id, of, now, _, _ in moved_definition(definitions, file)
        if of != RESOURCE and now not in file.tables.get(of, {}) and (kind, id) not in file.extends
    }
    if file.language < NEWEST:
        changing |= {
            (kind, id)
            for kind, id, _ in _tables_of_file(file)
            if (kind, present_id(definitions, kind, id)) in definitions and (kind, id) not in file.extends
        }
    edits = [*words, *_extending_edits(file.path, text, parts, changing)]
    version = _version_edit(text, parts) if file.language < NEWEST else None
    return _rewritten_file(file, definitions, edits, version)


def _rewritten_file(file: SourceFile, definitions: Definitions, edits: list[Edit], version: Edit | None) -> Upgrade:
    """`version` stands before all other edits."""
    text, raw = read_definition_text(file.path), _raw_text(file.path)
    last = [version] if version else []
    after = _applied_edits(_applied_edits(text, edits), last)
    _check_same(file, definitions, after)
    places, ends = _file_offsets(raw), "\r\n" if raw.partition("\n")[0].endswith("\r") else "\n"
    theirs = [(places[start], places[end], new.replace("\n", ends)) for start, end, new in (*edits, *last)]
    written = _applied_edits(_applied_edits(raw, theirs[: len(edits)]), theirs[len(edits) :])
    return Upgrade(file.path, text, after, len(theirs), written.encode())


def _raw_text(path: str) -> str:
    """A file's text with its own line ends, and the byte order mark where it has one."""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def _file_offsets(raw: str) -> list[int]:
    """Where each character of the text that was read stands in the file, and where the file ends."""
    start = int(raw.startswith("\ufeff"))
    return [place for place in range(start, len(raw)) if raw[place - 1 : place + 1] != "\r\n"] + [len(raw)]


def _tables_of_file(file: SourceFile) -> Iterator[tuple[str, str, Table]]:
    for kind, tables in file.tables.items():
        if kind != DEFAULTS and isinstance(tables, dict):
            yield from ((kind, id, table) for id, table in tables.items() if isinstance(table, dict))


def _parts_of_text(text: str) -> Iterator[_Part]:
    last, number, table = -1, 0, False
    for path, offset in keys_of(text):
        if isinstance(path[-1], int):
            continue
        if offset != last:
            last, number, table = offset, 0, len(path) == 1
        yield _Part(path, *part_of_key(text, offset, number), is_first=table and number == 0)
        number += 1


def _renamed_words(file: SourceFile, definitions: Definitions, parts: list[_Part]) -> Iterator[Edit]:
    """Names of keys and ids that are others now."""
    names = dict(_moved_words(file, definitions))
    for kind, id, table in _tables_of_file(file):
        above: Path = (EXTEND, kind, id) if (kind, id) in file.extends else (kind, id)
        names |= {(*above, *path): _quoted_key(now) for path, now in _old_keys(file, definitions, kind, table)}
        now = present_id(definitions, kind, id)
        if now != id:
            names.setdefault(above, _quoted_key(now))
    defaults = file.tables.get(DEFAULTS, {})
    for kind, table in defaults.items() if isinstance(defaults, dict) else ():
        names |= {(DEFAULTS, kind, *path): _quoted_key(now) for path, now in _old_keys(file, definitions, kind, table)}
    text = read_definition_text(file.path)
    named = dict(_names_now(file, definitions))
    for part in parts:
        if part.path in names:
            yield part.start, part.end, names[part.path]
        elif part.path in named and (value := _SAID.match(text, part.end)):
            yield part.start, part.end, NAME
            yield value.start(1), value.end(1), f'"{named[part.path]}"'


def _moved_words(file: SourceFile, definitions: Definitions) -> Iterator[tuple[Path, str]]:
    """What is a table of another kind now: its kind is that, and its keys stand behind the name of the table."""
    for kind, id, of, now, within, keys in moved_definition(definitions, file):
        above: Path = (EXTEND,) if (kind, id) in file.extends else ()
        yield (*above, kind), of
        if keys is None:
            yield (*above, kind, id), f"{_quoted_key(now)}.{within}"
        for key in keys or ():
            yield (*above, kind, id, key), f"{within}.{_quoted_key(key)}"


_SAID = re.compile(r"""\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*')""")


def _names_now(file: SourceFile, definitions: Definitions) -> Iterator[tuple[Path, str]]:
    """The keys that told which definition a table is about, which its place tells now; each has room for its name."""
    for kind, id, of, _, _, keys in moved_definition(definitions, file):
        if of != RESOURCE and keys is None:
            yield (*((EXTEND,) if (kind, id) in file.extends else ()), kind, id, of), tool_name(id)


def _old_keys(file: SourceFile, definitions: Definitions, kind: str, table: Table) -> list[Renamed]:
    """A file of the newest version has none: a key that is unknown in it is misspelt."""
    return renamed_keys(definitions, kind, table) if file.language < NEWEST else []


def _quoted_key(key: str) -> str:
    return key if key.isascii() and key.replace("-", "").replace("_", "").isalnum() else f'"{key}"'


def _extending_edits(path: str, text: str, parts: list[_Part], changing: set[Key]) -> Iterator[Edit]:
    """`extend.` before each table, and each key of the whole file, that is about a definition which is there."""
    for place, part in enumerate(parts):
        if not part.is_first or part.path[0] in (EXTEND, DEFAULTS, LANGUAGE):
            continue
        ids = _ids_below(parts, place)
        if ids and ids <= changing:
            yield part.start, part.start, f"{EXTEND}."
        elif ids & changing:
            at = f"{path}:{text.count(chr(10), 0, part.start) + 1}"
            text = f"[{part.path[0]}] holds new definitions and changes of others: give each a table of its own"
            raise DefinitionError(f"{at}: {text}")


def _ids_below(parts: list[_Part], place: int) -> set[Key]:
    """The definitions that a header, or a key of the whole file, is about."""
    kind = str(parts[place].path[0])
    found: set[Key] = set()
    for part in parts[place + 1 :]:
        if part.is_first:
            break
        if len(part.path) > 1 and part.path[0] == kind:
            found.add((kind, str(part.path[1])))
    return found


def _version_edit(text: str, parts: list[_Part]) -> Edit:
    """`language = 2` before everything, behind the comment that a file begins with."""
    said = next((part for part in parts if part.path == (LANGUAGE,)), None)
    if said is not None:
        value = text.index("1", said.end)
        return value, value + 1, str(NEWEST)
    first = text.rfind("\n", 0, parts[0].start) + 1 if parts else len(text)
    above = text[:first].splitlines(keepends=True)
    own = next((place for place, line in reversed(list(enumerate(above))) if not line.startswith("#")), -1) + 1
    start = first if own == 0 else len("".join(above[:own]))
    ended = text[start - 1 : start] in ("", "\n")
    return start, start, f"{'' if ended else chr(10)}{LANGUAGE} = {NEWEST}\n\n"


def _applied_edits(text: str, edits: list[Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _check_same(file: SourceFile, definitions: Definitions, after: str) -> None:
    """Raise `DefinitionError` where the new text does not say the same in other words."""
    said = tomli.loads(after)
    extended = said.get(EXTEND, {})
    file = with_resources(definitions, file)
    for kind, id, table in _tables_of_file(file):
        now = present_id(definitions, kind, id)
        new = extended.get(kind, {}).get(now, said.get(kind, {}).get(now))
        if new != with_new_keys(table, _old_keys(file, definitions, kind, table)):
            line = line_of(read_definition_text(file.path), (kind, id))
            raise DefinitionError(f'{file.path}:{line}: {kind} "{id}": it cannot be rewritten: change it by hand')
