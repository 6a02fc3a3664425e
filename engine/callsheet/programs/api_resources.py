"""The resources of an API, their obvious operations, and views and parameters of their commands."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.parameters import to_identifier
from ..openapi.schemas import JSON, is_json
from .naming import NO_RESOURCE, Nouns, command_word

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import Body, BodyPart, OperationDefinition, PaginatorDefinition


# The columns of a thing, from the fields that a document gives it.


_SHOWN, _MOST = 6, 16
_IDS = ("id", "key", "uuid", "guid", "sid", "number", "slug", "name")
_NAMES = ("name", "title", "label", "display_name", "displayName", "summary", "subject", "full_name", "login", "email")
_STATES = ("status", "state", "type", "kind")
_PLAIN = ("string", "integer", "number", "boolean")
_WIDEST = 60


def view_of(fields: Mapping[str, Mapping[str, Any]], noun: str) -> JsonObject | None:
    """None where the document names no field that a column can show."""
    names = [name for name, facts in fields.items() if name and _column_kind(facts)]
    if not names:
        return None
    first = [id_of(names, noun), *_NAMES, *_STATES]
    ordered = list(dict.fromkeys([name for name in first if name in names] + names))[:_MOST]
    columns = [_view_column(name, fields[name], wide=place >= _SHOWN) for place, name in enumerate(ordered)]
    id = id_of(names, noun)
    view = {"id": jmespath_field(id)} if id else {}
    return {**view, "columns": _distinguish_columns(columns)}


def name_of(names: list[str]) -> str:
    """The field by which people know a thing; nothing where there is none."""
    return next((name for name in _NAMES if name in names), "")


def id_of(names: list[str], noun: str) -> str:
    """The field that has the id of a thing; nothing where there is none."""
    own = [name for name in names if command_word(name) in (f"{noun}-id", f"{noun}-key")]
    return next((name for name in ("id", *own, *_IDS) if name in names), "")


def _column_kind(facts: Mapping[str, Any]) -> str | None:
    kind = facts.get("type", "string")
    if kind == "array":
        return "list" if "items" in facts or "enum" in facts else None
    return kind if kind in _PLAIN else None


def _view_column(name: str, facts: Mapping[str, Any], *, wide: bool) -> JsonObject:
    column: JsonObject = {"name": command_word(name).replace("-", " ").upper() or name, "value": jmespath_field(name)}
    if facts.get("format") == "date-time":
        column["format"] = "time"
    elif kind := {"array": "list", "boolean": "yes"}.get(facts.get("type", "string")):
        column["format"] = kind
    elif facts.get("type", "string") == "string" and "enum" not in facts:
        column["max"] = _WIDEST
    return {**column, "wide": True} if wide else column


def _distinguish_columns(columns: list[JsonObject]) -> list[JsonObject]:
    """Columns of one name are told apart by the name that the API has."""
    seen: dict[str, JsonObject] = {}
    for column in columns:
        name = column["name"] if column["name"] not in seen else column["value"]
        seen.setdefault(name, {**column, "name": name})
    return list(seen.values())


def jmespath_field(name: str) -> str:
    """A field as JMESPath writes it."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else json.dumps(name)


# Which operations are the obvious ones: what is listed, shown, created, changed and deleted at one path.


Replies = Mapping[str, Any]

_PARAMETER = re.compile(r"\{([^{}]+)\}(?:\.\w+)?")
_CALL = re.compile(r"[A-Za-z]+(?:\.[A-Za-z]+)+")
_ENDING = re.compile(r"\.(?:json|xml)$")


class Resource(NamedTuple):
    """Operations at one path: verb → id. `path` holds its words, `depth` counts these and its parameters."""

    tag: str
    path: tuple[str, ...]
    depth: int
    verbs: dict[str, str]

    @property
    def name(self) -> str:
        return self.path[-1]


