"""What follows from definitions, worked out once when they are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING

from .merge import ACTION, CALLS, ON, Table, deployment_variants, on_deployment
from .parameters import argument_name, to_identifier
from .renames import present_id
from .safety import CHANGES, class_of_operation
from .scopes import names_in
from .source_file import PARTS, RESOURCE, Definition, Definitions

if TYPE_CHECKING:
    from .merge import Table
    from .shape.commands import Param
    from .shape.resources import ResourceDefinition


# What follows from a command's definition, worked out once when definitions are compiled.


_KEPT = ("keep", "undo")
_JOURNAL = "journal"  # the option that names one
_ONE = "kept"  # what the answer for the one thing is called


def complete_commands(definitions: Definitions) -> None:
    """Every command that calls something gets `step`s, and `pages` with its options where it prints a list."""
    _name_program(definitions)
    paging, journal = _params_of_programs(definitions, "paging"), _params_of_programs(definitions, "journal")
    makers = _making_operations(definitions)
    for definition in definitions.values():
        table = definition.table
        if definition.kind == "command" and "builtin" not in table:
            table["on"] = {word: _differences_on(table, word) for word in table.get("on", {})}
            table.update(_call_as_steps(table))
            _drop_rules(table)
            if _prints_pages(definitions, table):
                table["pages"] = True
                table["counts"] = "count" not in _taken_names(
                    table
                )  # else the word is its own, with a meaning of its own
                _add_params(table, paging)
            kept = journal
            if not _changes_items(definitions, table):
                kept = [param for param in journal if param["name"] == _JOURNAL] if _makes(table, makers) else []
            if kept and not _taken_names(table) & _taken_names({"params": kept}):
                table["journal"] = definition.id
                _add_params(table, kept)


def _name_program(definitions: Definitions) -> None:
    """`{program}` and `{prefix}` in help texts: commands that several programs have call each by its name."""
    programs = [definition for definition in definitions.values() if definition.kind == "program"]
    words = [("{program}", program.id) for program in programs]
    words += [("{prefix}", program.table["prefix"]) for program in programs]
    for definition in definitions.values():
        if definition.kind in ("command", "group"):
            for table in (definition.table, *definition.table.get("params", ())):
                for key in ("help", "about"):
                    if "{" in table.get(key, ""):
                        table[key] = _filled_words(table[key], words)


def _filled_words(text: str, words: list[tuple[str, str]]) -> str:
    for name, word in words:
        text = text.replace(name, word)
    return text


def _params_of_programs(definitions: Definitions, key: str) -> list[Table]:
    programs = (definition for definition in definitions.values() if definition.kind == "program")
    return [param for program in programs for param in program.table.get(key, ())]


def _add_params(table: Table, further: list[Table]) -> None:
    """But for those whose names the command uses itself."""
    taken = _taken_names(table)
    table["params"] = [*table.get("params", ()), *(param for param in further if param["name"] not in taken)]


def _taken_names(table: Table) -> set[str]:
    return {name for param in table.get("params", ()) for name in (param["name"], *param.get("aliases", ()))}


def _changes_items(definitions: Definitions, table: Table) -> bool:
    """Whether it changes each item of a list, so that it can be written down what became of them."""
    steps = [step for here in (table, *deployment_variants(table).values()) for step in here["step"] if "each" in step]
    calls = [part["call"] for step in steps for part in step["each"]["step"] if "call" in part]
    operations = [operation for call in calls if (operation := _operation_of(definitions, call)) is not None]
    return any(class_of_operation(operation.table) in CHANGES for operation in operations)


def _making_operations(definitions: Definitions) -> set[str]:
    """The operations that make things which can be read and deleted."""
    resources = [each.table for each in definitions.values() if each.kind == RESOURCE]
    every = [here for table in resources for here in (table, *deployment_variants(table).values())]
    made = (here for here in every if here.keys() >= {"create", "read", "delete"})
    return {call for here in made for call in (here["create"]["call"], *here.get("made_by", ()))}


def _makes(table: Table, makers: set[str]) -> bool:
    """Whether it makes something that an undo can remove, wherever it runs."""
    variants = (table, *deployment_variants(table).values())
    return all(any(step.get("call") in makers for step in here["step"]) for here in variants)


def _differences_on(table: Table, deployment: str) -> Table:
    """What differs on a deployment, its call as steps; a change of arguments alone keeps the command's own call."""
    different: Table = table["on"][deployment]
    here = on_deployment(table, deployment)
    if not different.keys() & {*CALLS, *_KEPT} and _rules_of(here) == _rules_of(table):
        return different
    rest = {key: value for key, value in different.items() if key not in {*ACTION, *_KEPT}}
    return {**rest, **_steps_of(here)}


