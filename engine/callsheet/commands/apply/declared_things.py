"""Things that files declare, and what differs between those and the site."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, did_you_mean
from ...language.template import to_text
from ..folder.walk_folder import walk_directory
from ..resources import Thing, Things, is_same_value
from .planned_changes import Applied, Field, Of, PlannedChange, Prefer, three_way

if TYPE_CHECKING:
    from ..steps.dispatcher import StepDispatcher
    from .perform_changes import Lock


# Things other than pages, as files of TOML or YAML name them: a resource, and fields as its service has them.
#
# A file has one thing, or several as `things`; what stands beside these holds for each. A table of `resource` and
# `name` in the place of a value is the id of another thing, and so is a name in the place of what a thing belongs
# to.


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
            table = _file_table(path, file)
            if isinstance(table, dict) and isinstance(table.get(_RESOURCE), str):
                known = declarable() if known is None else known
                found += _things_in_table(path, table, known)
    first: dict[tuple[Any, ...], str] = {}
    for each in found:
        key = (each.resource, to_text(dict(each.parents)), each.name, each.id)
        if (each.name or each.id) and first.setdefault(key, each.path) != each.path:
            raise UsageError(f"{each.path} names the same {each.resource} as {first[key]}")
    return found


def is_reference(value: Any) -> bool:
    return isinstance(value, Mapping) and value.keys() == {_RESOURCE, _NAME}


def _file_table(path: str, file: str) -> Any:
    """What a file says; None for one of others that cannot be read."""
    with open(file, "rb") as opened:
        data = opened.read(_LARGEST)
    if b"resource" not in data:
        return None
    try:
        return tomllib.loads(data.decode()) if path.lower().endswith(".toml") else _parse_yaml(data)
    except ValueError as error:
        if _NAMES_RESOURCE.search(data):
            raise UsageError(f"{path}: {error}") from None
        return None


def _parse_yaml(data: bytes) -> Any:
    import yaml

    try:
        # A few lines of aliases can stand for gigabytes.
        for alias in (token for token in yaml.scan(data) if isinstance(token, yaml.AliasToken)):
            raise ValueError(f"line {alias.start_mark.line + 1}: no *{alias.value} here: write what it stands for")
        return yaml.safe_load(data)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).replace("\n", " ")) from None


def _things_in_table(path: str, table: Mapping[str, Any], known: Mapping[str, Things]) -> Iterator[Declared]:
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
        yield _declared_thing(path if several is None else f"{path}#{number}", {**shared, **own}, things)


def _declared_thing(path: str, said: Mapping[str, Any], things: Things) -> Declared:
    known = [_ID, *things.parent_resources, *things.field_expressions]
    for key in said:
        if key not in known:
            hint = f"there are: {', '.join(dict.fromkeys(known))}"
            raise UsageError(f"{path}: a {things.title} has no {key!r}{did_you_mean(key, known)}", hint=hint)
    name = said.get(things.name_field) if things.name_field else None
    fields = {
        key: _plain_value(value)
        for key, value in said.items()
        if key in things.field_expressions and key not in things.parent_resources
    }
    parents = {key: _plain_value(value) for key, value in said.items() if key in things.parent_resources}
    own = path.partition("#")[0] + f"#{to_text(name)}" if "#" in path and name is not None else path
    id = said.get(_ID)
    return Declared(own, things.resource, None if name is None else to_text(name), id and to_text(id), parents, fields)


def _plain_value(value: Any) -> Any:
    """Dates as services write them."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain_value(part) for key, part in value.items()}
    return [_plain_value(part) for part in value] if isinstance(value, list) else value


# Things that files declare compared with those of a site: only fields that a file names are managed.


_HINT = "--ours takes what the file says, --theirs keeps what the site has"