def resources_of(operations: Mapping[str, Mapping[str, Any]], replies: Replies) -> list[Resource]:
    """In the order of the document. Where two operations would be the same verb the first one is."""
    found: dict[tuple[str, str], Resource] = {}
    for id, table in sorted(operations.items(), key=lambda pair: pair[1].get("deprecated", False)):
        method, _, path = table["http"].partition(" ")
        parts = _path_parts(path)
        of_item = bool(parts) and _PARAMETER.fullmatch(parts[-1]) is not None
        collection = parts[:-1] if of_item else parts
        words = tuple(part for part in collection if "{" not in part and not NO_RESOURCE.fullmatch(part))
        verb = _verb_of_method(method, of_item=of_item, is_list=id in replies and replies[id].is_list)
        if verb is None or not words or "{" in collection[-1]:
            continue
        tag = table.get("tag") or words[0]
        key = (tag, "/".join(_PARAMETER.sub("{}", part) for part in collection))
        parameters = sum("{" in part for part in collection)
        resource = found.setdefault(key, Resource(tag, words, len(words) + parameters, {}))
        _add_verb(resource.verbs, verb, id, method)
    order = {id: place for place, id in enumerate(operations)}
    listed = sorted(found.values(), key=lambda each: min(order[id] for id in each.verbs.values()))
    return _join_resources(listed)


def _join_resources(resources: list[Resource]) -> list[Resource]:
    """One of two that are called the same and have no verb in common: parts of it are at another address."""
    found: dict[tuple[str, str, int], Resource] = {}
    for each in resources:
        key = (each.tag, each.name, each.depth - len(each.path))
        before = found.get(key)
        if before is not None and not before.verbs.keys() & each.verbs.keys():
            before.verbs.update(each.verbs)
        else:
            found[(*key[:2], key[2] if before is None else -len(found) - 1)] = each
    return list(found.values())


def _path_parts(path: str) -> list[str]:
    """The parts of a path; where an API names its calls in one part (`chat.update`), that is several."""
    found: list[str] = []
    for part in (_ENDING.sub("", each) for each in path.split("/") if each):
        found += part.split(".") if _CALL.fullmatch(part) else [part]
    return found


def _verb_of_method(method: str, *, of_item: bool, is_list: bool) -> str | None:
    if method == "GET":
        return "get" if of_item or not is_list else "list"
    if of_item:
        return {"PATCH": "update", "PUT": "update", "DELETE": "delete"}.get(method)
    return {"POST": "create", "PATCH": "update", "PUT": "update"}.get(method)


def _add_verb(verbs: dict[str, str], verb: str, id: str, method: str) -> None:
    """A PATCH changes what it names, a PUT replaces all: the first is what people mean by a change."""
    if verb not in verbs or (verb == "update" and method == "PATCH"):
        verbs[verb] = id


# Parameters and bodies of operations as arguments and options of commands.


MOST_OPTIONS = 25
DATA, SET = "data", "set"
_SEEN = frozenset({"given", "named", "site", "output", DATA, SET})  # what expressions see besides the parameters
_HOLE = re.compile(r"\{([^{}]+)\}")
_LONGEST_HELP = 120
_NUMBERS = {"integer": "integer", "number": "number"}
_TIMES = {"date": "DATE", "date-time": "TIME"}
# `gte=1` and the like as an object; a word without a sign is the value itself, where a service takes either.
_PAIRS = "{{{0} && (contains({0}[0], '=') && from_items({0}) || {0}[0])}}"


class CommandValues(NamedTuple):
    """`params` of a command, and for each what an operation calls it → the template that fills it."""

    params: list[JsonObject]
    templates: dict[str, str]


def arguments_of(operation: OperationDefinition, taken: Collection[str]) -> CommandValues | None:
    """The parts of the path, in order; None where two would have one name."""
    found = CommandValues([], {})
    _, _, path = operation["http"].partition(" ")
    known = {param["name"]: param for param in operation.get("params", ()) if param.get("in") == "path"}
    for name in _HOLE.findall(path):
        named = option_name(name, "", {*taken, *_used_names(found)})
        if named is None:
            return None
        param = {"name": named, "kind": "argument", **_metavar(named), **_documented_help(known.get(name, {}))}
        found.params.append({**param, **_allowed_choices(known.get(name, {}))})
        found.templates[name] = f"{{{option_identifier(named)}}}"
    return found


