"""One fault of a definition, and in which file and line a person finds it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from .renames import lost_definition
from .source_file import DEFAULTS, Definition, Definitions, Path, SourceFile, Stale, path_in, place_in

Key = tuple[str, str]  # kind and id


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
        return _key_text(self.finding.path)


class Spot(NamedTuple):
    """`owner` is the definition that says it there: another one than the faulty one where that is built on it."""

    owner: Definition
    file: SourceFile
    keys: Path  # from the top of the file


def word_problem(problem: Problem, definitions: Definitions) -> str:
    """`file:line: kind "id": key.path: text`.

    Where a later layer, or a later file of the same one, has changed or removed what the fault is about, that is the
    cause, and the line is there.
    """
    definition, finding = problem
    spot = own_spot(definition, finding.path)
    if spot.keys[:1] == (DEFAULTS,):
        return f"{_spot_text(spot)}: {DEFAULTS}.{definition.kind}: {_key_text(finding.path)}{finding.text}"
    said = f"{_readable_name(definition.kind, definition.id)}: {_key_text(finding.path)}{finding.text}"
    about = [*finding.about, *_base_keys(definition)]
    causes = [(key, cause) for key in about if (cause := _cause_of(definitions, key)) is not None]
    later = [(key, cause) for key, cause in causes if _is_later(cause, spot.file)]
    own = definition.files[-1]
    if spot.file.shipped and not own.shipped and not later:  # what was sound before an overlay of it is not any more
        return f"{place_in(own, definition.kind, definition.id)}: {said}"
    if later:
        (kind, id), cause = max(later, key=lambda pair: _rank_of_file(pair[1].file))
        return f"{_spot_text(cause)}: {_readable_name(kind, id)}: this breaks {said}"
    return f"{_spot_text(spot)}: {said}"


def stale_by(problem: Problem, definitions: Definitions, without: Collection[tuple[str, str, str]]) -> Stale | None:
    """The definition as one to leave out, if it is a person's own and needs what is gone or was left out for that.

    `without` are those that were left out, by path of the file, kind and id.
    """
    definition, file = problem.definition, problem.definition.files[-1]
    left_out = {key[1:] for key in without}
    about = problem.finding.about
    if file.shipped or not any(
        (key in left_out and key not in definitions) or lost_definition(definitions, *key) for key in about
    ):
        return None
    id = file.written.get((definition.kind, definition.id), definition.id)
    return Stale(file.path, definition.kind, id, word_problem(problem, definitions))


def _readable_name(kind: str, id: str) -> str:
    return f'{kind} "{id if id.isprintable() else ascii(id)[1:-1]}"'


def place_of(definition: Definition, path: Path) -> str:
    """`file:line: kind "id": key.path` of a place in a definition."""
    at = f"{_spot_text(own_spot(definition, path))}: {_readable_name(definition.kind, definition.id)}"
    return f"{at}: {'.'.join(map(str, path))}" if path else at


def _key_text(path: Path) -> str:
    return ".".join(map(str, path)) + ": " if path else ""


def _spot_text(spot: Spot) -> str:
    return place_in(spot.file, *spot.keys)


def _base_keys(definition: Definition) -> Iterator[Key]:
    for base in (each.base for each in definition.inherited):
        yield base.kind, base.id
        yield from _base_keys(base)


def _cause_of(definitions: Definitions, key: Key) -> Spot | None:
    """Where another definition was last changed, or taken away."""
    found = definitions.removed.get(key) or definitions.get(key)
    return Spot(found, found.files[-1], key) if found else None


def _is_later(cause: Spot, file: SourceFile) -> bool:
    """Within a layer only what changes or removes something is a cause: a definition may stand in any of its files."""
    return cause.file.layer > file.layer or (
        len(cause.owner.files) > 1 and _rank_of_file(cause.file) > _rank_of_file(file)
    )


def _rank_of_file(file: SourceFile) -> tuple[int, int]:
    """Files in folders come first."""
    return file.layer, -file.depth


PART = "part"  # what a command shows beside other parts: a definition that nothing but itself can mend


def own_spot(definition: Definition, path: Path) -> Spot:
    """The last of the definition's own files that says something at `path`, or at the nearest key above it."""
    for at, base, inside, use in definition.inherited:
        if path[: len(at)] == at and base.kind == PART:
            return own_spot(base, (*inside, *path[len(at) :]))
        if use and path[: len(at)] == at:
            path = use
    found = (_spot_said(definition, definition.table, path[:length]) for length in range(len(path), -1, -1))
    nearest = next((spot for spot in found if spot is not None), None)
    return nearest or Spot(definition, definition.files[-1], (definition.kind, definition.id))


def spot_with_bases(definition: Definition, path: Path) -> Spot:
    """The same, where what it is built on counts as its own."""
    for length in range(len(path), -1, -1):
        found = _found_spot(definition, definition.table, path[:length])
        if found is not None:
            return found
    return own_spot(definition, path)


def _found_spot(definition: Definition, table: Any, path: Path) -> Spot | None:
    of_shared_steps = any(each.use and path[: len(each.at)] == each.at for each in definition.inherited)
    said = None if of_shared_steps else _spot_said(definition, table, path)
    for prefix, base, inside, _ in definition.inherited if said is None else ():
        if path[: len(prefix)] == prefix and len(path) > len(prefix):
            there = base.table if inside else _part_at(table, prefix)
            said = said or _found_spot(base, there, (*inside, *path[len(prefix) :]))
    return said


def _part_at(table: Any, path: Path) -> Any:
    for key in path:
        table = table[key]
    return table


def _spot_said(definition: Definition, table: Any, path: Path) -> Spot | None:
    kind, id = definition.kind, definition.id
    for file in reversed(definition.files):
        here = path_in(file.tables.get(kind, {}).get(id, {}), table, path)
        if here is not None:
            return Spot(definition, file, (kind, id, *here))
        common = path_in(file.tables.get(DEFAULTS, {}).get(kind, {}), table, path)
        if path and common is not None:
            return Spot(definition, file, (DEFAULTS, kind, *common))
    return None
