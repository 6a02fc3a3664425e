"""Definitions made whole: what files say of one is laid over another, and over what it is built on by `like`.

Steps that `use` shared ones become these. It is all done when definitions are loaded, so whatever reads them later
meets whole tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from ..errors import did_you_mean
from .checks.problem import PART, Finding, Problem, stale_by, word_problem
from .merge import CALLS, ON, Table, idle_removals, lay_over, merge_tables
from .parameters import to_identifier
from .renames import lost_definition
from .source_file import DEEPEST, Definition, Definitions, Inherited, Path, place_in

LIKE = "like"
SHARED = "input"  # the kind of shared parameters
USE, STEPS = "use", "steps"  # the key of a step that stands for shared ones, and their kind
_KINDS = (SHARED, "view", "command")
_STEPS, _AROUND_STEPS = ("step", "undo"), ("each", "snapshot")  # keys of lists of steps, and of tables with these
_PARAMS = (("command", "params"), ("program", "options"), ("program", "paging"), ("program", "journal"))
# What is about the base itself: its names, and how it is called.
_OWN = frozenset({LIKE, "aliases", "examples", "hidden"})
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
        merger.build(definition, ())
    for definition in definitions.values():
        merger.fill(definition)
    told = [(problem, stale_by(problem, definitions, without)) for problem in merger.problems]
    definitions.stale += [stale for _, stale in told if stale is not None]
    return [word_problem(problem, definitions) for problem, stale in told if stale is None]


class _Merger:
    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.problems: list[Problem] = []
        self._built: set[tuple[str, str]] = set()

    def build(self, definition: Definition, way: tuple[str, ...]) -> None:
        """`way` leads from the definition that was begun with to the one that is built on this one."""
        if (definition.kind, definition.id) in self._built:
            return
        self._built.add((definition.kind, definition.id))
        base = self._base(definition, (*way, definition.id))
        if base is None:
            definition.table = merge_tables({}, definition.laid[0])
        else:
            under = _heritable(definition, base)
            self._note_idle(definition, 0, under)
            definition.table = lay_over(under, _without(definition.laid[0], {LIKE}))
        for place, table in enumerate(definition.laid[1:], 1):
            self._note_idle(definition, place, definition.table)
            definition.table = lay_over(definition.table, table if base is None else _without(table, {LIKE}))

    def _base(self, definition: Definition, way: tuple[str, ...]) -> Definition | None:
        said = [table[LIKE] for table in definition.laid if isinstance(table.get(LIKE), str)]
        if not said or definition.kind not in _KINDS:
            return None
        base = self.definitions.get((definition.kind, said[-1]))
        if len(way) > DEEPEST:
            self.problems.append(Problem(definition, Finding((LIKE,), "too many are built on each other here")))
            return None
        if base is None or base.id in way:
            self.problems.append(Problem(definition, self._missing(definition.kind, said[-1], (LIKE,), way)))
            return None
        self.build(base, way)
        definition.inherited.append(Inherited((), base))
        return base

    def _missing(self, kind: str, id: str, at: Path, way: tuple[str, ...] = ()) -> Finding:
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

    def fill(self, definition: Definition) -> None:
        """Put shared parameters below those that are like them."""
        definition.table = _with_own_lists(definition.table)
        if definition.kind in ("command", "view"):
            self._add_parts(definition)
        for at, holder, key in _param_lists(definition.kind, definition.table):
            holder[key] = [self._filled(definition, (*at, place), param) for place, param in enumerate(holder[key])]
        if definition.kind != STEPS:
            definition.table = self._with_shared_steps(definition, definition.table, ())

    def _add_parts(self, definition: Definition) -> None:
        """Behind a command's own steps those of its parts, each named as the part; below its view what they show."""
        view = definition.kind == "view"
        parts = [part for part in self._parts if definition.id == (self._view_of(part) if view else _command_of(part))]
        if not parts:
            return
        key = "detail" if view else "step"
        listed = list(definition.table.get(key, ()))
        for part in parts:
            for place, shown in enumerate([_shown(part)] if view else _read(part)):
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
    def _parts(self) -> list[Definition]:
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
                found[key] = self._expanded(definition, value, (*at, key))
            elif key in _AROUND_STEPS and isinstance(value, dict):
                found[key] = self._with_shared_steps(definition, value, (*at, key))
            elif key == ON and isinstance(value, dict):
                found[key] = {
                    word: self._with_shared_steps(definition, part, (*at, ON, word)) if isinstance(part, dict) else part
                    for word, part in value.items()
                }
        return found

    def _expanded(self, definition: Definition, steps: list[Any], at: Path) -> list[Any]:
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
            self.problems.append(Problem(definition, self._missing(STEPS, id, (*at, USE))))
            return [step]
        if further := sorted(step.keys() - {USE}):
            text = f"the shared steps say all that is done; remove {further[0]!r}, or say it in a step before"
            self.problems.append(Problem(definition, Finding(at, text)))
        steps = shared.table.get("step")
        found = [each for each in steps if isinstance(each, dict)] if isinstance(steps, list) else []
        for place in range(len(found)):
            definition.inherited.append(Inherited((*at[:-1], first + place), shared, ("step", place), at))
        return found

    def _filled(self, definition: Definition, at: Path, param: Any) -> Any:
        id = param.get(LIKE) if isinstance(param, dict) else None
        if not isinstance(id, str):
            return param
        shared = self.definitions.get((SHARED, id))
        if shared is None:
            self.problems.append(Problem(definition, self._missing(SHARED, id, (*at, LIKE))))
            return param
        definition.inherited.append(Inherited(at, shared))
        return lay_over(shared.table, _without(param, {LIKE}))


