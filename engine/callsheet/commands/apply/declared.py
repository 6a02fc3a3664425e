"""Things other than pages, as files of TOML or YAML name them: a resource, and fields as its service has them.

A file has one thing, or several as `things`; what stands beside these holds for each. A table of `resource` and `name`
in the place of a value is the id of another thing, and so is a name in the place of what a thing belongs to.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, did_you_mean
from ...language.template import to_text
from ..folder.walk import walk_directory

if TYPE_CHECKING:
    from ..resources.things import Things

_ENDINGS = (".toml", ".yaml", ".yml")
_LARGEST = 4 << 20
_RESOURCE, _THINGS, _ID, _NAME = "resource", "things", "id", "name"
_OWN = "callsheet.toml"
_NAMES_RESOURCE = re.compile(rb"^resource\s*[:=]", re.MULTILINE)


@dataclass(frozen=True)
class Declared:
    """`path` is the file, with the thing's name behind `#` where the file has several. `parents` are words for them."""

    path: str
    resource: str
    name: str | None
    id: str | None
    parents: Mapping[str, Any]
    fields: Mapping[str, Any]


def read_declared(root: str, declarable: Callable[[], Mapping[str, Things]]) -> list[Declared]:
    """Raises `UsageError` for a file that names a resource and cannot be used; other files are left alone."""
    found: list[Declared] = []
    known: Mapping[str, Things] | None = None  # which are many, and few directories name any
    for path, file in walk_directory(root).found.items():
        if path.lower().endswith(_ENDINGS) and posixpath.basename(path) != _OWN:
            table = _table(path, file)
            if isinstance(table, dict) and isinstance(table.get(_RESOURCE), str):
                known = declarable() if known is None else known
                found += _declared(path, table, known)
    first: dict[tuple[Any, ...], str] = {}
    for each in found:
        key = (each.resource, to_text(dict(each.parents)), each.name, each.id)
        if (each.name or each.id) and first.setdefault(key, each.path) != each.path:
            raise UsageError(f"{each.path} names the same {each.resource} as {first[key]}")
    return found


def is_reference(value: Any) -> bool:
    return isinstance(value, Mapping) and value.keys() == {_RESOURCE, _NAME}


def _table(path: str, file: str) -> Any:
    """What a file says; None for one of others that cannot be read."""
    with open(file, "rb") as opened:
        data = opened.read(_LARGEST)
    if b"resource" not in data:
        return None
    try:
        return tomllib.loads(data.decode()) if path.lower().endswith(".toml") else _yaml(data)
    except ValueError as error:
        if _NAMES_RESOURCE.search(data):
            raise UsageError(f"{path}: {error}") from None
        return None


def _yaml(data: bytes) -> Any:
    import yaml

    try:
        # A few lines of aliases can stand for gigabytes.
        for alias in (token for token in yaml.scan(data) if isinstance(token, yaml.AliasToken)):
            raise ValueError(f"line {alias.start_mark.line + 1}: no *{alias.value} here: write what it stands for")
        return yaml.safe_load(data)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).replace("\n", " ")) from None


def _declared(path: str, table: Mapping[str, Any], known: Mapping[str, Things]) -> Iterator[Declared]:
    resource = table[_RESOURCE]
    if resource not in known:
        hint = f"there are: {', '.join(known)}"
        raise UsageError(f"{path}: no resource {resource!r}{did_you_mean(resource, known)}", hint=hint)
    things = known[resource]
    shared = {key: value for key, value in table.items() if key not in (_RESOURCE, _THINGS)}
    several = table.get(_THINGS)
    if several is not None and not (isinstance(several, list) and all(isinstance(each, dict) for each in several)):
        raise UsageError(f"{path}: {_THINGS}: expected a list of tables")
    for number, own in enumerate(several if several is not None else [{}]):
        yield _one(path if several is None else f"{path}#{number}", {**shared, **own}, things)


def _one(path: str, said: Mapping[str, Any], things: Things) -> Declared:
    known = [_ID, *things.parents, *things.fields]
    for key in said:
        if key not in known:
            hint = f"there are: {', '.join(dict.fromkeys(known))}"
            raise UsageError(f"{path}: a {things.title} has no {key!r}{did_you_mean(key, known)}", hint=hint)
    name = said.get(things.name_field) if things.name_field else None
    fields = {key: _plain(value) for key, value in said.items() if key in things.fields and key not in things.parents}
    parents = {key: _plain(value) for key, value in said.items() if key in things.parents}
    own = path.partition("#")[0] + f"#{to_text(name)}" if "#" in path and name is not None else path
    id = said.get(_ID)
    return Declared(own, things.resource, None if name is None else to_text(name), id and to_text(id), parents, fields)


def _plain(value: Any) -> Any:
    """Dates as services write them."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value
