"""Definitions read from files: which programs there are, files laid over one another, definitions made whole.

What policies judge by stays as it was shipped, where a person's own definitions would make it milder: definitions are
files that an agent may be able to write, and a policy that follows them would follow the agent.

Steps that `use` shared ones become these, and what is `like` another is laid over it, so whatever reads definitions
later meets whole tables.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import tomli

from ..errors import DefinitionError, UsageError, count_of, did_you_mean
from ..paths import config_directory, shipped_definitions
from .desugar import unfold_resources
from .layers import COMMON, Layer, files_of, layers_with, variable_of
from .merge import CALLS, ON, Table, deployment_variants, idle_removals, lay_over, merge_tables
from .parameters import to_identifier
from .problem import PART, Finding, Problem, stale_by, word_problem
from .renames import gone_definition, lost_definition, present_id, renamed_keys, with_new_keys, with_resources
from .safety import Safety, class_here, class_of_operation, is_milder
from .source_file import (
    DEEPEST,
    DEFAULTS,
    EXTEND,
    LANGUAGE,
    NEWEST,
    PROGRAM,
    Definition,
    Definitions,
    Inherited,
    Path,
    SourceFile,
    Stale,
    line_of,
    place_in,
    read_definition_file,
    read_definition_text,
)

if TYPE_CHECKING:
    from .shape.rest import OperationDefinition


def definition_layers(program: str, environ: Mapping[str, str], *, own: bool = True) -> list[Layer]:
    """All directories of a program's definitions. Reads files: a start takes the names of used programs from its cache.

    Raises `UsageError` where there is no such program, `DefinitionError` where it uses one that does not exist.
    """
    return layers_with(program, used_by(program, environ, own=own), environ, own=own)


def used_by(program: str, environ: Mapping[str, str], *, own: bool = True) -> list[str]:
    """The programs that one uses, and those that these use, in the order in which their definitions are laid."""
    found: list[str] = []
    _collect_programs(program, environ, own, [], found)
    return found


def _collect_programs(program: str, environ: Mapping[str, str], own: bool, above: list[str], found: list[str]) -> None:
    for name, where in _uses_of_programs(_own_layers(program, environ, own)).items():
        if name in (*above, program):
            raise DefinitionError(f"{where}: uses: {name!r} uses this program itself")
        known = program_names(environ, own=own)
        if name not in known:
            others = [each for each in known if each not in (*above, program)]
            raise DefinitionError(f"{where}: uses: no program {name!r}{did_you_mean(name, others)}")
        if name not in found:
            _collect_programs(name, environ, own, [*above, program], found)
            found.append(name)


def bare_program(program: str, environ: Mapping[str, str]) -> Table:
    """A program whose own definitions are broken, as far as it can be told: it has what the built-in ones bring.

    Empty for a built-in one, which has definitions that are sound.
    """
    built_in = program_names(environ, own=False)
    if program in built_in:
        return {}
    try:
        uses = _uses_of_programs(_own_layers(program, environ, own=True))
        title = program_table(program, environ).get("title")
    except DefinitionError:
        uses, title = {}, None
    used = [[*used_by(name, environ, own=False), name] for name in uses if name in built_in]
    found = {"uses": [*dict.fromkeys(chain(*used))], "prefix": program.upper().replace("-", "_")}
    return {**found, "title": title if isinstance(title, str) and title.strip() else program}


def _own_layers(program: str, environ: Mapping[str, str], own: bool) -> list[Layer]:
    """The layers of one program that are there, without those of all programs."""
    found = layers_with(program, (), environ, own=own)[1:]
    return [layer for layer in found if os.path.exists(layer.directory)]


def program_table(program: str, environ: Mapping[str, str]) -> Table:
    """What the files of a program say of it, none of which need be sound; empty where they say nothing."""
    found: Table = {}
    for layer in _own_layers(program, environ, own=True):
        for path, _ in files_of(layer):
            text = read_definition_text(path)
            if f"[{PROGRAM}." in text:
                table = _programs_in(text).get(program)
                found |= table if isinstance(table, dict) else {}
    return found


def _programs_in(text: str) -> Table:
    """Empty where the file is broken: reading it as definitions tells how."""
    try:
        programs = tomli.loads(text).get(PROGRAM)
    except (ValueError, RecursionError):
        return {}
    return programs if isinstance(programs, dict) else {}


def _uses_of_programs(found: Iterable[Layer]) -> dict[str, str]:
    """The programs that the last file names which names any, and where."""
    uses: dict[str, str] = {}
    for layer in found:
        for path, _ in files_of(layer):
            text = read_definition_text(path)
            if "uses" in text and f"[{PROGRAM}." in text:
                uses = _uses_in(path, text) or uses
    return uses


def _uses_in(path: str, text: str) -> dict[str, str]:
    for id, table in _programs_in(text).items():
        names = table.get("uses") if isinstance(table, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            where = f'{path}:{line_of(text, (PROGRAM, id, "uses"))}: program "{id}"'
            return dict.fromkeys(names, where)
    return {}


def program_names(environ: Mapping[str, str], *, own: bool = True) -> list[str]:
    """Every directory that can hold a program, the built-in ones first."""
    shipped, _ = shipped_definitions()
    places = [shipped, os.path.join(config_directory(environ), "definitions")] if own else [shipped]
    found: dict[str, None] = {}
    for place in places:
        if os.path.isdir(place):
            with os.scandir(place) as entries:
                found.update(dict.fromkeys(sorted(entry.name for entry in entries if _is_program(entry))))
    return list(found)


def _is_program(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and entry.name != COMMON and not entry.name.startswith(".")


def refuse_unknown(program: str, environ: Mapping[str, str], *, to_use: bool = False) -> None:
    """Raise `UsageError` where nothing defines a program of this name; `to_use` are also those that only others use."""
    if program in program_names(environ) or environ.get(variable_of(program)):
        return
    names = [name for name in program_names(environ) if to_use or not program_table(name, environ).get("hidden")]
    near = did_you_mean(program, names)
    raise UsageError(f"there is no program {program!r}{near}", hint=f"programs: {', '.join(names)}")


OPERATION, CONTAINER = "operation", "container"


def hold_classes(definitions: Definitions) -> None:
    """Give each shipped operation that a person's file changes its shipped class back, where that is worse."""
    for definition in definitions.values():
        if definition.kind == OPERATION and (shipped := _as_shipped(definition)) is not None:
            _raise_to(definition.table, class_of_operation(shipped))


