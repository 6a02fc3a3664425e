"""What keys and ids were called in earlier versions, and how older definitions are read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from .merge import merge_tables
from .parameters import tool_name
from .source_file import DEFAULTS, RESOURCE, Definitions, Path, SourceFile, place_in

if TYPE_CHECKING:
    from .merge import Table

KIND, NAME = "renamed", "name"
# Ways down a command that lead to more keys of the same names; a name of a deployment follows the first.
_ON, _INSIDE = "on", (("step",), ("each", "step"))


class Renamed(NamedTuple):
    """`path` leads to the key as it was written."""

    path: Path
    now: str


def gone_definition(definitions: Definitions, kind: str, id: str) -> str | None:
    """What to use instead of a definition that there was once."""
    return _renames_table(definitions, kind, "gone").get(id)


def lost_definition(definitions: Definitions, kind: str, id: str) -> str | None:
    """What became of a definition that is not there any more; None for one that is there, or never was."""
    if (kind, id) in definitions:
        return None
    instead, now = gone_definition(definitions, kind, id), present_id(definitions, kind, id)
    if instead is not None:
        return f"{kind} {id!r} is gone: {instead}"
    return f"{kind} {id!r} is now called {now!r}" if now != id else None


def present_id(definitions: Definitions, kind: str, id: str) -> str:
    """What a built-in definition is called now. One that has the old id comes first."""
    if (kind, id) in definitions:
        return id
    return _renames_table(definitions, kind, "ids").get(id, id)


def former_ids(definitions: Definitions, kind: str) -> dict[str, str]:
    """Earlier ids of what is there, and what each is called now."""
    return {old: now for old, now in _renames_table(definitions, kind, "ids").items() if (kind, now) in definitions}


def renamed_keys(definitions: Definitions, kind: str, table: Table) -> list[Renamed]:
    """The keys of a table that have other names now, the innermost first."""
    keys = _renames_table(definitions, kind, "keys")
    return list(_keys_renamed(keys, table, (), ())) if keys else []


class Moved(NamedTuple):
    """A definition that is a table of `now`, of the kind `of`; of an older resource, these are some of its keys."""

    kind: str
    id: str
    of: str
    now: str
    within: str
    keys: frozenset[str] | None


def moved_definition(definitions: Definitions, file: SourceFile) -> list[Moved]:
    """What of a person's file was a definition of its own, and is a table of a resource or a command now."""
    found: list[Moved] = []
    for kind, ids in file.tables.items():
        said = _renames_said(definitions, kind) if isinstance(ids, dict) else {}
        of = said.get("of", RESOURCE)
        there = file.tables.get(of, {})
        for id, table in ids.items() if said and isinstance(there, dict) else ():
            now = table.get(of) if "of" in said and isinstance(table, dict) else present_id(definitions, kind, id)
            if not isinstance(table, dict) or not isinstance(now, str) or not isinstance(there.get(now, {}), dict):
                continue  # told as no table
            keys = frozenset(said.get("into", {})) & table.keys()
            if "table" in said:
                found.append(Moved(kind, id, of, now, said["table"], None))
            elif keys:
                found.append(Moved(kind, id, of, id, said["into"][min(keys)], keys))
    return found


def _table_now(moved: Moved, table: Table) -> Table:
    """What stands in the table: one that named its definition by a key has its own id as a name there."""
    if moved.keys is not None:
        return {key: table[key] for key in table if key in moved.keys}
    if moved.of == RESOURCE:
        return table
    return {NAME: tool_name(moved.id), **{key: table[key] for key in table if key != moved.of}}


def with_resources(definitions: Definitions, file: SourceFile) -> SourceFile:
    """The file with these tables where they are now; each is noted."""
    tables = {kind: dict(ids) if isinstance(ids, dict) else ids for kind, ids in file.tables.items()}
    extends = set(file.extends)
    defaults: Table = tables[DEFAULTS] if isinstance(tables.get(DEFAULTS), dict) else {}
    found = moved_definition(definitions, file)
    for moved in found:
        kind, id, of, now, within, keys = moved
        common = defaults.get(kind) if keys is None else None
        table = {**(common if isinstance(common, dict) else {}), **tables[kind].pop(id)}
        rest = {} if keys is None else {key: table[key] for key in table if key not in keys}
        there = tables.setdefault(of, {})
        if (kind, id) in extends or (of != RESOURCE and now not in there):
            extends.add((of, now))
        there[now] = {**there.get(now, {}), **rest, within: _table_now(moved, table)}
        file.moved[now, within] = kind, id
        where = f"the table {within!r} of {of} {now!r}"
        text = f"is now {where}" if keys is None else f"{', '.join(sorted(keys))} now stand in {where}"
        definitions.notes.append(f'{place_in(file, kind, id)}: {kind} "{id}"{": " if keys else " "}{text}')
    for kind in {each.kind for each in found if each.keys is None}:
        defaults.pop(kind, None)
    return file._replace(tables={kind: ids for kind, ids in tables.items() if ids != {}}, extends=frozenset(extends))


def with_new_keys(table: Table, found: list[Renamed]) -> Table:
    """A copy of the table with these keys renamed; each stays in its place."""
    for path, now in found:
        table = _changed_at(table, path, now)
    return table


def _renames_table(definitions: Definitions, kind: str, part: str) -> dict[str, str]:
    found = _renames_said(definitions, kind).get(part)
    return found if isinstance(found, dict) else {}


def _renames_said(definitions: Definitions, kind: str) -> Table:
    """What all files together say was different in a kind: this is asked while definitions are read."""
    definition = definitions.get((KIND, kind))
    laid = definition.laid if definition is not None else []
    return laid[0] if len(laid) == 1 else reduce(merge_tables, laid, {})


def _keys_renamed(keys: dict[str, str], value: Any, names: tuple[str, ...], path: Path) -> Iterator[Renamed]:
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _keys_renamed(keys, item, names, (*path, place))
    elif isinstance(value, dict):
        for key, item in value.items():
            here = _without_ways((*names, key))
            yield from _keys_renamed(keys, item, here, (*path, key))
            now = keys.get(".".join(here))
            if now is not None and now not in value:
                yield Renamed((*path, key), now)


def _without_ways(names: tuple[str, ...]) -> tuple[str, ...]:
    if names[0] == _ON and len(names) > 2:
        return _without_ways(names[2:])
    for way in _INSIDE:
        if names[: len(way)] == way and len(names) > len(way):
            return _without_ways(names[len(way) :])
    return names


def _changed_at(value: Any, path: Path, now: str) -> Any:
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_changed_at(item, rest, now) if place == first else item for place, item in enumerate(value)]
    if not rest:
        return {now if key == first else key: item for key, item in value.items()}
    return {key: _changed_at(item, rest, now) if key == first else item for key, item in value.items()}
