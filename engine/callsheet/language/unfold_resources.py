"""What a resource says of one kind of thing, taken apart: each table of it is compiled as a kind of its own.

Whatever looks a word up, shows a name or keeps what a thing was reads that part alone.
"""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from .definition import PARTS, RESOURCE, Definition, Definitions
from .deployment import ON, deployment_variants
from .identifier import to_identifier
from .scopes import names_in

if TYPE_CHECKING:
    from .merge import Table
    from .shape.resources import ResourceDefinition

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
            table = resource.table.get(within, _kept(definitions, resource.table) if within == "snapshot" else None)
            if isinstance(table, dict):
                known = {"title": title_of(resource.id, resource.table)} if kind in _TITLED else {}
                known |= _listed(resource.table) if within == "find" and _only_matches(table) else {}
                part = Definition(kind, resource.id, {**known, **table}, resource.files[0])
                part.files, part.within = resource.files, within
                definitions[kind, resource.id] = part


def _only_matches(find: Table) -> bool:
    """Whether a look-up compares words with candidates that it does not say how to get."""
    return "match" in find and "call" not in find


def _listed(resource: Table) -> Table:
    """The candidates are the things that are listed."""
    listing = resource.get("list")
    found = {key: listing[key] for key in _CANDIDATES if key in listing} if isinstance(listing, dict) else {}
    return {**found, "value": resource.get("id", "id"), **({"label": resource["name"]} if "name" in resource else {})}


def is_derived(definition: Definition, definitions: Definitions) -> bool:
    """Whether it is made of what its resource says, and is wrong only where that is."""
    return bool(definition.within) and definition.within not in definitions[RESOURCE, definition.id].table


def _kept(definitions: Definitions, resource: Table) -> Table | None:
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