def hold_containers(definitions: Definitions) -> None:
    """Which requests are about a project, say: a rule would miss those that a person's file takes out."""
    known = [*definitions.items(), *definitions.removed.items()]
    for key, definition in known:
        if definition.kind == CONTAINER and (shipped := shipped_table(definition)) is not None:
            definition.table = shipped
            definitions[key] = definition


def own_definitions(definitions: Definitions, *kinds: str) -> Iterator[Definition]:
    """Those that are not, or not only, what comes with the program."""
    for definition in definitions.values():
        if definition.kind in kinds and not all(file.shipped for file in definition.files):
            yield definition


def shipped_paths(definitions: Definitions) -> list[tuple[str, Safety, str]]:
    """Method and path, class and id of shipped operations that a person's files change or remove.

    A request with such a path is still what it was, whatever another definition calls it.
    """
    touched = [
        *own_definitions(definitions, OPERATION),
        *(each for each in definitions.removed.values() if each.kind == OPERATION),
    ]
    shipped = [(each.id, table) for each in touched if (table := _as_shipped(each)) is not None]
    return [
        (here["http"], class_here(here), id)
        for id, table in shipped
        for here in (table, *deployment_variants(table).values())
        if isinstance(here.get("http"), str)
    ]


def _as_shipped(definition: Definition) -> OperationDefinition | None:
    """The operation as it comes with the program; None where it does, or where none of it does."""
    table = shipped_table(definition)
    return table if table is not None and isinstance(table.get("http"), str) else None


