"""What a resource says of one kind of thing, taken apart: each table of it is compiled as a kind of its own.

Whatever looks a word up, shows a name or keeps what a thing was reads that part alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .definition import PARTS, RESOURCE, Definition, Definitions

if TYPE_CHECKING:
    from .shape.resources import ResourceDefinition

_TITLED = frozenset({"lookup", "address"})


def title_of(id: str, definition: ResourceDefinition) -> str:
    """What one is called: its title, else its id in words."""
    return definition.get("title", id.replace("-", " "))


def plural_of(id: str, definition: ResourceDefinition) -> str:
    """What several are called."""
    return definition.get("plural", f"{title_of(id, definition)}s")


def unfold(definitions: Definitions) -> None:
    """Add the parts of every resource, each under the id of that."""
    for resource in [each for each in definitions.values() if each.kind == RESOURCE]:
        for within, kind in PARTS.items():
            table = resource.table.get(within)
            if isinstance(table, dict):
                titled = {"title": title_of(resource.id, resource.table)} if kind in _TITLED else {}
                part = Definition(kind, resource.id, {**titled, **table}, resource.files[0])
                part.files, part.within = resource.files, within
                definitions[kind, resource.id] = part