def _call_as_steps(table: Table) -> Table:
    stepped = _steps_of(table)
    for key in (*ACTION, *_KEPT):
        table.pop(key, None)
    return stepped


def _steps_of(table: Table) -> Table:
    """The rules and steps of its parameters are its first steps."""
    steps = table.get("step") or [{key: table[key] for key in ACTION if key in table}]
    before = [*_rules_of(table), *_of_params(table, "step")]
    if "keep" not in table:
        return {"step": [*before, *steps]}
    return {"step": [*before, *_as_for_items(table, steps)], "result": f"{{{_ONE}[0]}}"}


def _as_for_items(table: Table, steps: list[Table]) -> list[Table]:
    """The steps of a command that changes one thing, as those for one item of a list; what is refused first stays."""
    first = next((place for place, step in enumerate(steps) if "fail" not in step), len(steps))
    keep = dict(table["keep"])
    item = to_identifier(keep.pop("of"))
    each = {"items": f"[{item}]", "item": item, "name": "@", "step": steps[first:], "done": "changed {done} of {total}"}
    more = {key: table[key] for key in ("result", "undo") if key in table}
    return [*steps[:first], {"as": _ONE, "each": {**each, **more, "keep": keep}}]


def _rules_of(table: Table) -> list[Table]:
    params = table.get("params", ())
    return [rule for param in params for rule in (*_rule_of_setting(param), *param.get("refuse", ()))]


def _rule_of_setting(param: Param) -> Iterator[Table]:
    """What refuses a command that has a value neither from its line nor from the site."""
    if "setting" not in param or not param.get("required"):
        return
    setting, name = param["setting"], param["name"]
    word = argument_name(param)
    written = word if param.get("kind") == "argument" else f"--{name}"
    offered = param.get("ask", {}).get("lookup") or param.get("suggest") or param.get("lookup")
    yield {
        "when": f"!{to_identifier(name)}",
        "fail": f"no {setting}: pass {written}, or set a default {setting}",
        "hint": f"{{{{program}}}} config set {setting} {word.removesuffix('...')}",
        **({"candidates": offered} if offered else {}),
    }


def _of_params(table: Table, key: str) -> list[Table]:
    return [each for param in table.get("params", ()) for each in param.get(key, ())]


_RULES = frozenset({"refuse", "step"})


def _drop_rules(table: Table) -> None:
    for here in (table, *table["on"].values()):
        if "params" in here:
            here["params"] = [
                {key: param[key] for key in param if key not in _RULES} if _RULES & param.keys() else param
                for param in here["params"]
            ]


def prints_list(definitions: Definitions, table: Table) -> bool:
    """The same of a command that is not completed yet."""
    if "builtin" in table:
        return False
    there = {word: _differences_on(table, word) for word in table.get("on", {})}
    return _prints_pages(definitions, {**table, "on": there, **_steps_of(table)})


def _prints_pages(definitions: Definitions, table: Table) -> bool:
    """Whether it prints a list: of pages as they arrive, or out of an answer that comes whole."""
    if "items" in table:
        return True
    each = [table, *deployment_variants(table).values()]
    return "result" not in table and any(_streams_items(definitions, step) for here in each for step in here["step"])


def _streams_items(definitions: Definitions, step: Table) -> bool:
    operation = _operation_of(definitions, step.get("call", ""))
    if operation is None or {"as", "value", "batch"} & step.keys():
        return False
    return any(here.get("paginate") for here in (operation.table, *deployment_variants(operation.table).values()))


def _operation_of(definitions: Definitions, id: str) -> Definition | None:
    names = (id, id.partition(".")[2], present_id(definitions, "operation", id))
    return next((found for name in names if (found := definitions.get(("operation", name))) is not None), None)


# What a resource says of one kind of thing, taken apart: each table of it is compiled as a kind of its own.
#
# Whatever looks a word up, shows a name or keeps what a thing was reads that part alone.


_TITLED = frozenset({"lookup", "address"})
_CANDIDATES = ("call", "args", "items", "where")