def shipped_table(definition: Definition) -> Any:
    own = [not file.shipped for file in definition.files]
    if not any(own) or all(own):
        return None
    table: dict[str, Any] = {}
    for file, laid in zip(definition.files, definition.laid, strict=False):  # a removal lays nothing
        if file.shipped:
            table = lay_over(table, laid)
    return table


def _raise_to(table: OperationDefinition, least: Safety) -> None:
    if isinstance(table.get("http"), str) and is_milder(class_here(table), least):
        table["safety"] = least
    for deployment, here in deployment_variants(table).items():
        if isinstance(here.get("http"), str) and is_milder(class_here(here), least):
            whole: Any = table  # no person can write a class there
            whole[ON] = {**whole[ON], deployment: {**whole[ON][deployment], "safety": least}}


LIKE = "like"
SHARED = "input"  # the kind of shared parameters
USE, STEPS = "use", "steps"  # the key of a step that stands for shared ones, and their kind
_KINDS = (SHARED, "view", "command")
_STEPS, _AROUND_STEPS = ("step", "undo"), ("each", "snapshot")  # keys of lists of steps, and of tables with these
_PARAMS = (("command", "params"), ("program", "options"), ("program", "paging"), ("program", "journal"))
# What is about the base itself: its names, and how it is called.
_OWN = frozenset({LIKE, "aliases", "examples", "hidden", "agents"})
# What a command does and what comes of it. One that does something else takes none of this along; one that calls
# another operation gives it the same arguments.
_VERBS = frozenset({"call", "step", "builtin"})
_DOING = frozenset({*CALLS, "builtin", "items", "result", "convert", "safety", "confirm", "unavailable"})


def name_shared(kind: str, table: Table) -> None:
    """Give parameters that are `like` a shared one its name where they have none, in place; overlays go by names."""
    for _, holder, key in _param_lists(kind, table):
        for param in holder[key]:
            if isinstance(param, dict) and isinstance(param.get(LIKE), str):
                param.setdefault("name", param[LIKE])


def merge_all(definitions: Definitions, without: Collection[tuple[str, str, str]] = ()) -> list[str]:
    """Make the table of each definition, in place. What it is built on and cannot be found is told, with its place.

    A person's own that is built on what is gone, or on one of those that were left out (`without`), becomes stale.
    """
    merger = _Merger(definitions)
    for definition in definitions.values():
        merger.build_definition(definition, ())
    for definition in definitions.values():
        merger.fill_parameters(definition)
    told = [(problem, stale_by(problem, definitions, without)) for problem in merger.problems]
    definitions.stale += [stale for _, stale in told if stale is not None]
    return [word_problem(problem, definitions) for problem, stale in told if stale is None]


