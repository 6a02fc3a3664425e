"""Resources out of an API: what is listed, shown, created, changed and deleted at one path is one kind of thing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.parameters import to_identifier
from ..openapi.schemas import JSON, is_json
from .command_parameters import members_of
from .naming import Nouns, command_word
from .obvious_operations import Resource
from .views import id_of, jmespath_field, name_of

if TYPE_CHECKING:
    from ..language.shape.rest import OperationDefinition, PaginatorDefinition

Tables = dict[str, dict[str, Any]]
_CALLS = {"list": "list", "get": "read", "create": "create", "update": "update", "delete": "delete"}
_HOLE = re.compile(r"\{([^{}]+)\}")
_TAKEN = {"id", "found", "site", "since", "query", "fields", "whole", "files", "after", "before"}
_CHANGED = ("updated-at", "updated-on", "updated", "modified-at", "modified-on", "modified", "last-modified")
_URI = re.compile(r"[a-z][a-z0-9-]*")
# Of an id that nobody gives as a name to something: what it looks like.
_PATTERNS = {"integer": r"\d+", "uuid": "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"}


class Api(NamedTuple):
    """What an import made, and the paginators that it may name. `replies` are by id of operation."""

    operations: Mapping[str, OperationDefinition]
    schemas: Tables
    replies: Mapping[str, Any]
    paginators: Mapping[str, PaginatorDefinition]
    nouns: Nouns


class WordedCommand(NamedTuple):
    """The words of a command and its table."""

    words: str
    table: dict[str, Any]


def add_resources(
    found: Sequence[Resource], api: Api, commands: Mapping[str, WordedCommand], taken: set[str]
) -> list[tuple[Resource, str, dict[str, Any]]]:
    """Operations, id and table of each. `commands`, by operation, get what follows of it; `taken` are ids.

    These are look-ups and completion where things stand at the top, and what `undo` needs.
    """
    named: dict[str, _Thing] = {}
    for resource in sorted(found, key=lambda each: -len(each.verbs)):  # what can be done most with has the plain name
        thing = _Thing(resource, api)
        above, id = (api.nouns.singular(command_word(part)) for part in ("", *resource.path)[-2:])
        above = above if above and not above.isdigit() else command_word(resource.tag)
        for free in (id, f"{above}-{id}", f"{id}-{len(named)}"):
            if free and free not in taken and free not in named and to_identifier(free) not in _TAKEN:
                named[free] = thing
                break
    owners: dict[str | None, str] = {thing.item: id for id, thing in named.items() if thing.item}
    tables: dict[str, dict[str, Any]] = {}
    for id, thing in named.items():
        table = thing.table(owners)
        if table is not None:
            tables[id] = table
    for id in [id for id, table in tables.items() if any(owner not in tables for owner in table.get("parent", ()))]:
        del tables[id]
    addresses: set[str] = set()
    for id, table in tables.items():
        named[id].serve(id, table, commands, addresses)
    return [(named[id].resource, id, table) for id, table in tables.items()]


class _Thing:
    """The operations of one kind of thing, and what is known of it from the answers."""

    def __init__(self, resource: Resource, api: Api) -> None:
        self.api, self.resource = api, resource
        self.paths = {verb: api.operations[id]["http"].partition(" ")[2] for verb, id in resource.verbs.items()}
        ends = (path for verb, path in self.paths.items() if verb not in ("list", "create") and path.endswith("}"))
        self.item = next(ends, None)
        replies = [api.replies[resource.verbs[verb]] for verb in ("get", "list") if verb in resource.verbs]
        self.fields: dict[str, Any] = next((reply.fields for reply in replies if reply.fields), {})
        names, noun = list(self.fields), api.nouns.singular(command_word(resource.name))
        key = _HOLE.findall(self.item)[-1] if self.item else ""
        self.id = key if key in names else id_of(names, noun)
        self.name = next((name for name in [name_of(names)] if name != self.id), "")

    def table(self, owners: Mapping[str | None, str]) -> dict[str, Any] | None:
        """None where its things have no id, or belong to what is no resource."""
        calls = {_CALLS[verb]: call for verb in self.paths if (call := self._call(verb, owners)) is not None}
        if not self.id or not {"list", "read"} & calls.keys():
            return None
        sent = {verb: self._sent(verb) for verb in ("create", "update") if verb in calls}
        fields = list(dict.fromkeys(name for names in sent.values() for name in names))
        for key in ("create", "update"):
            if key in calls and (not sent[key] or (key == "update" and "read" not in calls)):
                del calls[key]
        fixed = [name for name in fields if name not in sent.get("update", fields)] if "update" in calls else []
        changed = next((name for name in self.fields if command_word(name) in _CHANGED), None)
        parent = {
            owners[way]: jmespath_field(name) if name in self.fields else "`null`" for way, name in self._above(owners)
        }
        table = {
            "id": jmespath_field(self.id) if self.id != "id" else None,
            "name": jmespath_field(self.name) if self.name else None,
            "parent": parent,
            **calls,
            "fields": fields if {"create", "update"} & calls.keys() else None,
            "fixed": fixed,
            "changed": {"at": jmespath_field(changed)} if changed and "list" in calls else None,
        }
        return {key: value for key, value in table.items() if value}

    def serve(self, id: str, table: dict[str, Any], commands: Mapping[str, WordedCommand], addresses: set[str]) -> None:
        """What follows for the commands and for agents; where things have parents, a word alone is no thing.

        `addresses` are those that agents read other things at.
        """
        made = {verb: commands[operation] for verb, operation in self.resource.verbs.items() if operation in commands}
        items = {verb: made[verb] for verb in ("get", "update", "delete") if verb in made and _CALLS[verb] in table}
        if "update" in items:
            above, argument = _arguments(items["update"].table)
            owners = [to_identifier(owner) for owner in table.get("parent", ())]
            args = dict(zip(owners, (f"{{{to_identifier(each['name'])}}}" for each in above), strict=False))
            keep = {"snapshot": id, "of": argument["name"], "args": args}
            items["update"].table["keep"] = {key: value for key, value in keep.items() if value}
        if table.get("parent") or "list" not in table:
            return
        table["find"] = self._find(table)
        known = "lookup" if "pattern" in table["find"] else "suggest"
        for each in items.values():
            _, argument = _arguments(each.table)
            if "choices" not in argument:
                argument[known] = id
        if "get" in items and _URI.fullmatch(command_word(self.resource.name)):
            _, argument = _arguments(made["get"].table)
            at = next(each for each in (command_word(self.resource.name), id) if each not in addresses)
            addresses.add(at)
            agents = {"uri": f"{at}/{{id}}", "command": made["get"].words}
            table["agents"] = {**agents, "values": {argument["name"]: "{id}"}}
            if "list" in made and not any(param.get("required") for param in made["list"].table.get("params", ())):
                table["agents"]["complete"] = {"id": {"command": made["list"].words}}
        if "list" in made and "view" in made["list"].table:
            table["view"] = made["list"].table["view"]

    def _find(self, table: Mapping[str, Any]) -> dict[str, Any]:
        facts = self.fields.get(self.id, {})
        pattern = _PATTERNS.get(facts.get("format", "")) or _PATTERNS.get(facts.get("type", ""))
        id, name = jmespath_field(self.id), table.get("name")
        match = [*([] if pattern and name else [id]), *([name] if name else [])]
        labels = {"label": name} if name else {}
        find = {"match": match, "suggest": {"word": id, **labels}}
        # Without `sole` a change would read the whole list first, in case that something is called by this number.
        return {**find, **({"pattern": pattern, "sole": "`false`"} if pattern else {})}

    def _above(self, owners: Mapping[str | None, str]) -> list[tuple[str, str]]:
        """The path of what it belongs to and the parameter that names it, the nearest first."""
        whole = self.item.rpartition("/")[0] if self.item else next(iter(self.paths.values()))
        ways = [(whole[: hole.end()], hole[1]) for hole in _HOLE.finditer(whole)]
        return [(way, name) for way, name in reversed(ways) if way in owners]

    def _call(self, verb: str, owners: Mapping[str | None, str]) -> dict[str, Any] | None:
        """None for a call that needs more than ids and fields."""
        id = self.resource.verbs[verb]
        operation, where = self.api.operations[id], self.paths[verb]
        holes = list(_HOLE.finditer(where))
        own = holes.pop() if verb not in ("list", "create") and where.endswith("}") else None
        if verb not in ("list", "create") and own is None:
            return None
        args = {own[1]: "{id}"} if own else {}
        for hole in holes:
            if where[: hole.end()] not in owners:
                return None
            args[hole[1]] = f"{{{to_identifier(owners[where[: hole.end()]])}}}"
        params = (param for param in operation.get("params", ()) if param["name"] not in args)
        if any(param.get("required") for param in params) or operation.get("reply") == "binary":
            return None
        body, reply = operation.get("body"), self.api.replies.get(id)
        if body is not None and (not is_json(body.get("media", JSON)) or verb not in ("create", "update")):
            return None
        if verb == "list" and (reply is None or not reply.is_list):
            return None
        under = reply.items if verb == "list" and reply is not None and "paginate" not in operation else None
        items = {"items": jmespath_field(under)} if under else {}
        return {"call": id, **({"args": args} if args else {}), **items}

    def _sent(self, verb: str) -> list[str]:
        """The members of a body that a thing has too."""
        body = self.api.operations[self.resource.verbs[verb]].get("body")
        members = members_of(body, self.api.schemas) if body else {}
        return [name for name, facts in members.items() if name in self.fields and not facts.get("readOnly")]


def _arguments(command: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The parameters that name what a thing belongs to, the nearest first, and the one that names it."""
    *above, own = (param for param in command["params"] if param.get("kind") == "argument")
    return above[::-1], own
