"""Read definition files and lay later ones over earlier ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ..errors import DefinitionError, counted, did_you_mean
from .as_shipped import hold_classes, hold_containers
from .desugar import unfold_resources
from .inherit import merge_all, name_shared
from .layers import Layer, files_of
from .merge import Table, merge_tables
from .renames import gone_definition, present_id, renamed_keys, with_new_keys, with_resources
from .source_file import (
    DEFAULTS,
    EXTEND,
    LANGUAGE,
    NEWEST,
    PROGRAM,
    Definition,
    Definitions,
    SourceFile,
    Stale,
    place_in,
    read_definition_file,
)

# What a program takes over from those that it uses. The rest is what a program says of itself.
_TAKEN_OVER = (
    *("options", "paging", "journal", "id", "text", "synonyms", "verbs", "instead", "other_options", "aliases"),
    "sections",
)

NO_TABLES: Mapping[str, Table] = {}


def load_definitions(
    found: list[Layer], without: Collection[tuple[str, str, str]] = (), bare: Mapping[str, Table] = NO_TABLES
) -> Definitions:
    """All definitions of a program. Raises `DefinitionError` with one detail per broken file.

    `without` are tables that are left out, by path of the file, kind and id; `bare` are programs without a file.
    """
    definitions = Definitions()
    problems: list[str] = []
    for number, layer in enumerate(found):
        for path, depth in files_of(layer):
            try:
                overlay_definition(
                    definitions, read_definition_file(path, number, depth, shipped=layer.shipped), problems, without
                )
            except DefinitionError as error:
                problems.append(error.message)
    for program, table in bare.items():
        if table:
            overlay_definition(definitions, SourceFile("", len(found), 0, {PROGRAM: {program: table}}), problems)
    problems += merge_all(definitions, without)
    if problems:
        problems += definitions.idle
        raise DefinitionError(f"{counted(len(problems), 'problem')} in definitions", details=problems)
    _take_over(definitions)
    unfold_resources(definitions)
    hold_classes(definitions)
    hold_containers(definitions)
    return definitions


def _take_over(definitions: Definitions) -> None:
    """Lay a program over those that it uses, and leave these out: then there is one program."""
    programs = {id: definition for (kind, id), definition in definitions.items() if kind == PROGRAM}
    used: set[str] = set()
    for program in programs.values():
        uses = program.table.get("uses")
        below: Table = {}
        for other in (programs[name] for name in uses if name in programs) if isinstance(uses, list) else ():
            below = merge_tables(below, {key: other.table[key] for key in _TAKEN_OVER if key in other.table})
            program.files = [*other.files, *program.files]
            used.add(other.id)
        program.table = merge_tables(below, program.table)
    for id in used:
        del definitions[PROGRAM, id]


def overlay_definition(
    definitions: Definitions, file: SourceFile, problems: list[str], without: Collection[tuple[str, str, str]] = ()
) -> None:
    """Lay a file over what was read before it, and add what is wrong with that to the problems."""
    file = file if file.shipped else with_resources(definitions, file)
    for kind, written, given in _entries(file, problems):
        if (file.path, kind, written) in without:
            continue
        id, table = _present(definitions, file, kind, written, given)
        known = definitions.get((kind, id))
        if known is None and (instead := gone_definition(definitions, kind, id)) is not None and not file.shipped:
            text = f'{place_in(file, kind, written)}: {kind} "{id}" is gone: {instead}'
            definitions.stale.append(Stale(file.path, kind, written, text))
        elif (fault := _unlike(definitions, file, kind, id)) is not None:
            problems.append(f'{place_in(file, kind, written)}: {kind} "{id}": {fault}')
        elif table.get("remove") is True:
            problems += _remove(definitions, Definition(kind, id, {}, file))
        elif known is None:
            definitions[kind, id] = Definition(kind, id, table, file)
        elif (kind, written) not in file.extends and _is_beside(file, known):
            problems.append(f'{place_in(file, kind, id)}: {kind} "{id}": also defined in {known.files[-1].path}')
        else:
            known.laid.append(table)
            known.files.append(file)


def _is_beside(file: SourceFile, known: Definition) -> bool:
    """Whether a file of the same place defines it: two that extend it are laid over it in the order of their names."""
    return any(other.layer == file.layer and other.depth == file.depth for other in known.files)


def _present(definitions: Definitions, file: SourceFile, kind: str, id: str, table: Table) -> tuple[str, Table]:
    """What an older file says, in the words of today; each other word is noted."""
    if file.shipped:
        return id, table
    now = present_id(definitions, kind, id)
    if now != id:
        definitions.notes.append(f'{place_in(file, kind, id)}: {kind} "{id}" is now called "{now}"')
        file.tables[kind][now] = table  # where faults of it are looked for
        file.written[kind, now] = id
    found = renamed_keys(definitions, kind, table) if file.language < NEWEST else []
    for path, word in found:
        at = place_in(file, kind, id, *path)
        definitions.notes.append(f'{at}: {kind} "{id}": {path[-1]!r} is now called {word!r}')
    return now, with_new_keys(table, found)


def _unlike(definitions: Definitions, file: SourceFile, kind: str, id: str) -> str | None:
    """Why a table cannot say that it extends a definition, or that it is one."""
    known = definitions.get((kind, id))
    is_extending = (kind, file.written.get((kind, id), id)) in file.extends
    if is_extending and known is None:
        return _nothing_to_extend(definitions, kind, id)
    if file.shipped or file.language < NEWEST or is_extending or known is None:
        return None
    if any(other.path == file.path for other in known.files) or file.tables[kind][id].get("remove") is True:
        return None
    return f"it is defined already: write [{EXTEND}.{kind}.{_key(id)}] to change it"


def _nothing_to_extend(definitions: Definitions, kind: str, id: str) -> str:
    from .shape import KINDS

    if kind not in KINDS:
        return f"unknown kind {kind!r}{did_you_mean(kind, KINDS)}"
    return f"nothing to extend{did_you_mean(id, (other for of, other in definitions if of == kind))}"


def _key(id: str) -> str:
    return id if id.replace("-", "").replace("_", "").isalnum() and id.isascii() else f'"{id}"'


def _remove(definitions: Definitions, removal: Definition) -> list[str]:
    key = removal.kind, removal.id
    known = definitions.pop(key, None)
    if known is None:
        near = did_you_mean(removal.id, (id for kind, id in definitions if kind == removal.kind))
        return [f'{place_in(removal.files[-1], *key)}: {removal.kind} "{removal.id}": nothing to remove{near}']
    known.files.extend(removal.files)
    definitions.removed[key] = known
    return []


def _entries(file: SourceFile, problems: list[str]) -> Iterator[tuple[str, str, Table]]:
    defaults = file.tables.get(DEFAULTS, {})
    wrong = _wrong_defaults(defaults, file)
    if wrong is not None:
        problems.append(wrong)
        return
    for kind, tables in file.tables.items():
        if kind == DEFAULTS:
            continue
        if not isinstance(tables, dict):
            near = did_you_mean(kind, (LANGUAGE, EXTEND, DEFAULTS))
            problems.append(f"{place_in(file, kind)}: {kind}: expected tables [{kind}.<id>]{near}")
            continue
        common = defaults.get(kind, {})
        for id, table in list(tables.items()):
            if not isinstance(table, dict):
                problems.append(f"{place_in(file, kind, id)}: {kind}.{id}: expected a table")
            else:
                name_shared(kind, table)
                yield kind, id, {**common, **table}


def _wrong_defaults(defaults: Any, file: SourceFile) -> str | None:
    if not isinstance(defaults, dict):
        return f"{place_in(file, DEFAULTS)}: {DEFAULTS}: expected tables [{DEFAULTS}.<kind>]"
    for kind, table in defaults.items():
        problem = None
        if not isinstance(table, dict):
            problem = "expected a table"
        elif kind not in file.tables:
            problem = f"no {kind} is defined in this file{did_you_mean(kind, file.tables)}"
        if problem is not None:
            return f"{place_in(file, DEFAULTS, kind)}: {DEFAULTS}.{kind}: {problem}"
    return None