class _Merger:
    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.problems: list[Problem] = []
        self._built: set[tuple[str, str]] = set()

    def build_definition(self, definition: Definition, way: tuple[str, ...]) -> None:
        """`way` leads from the definition that was begun with to the one that is built on this one."""
        if (definition.kind, definition.id) in self._built:
            return
        self._built.add((definition.kind, definition.id))
        base = self._base_of(definition, (*way, definition.id))
        if base is None:
            definition.table = merge_tables({}, definition.laid[0])
        else:
            under = _heritable_keys(definition, base)
            self._note_idle(definition, 0, under)
            definition.table = lay_over(under, _table_without(definition.laid[0], {LIKE}))
        for place, table in enumerate(definition.laid[1:], 1):
            self._note_idle(definition, place, definition.table)
            definition.table = lay_over(definition.table, table if base is None else _table_without(table, {LIKE}))

    def _base_of(self, definition: Definition, way: tuple[str, ...]) -> Definition | None:
        said = [table[LIKE] for table in definition.laid if isinstance(table.get(LIKE), str)]
        if not said or definition.kind not in _KINDS:
            return None
        base = self.definitions.get((definition.kind, said[-1]))
        if len(way) > DEEPEST:
            self.problems.append(Problem(definition, Finding((LIKE,), "too many are built on each other here")))
            return None
        if base is None or base.id in way:
            self.problems.append(Problem(definition, self._missing_base(definition.kind, said[-1], (LIKE,), way)))
            return None
        self.build_definition(base, way)
        definition.inherited.append(Inherited((), base))
        return base

    def _missing_base(self, kind: str, id: str, at: Path, way: tuple[str, ...] = ()) -> Finding:
        if id in way:
            return Finding(at, f"it is built on itself: {' → '.join([*way, id])}")
        known = [other for of, other in self.definitions if of == kind and other not in way]
        text = lost_definition(self.definitions, kind, id) or f"no {kind} {id!r}{did_you_mean(id, known)}"
        return Finding(at, text, ((kind, id),))

    def _note_idle(self, definition: Definition, place: int, under: Table) -> None:
        kind, id, file = definition.kind, definition.id, definition.files[place]
        for path, near in idle_removals(under, definition.laid[place]):
            key = ".".join(map(str, path))
            text = f'{kind} "{id}": {key}: nothing to remove{near}'
            self.definitions.idle.append(f"{place_in(file, kind, id, *path)}: {text}")

    def fill_parameters(self, definition: Definition) -> None:
        """Put shared parameters below those that are like them."""
        definition.table = _with_own_lists(definition.table)
        if definition.kind in ("command", "view"):
            self._add_parts(definition)
        for at, holder, key in _param_lists(definition.kind, definition.table):
            holder[key] = [self._fill_param(definition, (*at, place), param) for place, param in enumerate(holder[key])]
        if definition.kind != STEPS:
            definition.table = self._with_shared_steps(definition, definition.table, ())

    def _add_parts(self, definition: Definition) -> None:
        """Behind a command's own steps those of its parts, each named as the part; below its view what they show."""
        view = definition.kind == "view"
        parts = [
            part for part in self._shared_parts if definition.id == (self._view_of(part) if view else _command_of(part))
        ]
        if not parts:
            return
        key = "detail" if view else "step"
        listed = list(definition.table.get(key, ()))
        for part in parts:
            for place, shown in enumerate([_shown_by_part(part)] if view else _steps_of_part(part)):
                if shown in listed:  # pasted from what `definitions show` prints
                    continue
                inside: Path = () if view else ("step", place)
                definition.inherited.append(Inherited((key, len(listed)), part, inside))
                listed.append(shown)
        definition.table[key] = listed
        if not view:
            members = ", ".join(f"{to_identifier(part.id)}: {to_identifier(part.id)} || `[]`" for part in parts)
            definition.table.setdefault("result", f"{{ {{{members}}} }}")

    @cached_property
    def _shared_parts(self) -> list[Definition]:
        found = [definition for (kind, _), definition in self.definitions.items() if kind == PART]
        return sorted(found, key=lambda part: (_order_of(part), part.id))

    def _view_of(self, part: Definition) -> Any:
        command = self.definitions.get(("command", _command_of(part) or ""))
        return command.table.get("view") if command is not None else None

    def _with_shared_steps(self, definition: Definition, table: Table, at: Path) -> Table:
        """A copy of a table with steps in which those that `use` shared ones are these."""
        found = dict(table)
        for key, value in table.items():
            if key in _STEPS and isinstance(value, list):
                found[key] = self._expand_steps(definition, value, (*at, key))
            elif key in _AROUND_STEPS and isinstance(value, dict):
                found[key] = self._with_shared_steps(definition, value, (*at, key))
            elif key == ON and isinstance(value, dict):
                found[key] = {
                    word: self._with_shared_steps(definition, part, (*at, ON, word)) if isinstance(part, dict) else part
                    for word, part in value.items()
                }
        return found

    def _expand_steps(self, definition: Definition, steps: list[Any], at: Path) -> list[Any]:
        expanded: list[Any] = []
        for place, step in enumerate(steps):
            if not isinstance(step, dict):
                expanded.append(step)
            elif isinstance(step.get(USE), str):
                expanded += self._shared_steps(definition, step, (*at, place), len(expanded))
            else:
                expanded.append(self._with_shared_steps(definition, step, (*at, place)))
        return expanded

    def _shared_steps(self, definition: Definition, step: Table, at: Path, first: int) -> list[Table]:
        """`first` is the place of the first of them in its list."""
        id, shared = step[USE], self.definitions.get((STEPS, step[USE]))
        if shared is None:
            self.problems.append(Problem(definition, self._missing_base(STEPS, id, (*at, USE))))
            return [step]
        if further := sorted(step.keys() - {USE}):
            text = f"the shared steps say all that is done; remove {further[0]!r}, or say it in a step before"
            self.problems.append(Problem(definition, Finding(at, text)))
        steps = shared.table.get("step")
        found = [each for each in steps if isinstance(each, dict)] if isinstance(steps, list) else []
        for place in range(len(found)):
            definition.inherited.append(Inherited((*at[:-1], first + place), shared, ("step", place), at))
        return found

    def _fill_param(self, definition: Definition, at: Path, param: Any) -> Any:
        id = param.get(LIKE) if isinstance(param, dict) else None
        if not isinstance(id, str):
            return param
        shared = self.definitions.get((SHARED, id))
        if shared is None:
            self.problems.append(Problem(definition, self._missing_base(SHARED, id, (*at, LIKE))))
            return param
        definition.inherited.append(Inherited(at, shared))
        return lay_over(shared.table, _table_without(param, {LIKE}))


