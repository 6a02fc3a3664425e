"""Things that a site has as files of TOML, which `apply` takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tomlkit

from ...written import output_file
from .base import Applied
from .pull import Pulled, file_name

if TYPE_CHECKING:
    from ..resources.things import Thing, Things
    from .lock import Lock


def pull_things(things: Things, parents: Mapping[str, tuple[str, str]], root: str, lock: Lock, *, dry: bool) -> Pulled:
    """One file of all things of a resource; `parents` are the id and the name of each. A file that is there stays."""
    names = [name for _, name in parents.values()]
    path = f"{file_name(' '.join([things.plural, *names]), things.resource)}.toml"
    whole = os.path.join(os.path.realpath(root), path)
    ids = {resource: id for resource, (id, _) in parents.items()}
    found = [(things.id_of(thing), _said(things, thing)) for thing in things.all(ids)]
    row = Pulled("create", path, things.plural, "")
    if os.path.lexists(whole):
        return row._replace(change="keep", conflict="is there already: it is left as it is")
    if dry:
        return row
    table: dict[str, Any] = {"resource": things.resource}
    table |= {resource: name for resource, (_, name) in parents.items()}
    named = [fields if _name(things, fields) is not None else {"id": id, **fields} for id, fields in found]
    table["things"] = named
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with output_file(whole, named=False, mode=0o666) as file:
        file.write(tomlkit.dumps(table).encode("utf-8", "replace"))
    for number, (id, fields) in enumerate(found):
        name = _name(things, fields)
        key = f"{path}#{name if name is not None else number}"
        lock.put_applied(things.resource, id, Applied(key, fields=fields, parents=ids))
    lock.save()
    return row


def _said(things: Things, thing: Thing) -> dict[str, Any]:
    """The fields that a thing has and that can be sent back; TOML has no word for nothing."""
    fields = things.fields_of(thing)
    return {name: _without_nothing(value) for name, value in fields.items() if value is not None}


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_nothing(part) for key, part in value.items() if part is not None}
    return [_without_nothing(part) for part in value if part is not None] if isinstance(value, list) else value


def _name(things: Things, fields: Mapping[str, Any]) -> Any:
    return fields.get(things.name_field) if things.name_field else None