def options_of(operation: OperationDefinition, taken: Collection[str], paging: Collection[str]) -> CommandValues | None:
    """What an operation takes in query and headers. None where it needs what no option can hold."""
    found = CommandValues([], {})
    # One that the path names too is sent with the same value.
    in_path = set(_HOLE.findall(operation["http"]))
    params = [each for each in operation.get("params", ()) if each["name"] not in in_path]
    needed = [each for each in params if each["name"] not in paging or each.get("required")]
    wanted = [each for each in needed if each.get("required") or each.get("in", "query") == "query"]
    for param in sorted(wanted, key=lambda each: not each.get("required")):
        if param.get("deprecated") and not param.get("required"):
            continue
        option = _member_option(param, "", {*taken, *_used_names(found)}, body=False)
        if option is None or (len(found.params) >= MOST_OPTIONS and not param.get("required")):
            if param.get("required"):
                return None
            continue
        required = {"required": True} if param.get("required") else {}
        found.params.append({**option.param, **required})
        found.templates[param["name"]] = option.template
    return found


def body_of(
    body: Body, schemas: Mapping[str, Mapping[str, Any]], taken: Collection[str], noun: str
) -> CommandValues | None:
    """Members of a body as options, those that must be there first; None where no option can hold any of them."""
    properties, required = _body_members(body, schemas)
    found = CommandValues([], {})
    for name in sorted(properties, key=lambda each: each not in required):
        facts = properties[name]
        option = _member_option({"name": name, **facts}, noun, {*taken, *_used_names(found)}, body=True)
        if option is not None and not facts.get("readOnly") and len(found.params) < MOST_OPTIONS:
            found.params.append(_mark_required(option.param) if name in required else option.param)
            found.templates[name] = option.template
    return found if found.params else None


def _mark_required(param: JsonObject) -> JsonObject:
    """That it must be there, in words alone: the body may come whole instead."""
    return {**param, "help": f"{param['help']} (required)" if "help" in param else "required"}


def members_of(body: Body, schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, JsonObject]:
    """The members that a body may have, by name."""
    return _body_members(body, schemas)[0]


def _body_members(body: Body, schemas: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, JsonObject], set[str]]:
    if "parts" in body:
        parts = {name: part for name, part in body["parts"].items() if not part.get("file")}
        required = {name for name, part in parts.items() if part.get("required")}
        return {name: _as_property(part) for name, part in parts.items()}, required
    return _merge_schema_members(schemas.get(body.get("schema", ""), {}), schemas, 0)


def _as_property(part: BodyPart) -> JsonObject:
    kind = {"type": part.get("type", "string")}
    facts = {"type": "array", "items": kind} if part.get("many") else kind
    return {**facts, **({"description": part["help"]} if "help" in part else {})}


def _merge_schema_members(
    schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]], depth: int
) -> tuple[dict[str, JsonObject], set[str]]:
    """The members of a schema, those of its parts and of its first alternative among them."""
    if depth > 8:
        return {}, set()
    if "ref" in schema:
        return _merge_schema_members(schemas.get(schema["ref"], {}), schemas, depth + 1)
    found: dict[str, JsonObject] = {}
    required: set[str] = set(schema.get("required", ()))
    alternatives = schema.get("oneOf") or schema.get("anyOf") or ()
    for part in (*schema.get("allOf", ()), *alternatives[:1]):
        inner, needed = _merge_schema_members(part, schemas, depth + 1)
        found |= inner
        required |= needed
    for name, node in schema.get("properties", {}).items():
        found[name] = _resolve_reference(node, schemas)
    return found, required


