"""Parameters and bodies of operations as arguments and options of commands."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .naming import command_word

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import Body, BodyPart, OperationDefinition

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
        named = option_name(name, "", {*taken, *_names(found)})
        if named is None:
            return None
        param = {"name": named, "kind": "argument", **_metavar(named), **_told(known.get(name, {}))}
        found.params.append({**param, **_choices(known.get(name, {}))})
        found.templates[name] = f"{{{identifier(named)}}}"
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
        option = _option(param, "", {*taken, *_names(found)}, body=False)
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
    properties, required = _members(body, schemas)
    found = CommandValues([], {})
    for name in sorted(properties, key=lambda each: each not in required):
        facts = properties[name]
        option = _option({"name": name, **facts}, noun, {*taken, *_names(found)}, body=True)
        if option is not None and not facts.get("readOnly") and len(found.params) < MOST_OPTIONS:
            found.params.append(_marked(option.param) if name in required else option.param)
            found.templates[name] = option.template
    return found if found.params else None


def _marked(param: JsonObject) -> JsonObject:
    """That it must be there, in words alone: the body may come whole instead."""
    return {**param, "help": f"{param['help']} (required)" if "help" in param else "required"}


def members_of(body: Body, schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, JsonObject]:
    """The members that a body may have, by name."""
    return _members(body, schemas)[0]


def _members(body: Body, schemas: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, JsonObject], set[str]]:
    if "parts" in body:
        parts = {name: part for name, part in body["parts"].items() if not part.get("file")}
        required = {name for name, part in parts.items() if part.get("required")}
        return {name: _as_property(part) for name, part in parts.items()}, required
    return _merged(schemas.get(body.get("schema", ""), {}), schemas, 0)


def _as_property(part: BodyPart) -> JsonObject:
    kind = {"type": part.get("type", "string")}
    facts = {"type": "array", "items": kind} if part.get("many") else kind
    return {**facts, **({"description": part["help"]} if "help" in part else {})}


def _merged(
    schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]], depth: int
) -> tuple[dict[str, JsonObject], set[str]]:
    """The members of a schema, those of its parts and of its first alternative among them."""
    if depth > 8:
        return {}, set()
    if "ref" in schema:
        return _merged(schemas.get(schema["ref"], {}), schemas, depth + 1)
    found: dict[str, JsonObject] = {}
    required: set[str] = set(schema.get("required", ()))
    alternatives = schema.get("oneOf") or schema.get("anyOf") or ()
    for part in (*schema.get("allOf", ()), *alternatives[:1]):
        inner, needed = _merged(part, schemas, depth + 1)
        found |= inner
        required |= needed
    for name, node in schema.get("properties", {}).items():
        found[name] = _resolved(node, schemas)
    return found, required


def _resolved(node: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> JsonObject:
    seen = 0
    told = {key: node[key] for key in ("description", "readOnly") if key in node}
    while "ref" in node and seen < 8:
        node, seen = schemas.get(node["ref"], {}), seen + 1
    return {**node, **told}


class _Option(NamedTuple):
    param: JsonObject
    template: str


def _option(facts: Mapping[str, Any], prefix: str, taken: Collection[str], *, body: bool) -> _Option | None:
    """None for what no option can hold: tables, and lists of them."""
    kind = _kind(facts)
    items = facts.get("items", {})
    item = _kind(items if isinstance(items, Mapping) else {"type": items})
    is_deep = not body and kind == "object"
    if (kind == "object" and not is_deep) or (kind == "array" and item in ("array", "object")):
        return None
    name = option_name(str(facts["name"]), prefix, taken)
    if name is None:
        return None
    if is_deep:
        pairs = {"name": name, "multiple": True, "metavar": "NAME=VALUE", **_told(facts)}
        return _Option(pairs, _PAIRS.format(identifier(name)))
    many = {"multiple": True} if kind == "array" else {}
    values = facts if kind != "array" or not isinstance(items, Mapping) else {**items, **facts}
    seen = identifier(name)
    single = item if kind == "array" else kind
    param = {"name": name, **many, **_told(facts)}
    if choices := _choices(values):
        return _Option({**param, **choices}, _typed(seen, single, many=bool(many)) if body else f"{{{seen}}}")
    if single == "boolean":
        template = _typed(seen, "boolean", many=bool(many)) if body else f"{{{seen}}}"
        return _Option({**param, "choices": ["true", "false"]}, template)
    if (form := values.get("format")) in _TIMES and single == "string":
        each = f"{seen}[].iso(@, '{form}')" if many else f"iso({seen}, '{form}')"
        return _Option({**param, "metavar": _TIMES[form]}, f"{{{each}}}")
    if single in _NUMBERS:
        return _Option({**param, "type": _NUMBERS[single], "metavar": "N"}, f"{{{seen}}}")
    return _Option({**param, **_metavar(name)}, f"{{{seen}}}")


def _typed(seen: str, kind: str, *, many: bool) -> str:
    """The chosen words as values of the type that a body wants."""
    turn = {"boolean": "{0} == 'true'", "integer": "to_number({0})", "number": "to_number({0})"}.get(kind)
    if turn is None:
        return f"{{{seen}}}"
    return f"{{{seen}[].{turn.format('@')}}}" if many and kind != "boolean" else f"{{{seen} && {turn.format(seen)}}}"


def _kind(facts: Mapping[str, Any]) -> str:
    named = facts.get("type")
    if isinstance(named, list):
        named = next((each for each in named if each != "null"), "string")
    if named is None and ("properties" in facts or "oneOf" in facts or "anyOf" in facts or "allOf" in facts):
        return "object"
    return str(named or "string")


def _choices(facts: Mapping[str, Any]) -> JsonObject:
    """Allowed values as the words that are typed; words that differ in case alone could not be told apart."""
    words = [each if isinstance(each, str) else json.dumps(each) for each in facts.get("enum", ()) if each is not None]
    fits = words and all(each and each.isprintable() for each in words)
    return {"choices": words} if fits and len({each.casefold() for each in words}) == len(words) else {}


def option_name(name: str, prefix: str, taken: Collection[str]) -> str | None:
    """The name of an option for what an API calls `name`; with the prefix where that means something else already."""
    plain = command_word(name)
    for candidate in (plain, f"{prefix}-{plain}" if prefix else "", f"{plain}-param"):
        if re.match("[a-z]", candidate) and candidate not in taken and identifier(candidate) not in _SEEN:
            return candidate
    return None


def identifier(name: str) -> str:
    """An option as expressions write it."""
    return name.replace("-", "_")


def _metavar(name: str) -> dict[str, str]:
    return {"metavar": name.upper()}


def _names(values: CommandValues) -> Iterator[str]:
    return (param["name"] for param in values.params)


def _told(facts: Mapping[str, Any]) -> dict[str, str]:
    """The first sentence of what a document says."""
    text = str(facts.get("help") or facts.get("description") or "").strip()
    first = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0].rstrip(".")
    plain = "".join(sign for sign in " ".join(first.split()) if sign.isprintable()).replace("{", "(").replace("}", ")")
    short = plain if len(plain) <= _LONGEST_HELP else plain[: _LONGEST_HELP - 3].rsplit(" ", 1)[0] + " ..."
    return {"help": short} if short else {}


def first_sentence(text: str) -> str:
    return _told({"help": text}).get("help", "")