def _command_of(part: Definition) -> str | None:
    command = part.table.get("command")
    return command if isinstance(command, str) else None


def _order_of(part: Definition) -> int:
    order = part.table.get("order", 0)
    return order if isinstance(order, int) else 0


def _steps_of_part(part: Definition) -> list[Any]:
    """A part's steps. The last one is named as the part, and none of them stops the others."""
    steps = part.table.get("step")
    found = [dict(step) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    for step in found:
        if "call" in step:
            step.setdefault("tolerate", f"{part.table.get('title', part.id)}: {{error}}")
    if found:
        found[-1]["as"] = to_identifier(part.id)
    return found


def _shown_by_part(part: Definition) -> Table:
    kept = {key: part.table[key] for key in ("title", "line") if key in part.table}
    return {**kept, "items": to_identifier(part.id)}


def _heritable_keys(definition: Definition, base: Definition) -> Table:
    """What goes over to the definition that is built on it."""
    whole: Table = base.table
    if definition.kind != "command":
        return whole
    table = _table_without(whole, _OWN)
    verbs = {verb for said in definition.laid for verb in _VERBS & said.keys()}
    if not verbs:
        return table
    same = verbs == {"call"} and "call" in table
    here = _table_without(table, {"safety"} if same else _DOING)
    there = {
        word: _table_without(part, _DOING) if _acts_itself(part) or not same else part
        for word, part in _tables_by_name(here).items()
    }
    kept = {word: part for word, part in there.items() if part}
    return {**_table_without(here, {ON}), **({ON: kept} if kept else {})}


def _acts_itself(table: Table) -> bool:
    return bool(_VERBS & table.keys())


def _tables_by_name(table: Table) -> dict[str, Table]:
    there = table.get(ON)
    return {word: part for word, part in there.items() if isinstance(part, dict)} if isinstance(there, dict) else {}


def _table_without(table: Table, keys: frozenset[str] | set[str]) -> Table:
    return {key: value for key, value in table.items() if key not in keys}


def _with_own_lists(table: Table) -> Table:
    """A copy as deep as lists of parameters lie: a file and other definitions may hold the same tables."""
    there = {word: dict(part) for word, part in _tables_by_name(table).items()}
    return {**table, ON: {**table[ON], **there}} if there else dict(table)


def _param_lists(kind: str, table: Table) -> Iterator[tuple[Path, Table, str]]:
    """Where the lists of parameters are, the table that holds each, and its key there."""
    for of, key in _PARAMS:
        if kind == of and isinstance(table.get(key), list):
            yield (key,), table, key
    for deployment, here in _tables_by_name(table).items() if kind == "command" else ():
        if isinstance(here.get("params"), list):
            yield (ON, deployment, "params"), here, "params"


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
        raise DefinitionError(f"{count_of(len(problems), 'problem')} in definitions", details=problems)
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
    for kind, written, given in _entries_of_file(file, problems):
        if (file.path, kind, written) in without:
            continue
        id, table = _in_present_words(definitions, file, kind, written, given)
        known = definitions.get((kind, id))
        if known is None and (instead := gone_definition(definitions, kind, id)) is not None and not file.shipped:
            text = f'{place_in(file, kind, written)}: {kind} "{id}" is gone: {instead}'
            definitions.stale.append(Stale(file.path, kind, written, text))
        elif (fault := _why_unlike(definitions, file, kind, id)) is not None:
            problems.append(f'{place_in(file, kind, written)}: {kind} "{id}": {fault}')
        elif table.get("remove") is True:
            problems += _remove_definitions(definitions, Definition(kind, id, {}, file))
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


def _in_present_words(
    definitions: Definitions, file: SourceFile, kind: str, id: str, table: Table
) -> tuple[str, Table]:
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


def _why_unlike(definitions: Definitions, file: SourceFile, kind: str, id: str) -> str | None:
    """Why a table cannot say that it extends a definition, or that it is one."""
    known = definitions.get((kind, id))
    is_extending = (kind, file.written.get((kind, id), id)) in file.extends
    if is_extending and known is None:
        return _nothing_to_extend(definitions, kind, id, file.tables[kind][file.written.get((kind, id), id)])
    if file.shipped or file.language < NEWEST or is_extending or known is None:
        return None
    if any(other.path == file.path for other in known.files) or file.tables[kind][id].get("remove") is True:
        return None
    return f"it is defined already: write [{EXTEND}.{kind}.{_folded_id(id)}] to change it"


def _nothing_to_extend(definitions: Definitions, kind: str, id: str, table: Table) -> str:
    from .shape import KINDS

    if kind not in KINDS:
        return f"unknown kind {kind!r}{did_you_mean(kind, KINDS)}"
    whole = (f"{id}{sign}{key}" for key in table for sign in " .")
    if (meant := next((each for each in whole if (kind, each) in definitions), None)) is not None:
        return f'nothing to extend: an id of more than one word stands in quotes, [{EXTEND}.{kind}."{meant}"]'
    return f"nothing to extend{did_you_mean(id, (other for of, other in definitions if of == kind))}"


def _folded_id(id: str) -> str:
    return id if id.replace("-", "").replace("_", "").isalnum() and id.isascii() else f'"{id}"'


def _remove_definitions(definitions: Definitions, removal: Definition) -> list[str]:
    key = removal.kind, removal.id
    known = definitions.get(key)
    if known is None:
        near = did_you_mean(removal.id, (each.id for each in definitions.of_kind(removal.kind)))
        return [f'{place_in(removal.files[-1], *key)}: {removal.kind} "{removal.id}": nothing to remove{near}']
    del definitions[key]
    known.files.extend(removal.files)
    definitions.removed[key] = known
    return []


def _entries_of_file(file: SourceFile, problems: list[str]) -> Iterator[tuple[str, str, Table]]:
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