def _resolve_reference(node: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> JsonObject:
    seen = 0
    documented = {key: node[key] for key in ("description", "readOnly") if key in node}
    while "ref" in node and seen < 8:
        node, seen = schemas.get(node["ref"], {}), seen + 1
    return {**node, **documented}


class _Option(NamedTuple):
    param: JsonObject
    template: str


def _member_option(facts: Mapping[str, Any], prefix: str, taken: Collection[str], *, body: bool) -> _Option | None:
    """None for what no option can hold: tables, and lists of them."""
    kind = _value_kind(facts)
    items = facts.get("items", {})
    item = _value_kind(items if isinstance(items, Mapping) else {"type": items})
    is_deep = not body and kind == "object"
    if (kind == "object" and not is_deep) or (kind == "array" and item in ("array", "object")):
        return None
    name = option_name(str(facts["name"]), prefix, taken)
    if name is None:
        return None
    if is_deep:
        pairs = {"name": name, "multiple": True, "metavar": "NAME=VALUE", **_documented_help(facts)}
        return _Option(pairs, _PAIRS.format(option_identifier(name)))
    many = {"multiple": True} if kind == "array" else {}
    values = facts if kind != "array" or not isinstance(items, Mapping) else {**items, **facts}
    seen = option_identifier(name)
    single = item if kind == "array" else kind
    param = {"name": name, **many, **_documented_help(facts)}
    if choices := _allowed_choices(values):
        return _Option({**param, **choices}, _typed_choice(seen, single, many=bool(many)) if body else f"{{{seen}}}")
    if single == "boolean":
        template = _typed_choice(seen, "boolean", many=bool(many)) if body else f"{{{seen}}}"
        return _Option({**param, "choices": ["true", "false"]}, template)
    if (form := values.get("format")) in _TIMES and single == "string":
        each = f"{seen}[].iso(@, '{form}')" if many else f"iso({seen}, '{form}')"
        return _Option({**param, "metavar": _TIMES[form]}, f"{{{each}}}")
    if single in _NUMBERS:
        return _Option({**param, "type": _NUMBERS[single], "metavar": "N"}, f"{{{seen}}}")
    return _Option({**param, **_metavar(name)}, f"{{{seen}}}")


def _typed_choice(seen: str, kind: str, *, many: bool) -> str:
    """The chosen words as values of the type that a body wants."""
    turn = {"boolean": "{0} == 'true'", "integer": "to_number({0})", "number": "to_number({0})"}.get(kind)
    if turn is None:
        return f"{{{seen}}}"
    return f"{{{seen}[].{turn.format('@')}}}" if many and kind != "boolean" else f"{{{seen} && {turn.format(seen)}}}"


def _value_kind(facts: Mapping[str, Any]) -> str:
    named = facts.get("type")
    if isinstance(named, list):
        named = next((each for each in named if each != "null"), "string")
    if named is None and ("properties" in facts or "oneOf" in facts or "anyOf" in facts or "allOf" in facts):
        return "object"
    return str(named or "string")


def _allowed_choices(facts: Mapping[str, Any]) -> JsonObject:
    """Allowed values as the words that are typed; words that differ in case alone could not be told apart."""
    words = [each if isinstance(each, str) else json.dumps(each) for each in facts.get("enum", ()) if each is not None]
    fits = words and all(each and each.isprintable() for each in words)
    return {"choices": words} if fits and len({each.casefold() for each in words}) == len(words) else {}


def option_name(name: str, prefix: str, taken: Collection[str]) -> str | None:
    """The name of an option for what an API calls `name`; with the prefix where that means something else already."""
    for candidate in _names_to_try(command_word(name), prefix):
        if re.match("[a-z]", candidate) and candidate not in taken and option_identifier(candidate) not in _SEEN:
            return candidate
    return None


def _names_to_try(plain: str, prefix: str) -> Iterator[str]:
    yield plain
    if prefix:
        yield f"{prefix}-{plain}"
    yield f"{plain}-param"
    yield f"param-{plain}"
    yield from (f"param-{plain}-{number}" for number in range(2, 9))


def option_identifier(name: str) -> str:
    """An option as expressions write it."""
    return name.replace("-", "_")


def _metavar(name: str) -> dict[str, str]:
    return {"metavar": name.upper()}


def _used_names(values: CommandValues) -> Iterator[str]:
    return (param["name"] for param in values.params)


def _documented_help(facts: Mapping[str, Any]) -> dict[str, str]:
    """The first sentence of what a document says."""
    short = first_sentence(str(facts.get("help") or facts.get("description") or ""))
    return {"help": short} if short else {}


@lru_cache(maxsize=1 << 14)  # operations say the same of what they share
def first_sentence(text: str) -> str:
    first = re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0].rstrip(".")
    joined = " ".join(first.split())
    plain = joined if joined.isprintable() else "".join(sign for sign in joined if sign.isprintable())
    plain = plain.replace("{", "(").replace("}", ")")
    return plain if len(plain) <= _LONGEST_HELP else plain[: _LONGEST_HELP - 3].rsplit(" ", 1)[0] + " ..."


# Resources out of an API: what is listed, shown, created, changed and deleted at one path is one kind of thing.


