"""One fault of a definition, and in which file and line a person finds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..load import DEFAULTS, Definition, Definitions, SourceFile, text_of
from ..locate import Path, line_of, path_in

Key = tuple[str, str]  # kind and id
_SHIPPED = 1  # the built-in layers are the first two


class Finding(NamedTuple):
    """What a check says: where in the table, what is wrong there, and which other definitions may be the cause."""

    path: Path
    text: str
    about: tuple[Key, ...] = ()


Findings = Iterator[Finding]


class Problem(NamedTuple):
    definition: Definition
    finding: Finding

    @property
    def where(self) -> str:
        """The place in the definition, as it stands before what is wrong there."""
        return _key(self.finding.path)


class _Spot(NamedTuple):
    file: SourceFile
    keys: Path  # from the top of the file


def worded(problem: Problem, definitions: Definitions) -> str:
    """`file:line: kind "id": key.path: text`.

    Where a later layer has changed or removed what the fault is about, that is the cause, and the line is there.
    """
    definition, finding = problem
    spot = _spot(definition, finding.path)
    if spot.keys[:1] == (DEFAULTS,):
        return f"{_at(spot)}: {DEFAULTS}.{definition.kind}: {_key(finding.path)}{finding.text}"
    said = f"{_name(definition.kind, definition.id)}: {_key(finding.path)}{finding.text}"
    causes = [(key, cause) for key in finding.about if (cause := _cause(definitions, key)) is not None]
    later = [(key, cause) for key, cause in causes if cause.file.layer > spot.file.layer]
    own = definition.files[-1]
    if spot.file.layer <= _SHIPPED < own.layer and not later:  # what was sound before an overlay of it is not any more
        return f"{_at(_Spot(own, (definition.kind, definition.id)))}: {said}"
    if later:
        (kind, id), cause = max(later, key=lambda pair: pair[1].file.layer)
        return f"{_at(cause)}: {_name(kind, id)}: this breaks {said}"
    return f"{_at(spot)}: {said}"


def _name(kind: str, id: str) -> str:
    return f'{kind} "{id if id.isprintable() else ascii(id)[1:-1]}"'


def place_of(definition: Definition, path: Path) -> str:
    """`file:line: kind "id": key.path` of a place in a definition."""
    at = f"{_at(_spot(definition, path))}: {_name(definition.kind, definition.id)}"
    return f"{at}: {'.'.join(map(str, path))}" if path else at


def _key(path: Path) -> str:
    return ".".join(map(str, path)) + ": " if path else ""


def _at(spot: _Spot) -> str:
    return f"{spot.file.path}:{line_of(text_of(spot.file.path), spot.keys)}"


def _cause(definitions: Definitions, key: Key) -> _Spot | None:
    """Where another definition was last changed, or taken away."""
    found = definitions.removed.get(key) or definitions.get(key)
    return _Spot(found.files[-1], key) if found else None


def _spot(definition: Definition, path: Path) -> _Spot:
    """The last file that says something at `path`, or at the nearest key above it."""
    kind, id = definition.kind, definition.id
    for length in range(len(path), -1, -1):
        for file in reversed(definition.files):
            here = path_in(file.tables.get(kind, {}).get(id, {}), definition.table, path[:length])
            if here is not None:
                return _Spot(file, (kind, id, *here))
            common = path_in(file.tables.get(DEFAULTS, {}).get(kind, {}), definition.table, path[:length])
            if length and common is not None:
                return _Spot(file, (DEFAULTS, kind, *common))
    return _Spot(definition.files[-1], (kind, id))