class DeclaredThings:
    """One comparison, of things of any resources; what was applied is remembered in the lock file."""

    def __init__(
        self, dispatcher: StepDispatcher, declared: Sequence[Declared], lock: Lock, *, prefer: Prefer = None
    ) -> None:
        self._dispatcher, self._lock, self._prefer = dispatcher, lock, prefer
        self._declared = {each.path: each for each in declared}
        self._by_name = {(each.resource, each.name): each for each in declared if each.name is not None}
        self._things: dict[str, Things] = {}
        self._lists: dict[tuple[Any, ...], dict[str, Thing]] = {}
        self._changes: dict[str, PlannedChange] = {}
        self._under_way: list[str] = []

    @property
    def resources(self) -> list[str]:
        known = (id for id in self._dispatcher.context.catalog.resources.all() if self._lock.applied_entries(id))
        return list(dict.fromkeys([*(each.resource for each in self._declared.values()), *known]))

    def things_of_resource(self, resource: str) -> Things:
        if resource not in self._things:
            self._things[resource] = Things(self._dispatcher, resource)
        return self._things[resource]

    def compare_all(self, *, prune: bool = False) -> list[PlannedChange]:
        """Each after those that it refers to."""
        for path in self._declared:
            self._planned_change(path)
        return [*self._changes.values(), *self._gone_changes(prune=prune)]

    def _gone_changes(self, *, prune: bool) -> list[PlannedChange]:
        taken = {(change.resource, change.id) for change in self._changes.values()}
        found: list[PlannedChange] = []
        for resource in self.resources:
            for id, base in self._lock.applied_entries(resource).items():
                if (resource, id) in taken or base.body is not None:  # a page, which its own comparison knows
                    continue
                change = PlannedChange(resource, base.path, base.path, "remove" if prune else "keep", id)
                change.parents = dict(base.parents)
                if not prune:
                    change.site.append("its file is gone: --prune removes it")
                found.append(change)
        return found

    # One thing

    def _planned_change(self, path: str) -> PlannedChange:
        if path in self._changes:
            return self._changes[path]
        if path in self._under_way:
            raise UsageError(f"{path} refers to itself: {' -> '.join([*self._under_way, path])}")
        self._under_way.append(path)
        try:
            change = self._compare_declared(self._declared[path])
        except UsageError as error:
            if error.message.partition(": ")[0] in self._declared:
                raise
            raise UsageError(f"{path}: {error.message}", hint=error.hint, details=error.details) from None
        self._under_way.pop()
        self._changes[path] = change
        return change

    def _compare_declared(self, declared: Declared) -> PlannedChange:
        things = self.things_of_resource(declared.resource)
        parents = {id: self._parent_id(declared, id, word) for id, word in declared.parents.items()}
        wanted = {
            name: things.resolve_field(name, self._field_value(declared, value))
            for name, value in declared.fields.items()
        }
        change = PlannedChange(declared.resource, declared.path, declared.name or declared.path)
        change.parents = parents
        applied = {name: value for name, value in wanted.items() if not isinstance(value, Of)}
        ids = {id: found for id, found in parents.items() if isinstance(found, str)}
        change.base = Applied(declared.path, fields=applied, parents=ids)
        thing = self._find_thing(declared, things, ids) if len(ids) == len(parents) else None
        if thing is None:
            change.verb = "create"
            change.fields = {name: Field(None, value) for name, value in wanted.items()}
            return change
        change.id = things.id_of(thing)
        self._add_differences(change, things, thing, wanted)
        return change

    def _add_differences(self, change: PlannedChange, things: Things, thing: Thing, wanted: Mapping[str, Any]) -> None:
        """The fields that the file changed. What a list leaves out is read before it is called different."""
        id = change.id or ""
        change.thing, change.version = thing, things.version_of(thing)
        base = self._lock.applied_entries(change.resource).get(id)
        before = base.fields if base is not None else {}
        now = things.fields_of(thing)
        if any(not is_same_value(now[name], value) for name, value in wanted.items()) and things.supports("read"):
            change.thing = thing = things.read_thing(id, _known_ids(change.parents))
            now = things.fields_of(thing)
        for name, value in wanted.items():
            sides = three_way(value, now[name], before.get(name), has_base=name in before, prefer=self._prefer)
            if sides.send and name not in things.changeable_fields:
                change.details.append(f"{name} cannot be changed once a {things.title} is made")
            elif sides.send:
                change.fields[name] = Field(now[name], value)
                change.verb = "update"
            elif sides.site:
                change.site.append(f"{name} was changed on the site: that stays")
            elif sides.conflict:
                change.details.append(f"{name}: {value!r} in the file, {now[name]!r} on the site")
                change.hint = _HINT
        if change.details:
            change.conflict = "changed here and on the site" if change.hint else "not possible"
        if change.verb == "keep" and base is not None and change.base is not None:
            kept = (base.path, dict(base.fields), dict(base.parents))
            if kept == (change.path, dict(change.base.fields), dict(change.base.parents)):
                change.base = None

    def _find_thing(self, declared: Declared, things: Things, parents: Mapping[str, str]) -> Thing:
        """The thing that is there; None where there is none."""
        listed = self._listed_things(things, parents)
        if declared.id is not None:
            if declared.id not in listed:
                raise UsageError(f"{declared.path}: there is no {things.title} {declared.id}")
            return listed[declared.id]
        named = [
            thing for thing in listed.values() if declared.name is not None and _is_called(things, thing, declared)
        ]
        if len(named) > 1:
            ids = ", ".join(things.id_of(thing) for thing in named)
            raise UsageError(
                f"{declared.path}: several {things.plural} are called {declared.name!r}: {ids}", hint="give its id"
            )
        if named:
            return named[0]
        known = self._lock.applied_entries(declared.resource).items()
        return next((listed[id] for id, base in known if base.path == declared.path and id in listed), None)

    def _listed_things(self, things: Things, parents: Mapping[str, str]) -> dict[str, Thing]:
        key = (things.resource, *sorted(parents.items()))
        if key not in self._lists:
            self._lists[key] = {things.id_of(thing): thing for thing in things.list_things(parents)}
        return self._lists[key]

    # What it refers to

    def _parent_id(self, declared: Declared, resource: str, word: Any) -> str | Of:
        if is_reference(word):
            resource, word = word["resource"], word["name"]
        return self._id_of(declared, resource, str(word))

    def _field_value(self, declared: Declared, value: Any) -> Any:
        if is_reference(value):
            return self._id_of(declared, str(value["resource"]), str(value["name"]))
        if isinstance(value, list):
            found = [self._field_value(declared, part) for part in value]
        elif isinstance(value, Mapping):
            return {key: self._known_value(declared, part) for key, part in value.items()}
        else:
            return value
        if any(isinstance(part, Of) for part in found):
            raise UsageError(f"{declared.path}: a thing that is not there yet cannot stand in a list: apply it first")
        return found

    def _known_value(self, declared: Declared, value: Any) -> Any:
        found = self._field_value(declared, value)
        if isinstance(found, Of):
            raise UsageError(f"{declared.path}: {found.path} is not there yet: apply it first")
        return found

    def _id_of(self, declared: Declared, resource: str, word: str) -> str | Of:
        """The id of what is called so: in the files, else on the site."""
        if resource not in self._dispatcher.context.catalog.resources.all():
            raise UsageError(f"{declared.path}: no resource {resource!r}")
        other = self._by_name.get((resource, word))
        if other is not None and other.path != declared.path:
            return self._planned_change(other.path).id or Of(other.path)
        things = self.things_of_resource(resource)
        return things.id_of(things.find_thing(word))

    # What is asked of it while it is done

    def prepare_changes(self, changes: Sequence[PlannedChange]) -> None:
        """Nothing has to be made before."""

    def compare_again(self, change: PlannedChange) -> PlannedChange:
        """One thing compared once more."""
        self._lists.clear()
        return self._compare_declared(self._declared[change.path])

    def keep_base(self, change: PlannedChange, id: str, base: Applied | None) -> None:
        """In the lock file: at once where a thing has no name to be found by."""
        if base is None:
            self._lock.remove_entry(change.resource, id)
        else:
            self._lock.put_applied(change.resource, id, replace(base, parents=_known_ids(change.parents)))
        if self.things_of_resource(change.resource).definition.get("name") is None:
            self._lock.save_file()

    def close(self) -> None:
        self._lock.save_file()


def _known_ids(parents: Mapping[str, Any]) -> dict[str, str]:
    return {resource: id for resource, id in parents.items() if isinstance(id, str)}


def _is_called(things: Things, thing: Thing, declared: Declared) -> bool:
    name = things.name_of(thing)
    return name is not None and declared.name is not None and name.casefold() == declared.name.casefold()