Tables = dict[str, dict[str, Any]]
_CALLS = {"list": "list", "get": "read", "create": "create", "update": "update", "delete": "delete"}
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

    These are look-ups and completion where things stand at the top, and what `undo` needs. Things without a command
    are none, nor is what belongs to them.
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
    owners = {_way_of(thing.item): id for id, thing in named.items() if thing.item}
    typed = {id: thing for id, thing in named.items() if not commands.keys().isdisjoint(thing.resource.verbs.values())}
    made = ((id, thing.resource_table(owners)) for id, thing in typed.items())
    tables = {id: table for id, table in made if table is not None}
    for id in without_owners(tables, named.keys() - tables.keys()):
        del tables[id]
    addresses: set[str] = set()
    for id, table in tables.items():
        named[id].add_to_commands(id, table, commands, addresses)
    return [(named[id].resource, id, table) for id, table in tables.items()]


def without_owners(tables: Mapping[str, Mapping[str, Any]], gone: Collection[str]) -> set[str]:
    """The resources that belong to one that is gone, and those that belong to these."""
    lost = {
        id for id, table in tables.items() if id not in gone and not table.get("parent", {}).keys().isdisjoint(gone)
    }
    return lost and lost | without_owners(tables, {*gone, *lost})


def _way_of(path: str) -> str:
    """A path without the names of its parameters, which differ from operation to operation."""
    return _HOLE.sub("{}", path)


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

    def resource_table(self, owners: Mapping[str, str]) -> dict[str, Any] | None:
        """None where its things have no id, or belong to what is no resource."""
        chain = self._owner_chain(owners)
        above = {way: owners[way] for way, _ in chain}
        calls = {_CALLS[verb]: call for verb in self.paths if (call := self._verb_call(verb, above)) is not None}
        if not self.id or not {"list", "read"} & calls.keys():
            return None
        sent = {verb: self._sent_members(verb) for verb in ("create", "update") if verb in calls}
        for key in [key for key in sent if not sent[key] or (key == "update" and "read" not in calls)]:
            del calls[key], sent[key]
        fields = list(dict.fromkeys(name for names in sent.values() for name in names))
        fixed = [name for name in fields if name not in sent.get("update", fields)] if "update" in calls else []
        changed = next((name for name in self.fields if command_word(name) in _CHANGED), None)
        parent = {above[way]: jmespath_field(name) if name in self.fields else "`null`" for way, name in chain}
        table = {
            "id": jmespath_field(self.id) if self.id != "id" else None,
            "name": jmespath_field(self.name) if self.name else None,
            "parent": parent,
            **calls,
            "fields": fields,
            "fixed": fixed,
            "changed": {"at": jmespath_field(changed)} if changed and "list" in calls else None,
        }
        return {key: value for key, value in table.items() if value}

    def add_to_commands(
        self, id: str, table: dict[str, Any], commands: Mapping[str, WordedCommand], addresses: set[str]
    ) -> None:
        """What follows for the commands and for agents; where things have parents, a word alone is no thing.

        `addresses` are those that agents read other things at.
        """
        made = {verb: commands[operation] for verb, operation in self.resource.verbs.items() if operation in commands}
        items = {verb: made[verb] for verb in ("get", "update", "delete") if verb in made and _CALLS[verb] in table}
        if "update" in items:
            above, argument = _thing_arguments(items["update"].table)
            owners = [to_identifier(owner) for owner in table.get("parent", ())]
            args = dict(zip(owners, (f"{{{to_identifier(each['name'])}}}" for each in above), strict=False))
            keep = {"snapshot": id, "of": argument["name"], "args": args}
            items["update"].table["keep"] = {key: value for key, value in keep.items() if value}
            if self._replaces_whole():
                of_thing = dict(zip(("id", *owners), (each["name"] for each in (argument, *above)), strict=False))
                _keep_members_not_given(items["update"].table, table["read"], self._sent_members("update"), of_thing)
        if table.get("parent") or "list" not in table:
            return
        table["find"] = self._find(table)
        known = "lookup" if "pattern" in table["find"] else "suggest"
        for each in items.values():
            _, argument = _thing_arguments(each.table)
            if "choices" not in argument:
                argument[known] = id
        if "get" in items and _URI.fullmatch(command_word(self.resource.name)):
            _, argument = _thing_arguments(made["get"].table)
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

    def _owner_chain(self, owners: Mapping[str, str]) -> list[tuple[str, str]]:
        """The path of what it belongs to and the parameter that names it, the nearest first."""
        whole = self.item.rpartition("/")[0] if self.item else next(iter(self.paths.values()))
        ways = [(_way_of(whole[: hole.end()]), hole[1]) for hole in _HOLE.finditer(whole)]
        return [(way, name) for way, name in reversed(ways) if way in owners]

    def _verb_call(self, verb: str, owners: Mapping[str, str]) -> dict[str, Any] | None:
        """None for a call that needs more than ids and fields, or belongs to something else than the things do."""
        id = self.resource.verbs[verb]
        operation, where = self.api.operations[id], self.paths[verb]
        holes = list(_HOLE.finditer(where))
        own = holes.pop() if verb not in ("list", "create") and where.endswith("}") else None
        if verb not in ("list", "create") and own is None:
            return None
        args = {own[1]: "{id}"} if own else {}
        for hole in holes:
            way = _way_of(where[: hole.end()])
            if way not in owners:
                return None
            args[hole[1]] = f"{{{to_identifier(owners[way])}}}"
        params = (param for param in operation.get("params", ()) if param["name"] not in args)
        is_test = verb == "get" and operation.get("reply") == "none"  # its status tells whether there is one
        if any(param.get("required") for param in params) or operation.get("reply") == "binary" or is_test:
            return None
        body, reply = operation.get("body"), self.api.replies.get(id)
        if body is not None and (not is_json(body.get("media", JSON)) or verb not in ("create", "update")):
            return None
        needed = _body_members(body, self.api.schemas)[1] if body is not None and verb == "update" else set()
        if needed and self._replaces_whole() and not needed <= {*self._sent_members(verb)}:
            return None
        if verb == "list" and (reply is None or not reply.is_list):
            return None
        if verb == "get" and "paginate" in operation:  # then it answers a list, whatever its path says
            return None
        under = reply.items if verb == "list" and reply is not None and "paginate" not in operation else None
        more: dict[str, Any] = {"items": jmespath_field(under)} if under else {}
        if verb == "update" and self._replaces_whole():
            more["body"] = _members_from("whole", self._sent_members(verb))
        return {"call": id, **({"args": args} if args else {}), **more}

    def _replaces_whole(self) -> bool:
        """Whether its update puts the body in the place of all that was there."""
        return self.api.operations[self.resource.verbs["update"]]["http"].startswith("PUT ")

    def _sent_members(self, verb: str) -> list[str]:
        """The members of a body that a thing has too."""
        body = self.api.operations[self.resource.verbs[verb]].get("body")
        members = members_of(body, self.api.schemas) if body else {}
        return [name for name, facts in members.items() if name in self.fields and not facts.get("readOnly")]