def _command_of(part: Definition) -> str | None:
    command = part.table.get("command")
    return command if isinstance(command, str) else None


def _order_of(part: Definition) -> int:
    order = part.table.get("order", 0)
    return order if isinstance(order, int) else 0


def _read(part: Definition) -> list[Any]:
    """A part's steps. The last one is named as the part, and none of them stops the others."""
    steps = part.table.get("step")
    found = [dict(step) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    for step in found:
        if "call" in step:
            step.setdefault("tolerate", f"{part.table.get('title', part.id)}: {{error}}")
    if found:
        found[-1]["as"] = to_identifier(part.id)
    return found


def _shown(part: Definition) -> Table:
    kept = {key: part.table[key] for key in ("title", "line") if key in part.table}
    return {**kept, "items": to_identifier(part.id)}


def _heritable(definition: Definition, base: Definition) -> Table:
    """What goes over to the definition that is built on it."""
    whole: Table = base.table
    if definition.kind != "command":
        return whole
    table = _without(whole, _OWN)
    verbs = {verb for said in definition.laid for verb in _VERBS & said.keys()}
    if not verbs:
        return table
    same = verbs == {"call"} and "call" in table
    here = _without(table, {"safety"} if same else _DOING)
    there = {word: _without(part, _DOING) if _acts(part) or not same else part for word, part in _there(here).items()}
    kept = {word: part for word, part in there.items() if part}
    return {**_without(here, {ON}), **({ON: kept} if kept else {})}


def _acts(table: Table) -> bool:
    return bool(_VERBS & table.keys())


def _there(table: Table) -> dict[str, Table]:
    there = table.get(ON)
    return {word: part for word, part in there.items() if isinstance(part, dict)} if isinstance(there, dict) else {}


def _without(table: Table, keys: frozenset[str] | set[str]) -> Table:
    return {key: value for key, value in table.items() if key not in keys}


def _with_own_lists(table: Table) -> Table:
    """A copy as deep as lists of parameters lie: a file and other definitions may hold the same tables."""
    there = {word: dict(part) for word, part in _there(table).items()}
    return {**table, ON: {**table[ON], **there}} if there else dict(table)


def _param_lists(kind: str, table: Table) -> Iterator[tuple[Path, Table, str]]:
    """Where the lists of parameters are, the table that holds each, and its key there."""
    for of, key in _PARAMS:
        if kind == of and isinstance(table.get(key), list):
            yield (key,), table, key
    for deployment, here in _there(table).items() if kind == "command" else ():
        if isinstance(here.get("params"), list):
            yield (ON, deployment, "params"), here, "params"