def title_of(id: str, definition: ResourceDefinition) -> str:
    """What one is called: its title, else its id in words."""
    return definition.get("title", id.replace("-", " "))


def plural_of(id: str, definition: ResourceDefinition) -> str:
    """What several are called."""
    return definition.get("plural", f"{title_of(id, definition)}s")


def unfold_resources(definitions: Definitions) -> None:
    """Add the parts of every resource, each under the id of that."""
    for resource in [each for each in definitions.values() if each.kind == RESOURCE]:
        for within, kind in PARTS.items():
            table = resource.table.get(
                within, _kept_for_undo(definitions, resource.table) if within == "snapshot" else None
            )
            if isinstance(table, dict):
                known = {"title": title_of(resource.id, resource.table)} if kind in _TITLED else {}
                known |= _listed_candidates(resource.table) if within == "find" and _only_matches(table) else {}
                part = Definition(kind, resource.id, {**known, **table}, resource.files[0])
                part.files, part.within = resource.files, within
                definitions[kind, resource.id] = part


def _only_matches(find: Table) -> bool:
    """Whether a look-up compares words with candidates that it does not say how to get."""
    return "match" in find and "call" not in find


def _listed_candidates(resource: Table) -> Table:
    """The candidates are the things that are listed."""
    listing = resource.get("list")
    found = {key: listing[key] for key in _CANDIDATES if key in listing} if isinstance(listing, dict) else {}
    return {**found, "value": resource.get("id", "id"), **({"label": resource["name"]} if "name" in resource else {})}


def is_derived(definition: Definition, definitions: Definitions) -> bool:
    """Whether it is made of what its resource says, and is wrong only where that is."""
    return bool(definition.within) and definition.within not in definitions[RESOURCE, definition.id].table


def _kept_for_undo(definitions: Definitions, resource: Table) -> Table | None:
    """What a thing was and what puts it back, where it can be read and changed and nothing else is said."""
    on = resource.get(ON, {})
    if not isinstance(on, dict) or not all(isinstance(here, dict) for here in on.values()):
        return None  # not checked yet
    found = _of_fields(definitions, resource)
    there = (
        {word: _of_fields(definitions, here) for word, here in deployment_variants(resource).items()} if found else {}
    )
    differing = {word: table for word, table in there.items() if table not in (None, found)}
    return {**found, **({ON: differing} if differing else {})} if found else None


def _of_fields(definitions: Definitions, resource: Table) -> Table | None:
    """The fields in the form that can be sent back, and a change of all of them; its parents are handed over.

    What it did not have is left out of a body that replaces all of it, and null in one that changes some of it.
    """
    read, update, fields = resource.get("read"), resource.get("update"), resource.get("fields")
    parent, fixed = resource.get("parent", {}), resource.get("fixed", [])
    if not (isinstance(read, dict) and isinstance(update, dict) and isinstance(fields, dict | list)):
        return None
    if not (isinstance(parent, dict) and isinstance(fixed, list)):
        return None
    where: Table = fields if isinstance(fields, dict) else {name: dumps(name) for name in fields}
    used = {*names_in(read.get("args")), *names_in([update.get("args"), update.get("body")])}
    parents = [name for name in map(to_identifier, parent) if name in used]
    where = {name: part for name, part in where.items() if name not in fixed}
    sent = ", ".join(f"{dumps(name)}: {part}" for name, part in where.items())
    operation = definitions.get(("operation", str(update.get("call"))))
    replaces = operation is not None and str(operation.table.get("http")).startswith("PUT ")
    kept = f"picked({{{sent}}}, `{dumps([*where])}`)" if replaces else f"{{{sent}}}"
    members = ", ".join([f"fields: {kept}", *(f"{name}: ${name}" for name in parents)])
    again = {key: read[key] for key in ("call", "args") if key in read}
    value = read.get("value", "@")
    named = {"id": "thing", "fields": "was.fields", "whole": "was.fields", **{name: f"was.{name}" for name in parents}}
    given = [{"as": name, "value": part} for name, part in named.items()]
    change = {"body": "{fields}", **{key: update[key] for key in ("call", "args", "body") if key in update}}
    undo = [*given, {"as": {"found": value}, **again}, change]
    return {**again, "state": f"found | {value} | {{{members}}}", "undo": undo} if sent else None