def _members_from(name: str, members: Sequence[str]) -> dict[str, str]:
    return {member: f"{{{name}.{jmespath_field(member)}}}" for member in members}


def _keep_members_not_given(
    command: dict[str, Any], call: Mapping[str, Any], members: Sequence[str], known: Mapping[str, str]
) -> None:
    """Have a `PUT` say the whole thing, as it was read before, and not only what options name: it replaces all of it.

    `call` reads it, and `known` are the parameters that name it and what it belongs to.
    """
    seen = {option_identifier(param["name"]) for param in command["params"]}
    noun = to_identifier(command["keep"]["snapshot"])
    before = next(name for name in (noun, f"{noun}_before") if name not in seen)
    names = {f"{{{name}}}": f"{{{option_identifier(param)}}}" for name, param in known.items()}
    read = dict(call)
    if "args" in read:
        read["args"] = {name: names[value] for name, value in read["args"].items()}
    whole = _members_from(before, members)
    own = {key: command.pop(key) for key in ("call", "args", "body", "over") if key in command}
    over = [*([own["body"]] if "body" in own else []), *own.get("over", ())]
    same = {"step": before, "body": whole, "note": "nothing to change: it is already like this"}
    command["step"] = [{**read, "as": before}, {**own, "body": whole, "over": over, "unless_same": same}]
    command["params"] = [_mark_optional(param) for param in command["params"]]


def _mark_optional(param: JsonObject) -> JsonObject:
    """The opposite of `_mark_required`."""
    help = param.get("help", "")
    plain = "" if help == "required" else help.removesuffix(" (required)")
    return {key: plain if key == "help" else value for key, value in param.items() if key != "help" or plain}


def _thing_arguments(command: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The parameters that name what a thing belongs to, the nearest first, and the one that names it."""
    *above, own = (param for param in command["params"] if param.get("kind") == "argument")
    return above[::-1], own
