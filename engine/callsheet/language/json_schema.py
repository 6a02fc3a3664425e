"""The language as one JSON Schema, so that editors complete and validate definition files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ..registry import REGISTRIES, registered_names
from .load import LIKE
from .shape import COMPLETED, KINDS, RULES
from .shape.base import BY_ENTRY, own_keys
from .source_file import EXTEND, LANGUAGE, NEWEST

if TYPE_CHECKING:
    from ..jsontext import JsonObject

NAME = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> JsonObject:
    """A schema for a whole definition file.

    What extends may say less than a whole definition, and so may any table of a file that does not say `language = 2`.
    In one that does, other tables are new definitions with all that these need; what is missing in the parts of one is
    found by the check.
    """
    shared: JsonObject = {}
    properties: JsonObject = {}
    whole: list[JsonObject] = []
    for kind, shape in KINDS.items():
        schema = _with_names(TypeAdapter(shape).json_schema(ref_template="#/$defs/{model}"))
        whole += _whole_definition_rules(kind, schema)
        shared.update(schema.pop("$defs", {}))
        shared[f"kind.{kind}"] = _removable_schema(schema)
        properties[kind] = {"type": "object", "additionalProperties": {"$ref": f"#/$defs/kind.{kind}"}}
    return {
        "$schema": NAME,
        "title": "Callsheet definitions",
        "type": "object",
        "properties": {
            LANGUAGE: {"enum": list(range(1, NEWEST + 1)), "description": "The version that this file is written in."},
            **properties,
            EXTEND: _defaults_schema("What changes definitions that are there."),
            "defaults": _defaults_schema("Keys that every definition of a kind in this file starts from.", of_one=True),
        },
        "additionalProperties": False,
        "allOf": whole,
        "$defs": {
            name: _with_key_rules(_removable_part(_partial_schema(schema))) for name, schema in sorted(shared.items())
        },
    }


def _with_key_rules(schema: JsonObject) -> JsonObject:
    """With the rules about keys that cannot stand together, and those that a kind of handler does not read."""
    title = str(schema.get("title"))
    found = [_rule_schema(rule.having, rule.values, rule.without) for rule in RULES.get(title, ()) if rule.without]
    if BY_ENTRY in schema:
        registry, key, shared = schema[BY_ENTRY]
        for name in REGISTRIES[registry]:
            unread = schema["properties"].keys() - own_keys(registry, name).keys() - {*shared}
            found.append(_rule_schema(key, (name,), tuple(sorted(unread))))
    return {**schema, "allOf": found} if found else schema


def _rule_schema(having: str, values: tuple[Any, ...], without: tuple[str, ...]) -> JsonObject:
    given: JsonObject = {"required": [having]}
    if values:
        given["properties"] = {having: {"enum": list(values)}}
    return {"if": given, "then": {"properties": dict.fromkeys(without, False)}}


def _with_names(schema: Any) -> Any:
    """What may be said where the engine's own functions are named, out of their registries."""
    if isinstance(schema, list):
        return [_with_names(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    target = str(schema.get("reference", ""))
    more = COMPLETED if target == "engine:completer" else ()
    known: JsonObject = {}
    if target.startswith("engine:"):
        known = {"enum": sorted({*registered_names()[target.removeprefix("engine:")], *more})}
    elif "named" in schema:  # a name, or a template for one
        known = {"anyOf": [{"enum": sorted(registered_names()[schema["named"]])}, {"pattern": "[{]"}]}
    if "patternProperties" in schema:
        known["additionalProperties"] = False
    return {**{key: _with_names(part) for key, part in schema.items()}, **known}


def _defaults_schema(text: str, *, of_one: bool = False) -> JsonObject:
    tables: JsonObject = {kind: {"$ref": f"#/$defs/kind.{kind}"} for kind in KINDS}
    if not of_one:
        tables = {kind: {"type": "object", "additionalProperties": table} for kind, table in tables.items()}
    return {"type": "object", "description": text, "properties": tables, "additionalProperties": False}


def _whole_definition_rules(kind: str, schema: JsonObject) -> list[JsonObject]:
    """What a new definition needs, unless the file's defaults, or what it is like, may give that."""
    required = schema.get("required")
    if not required:
        return []
    spared = [{"required": [key]} for key in (LIKE, "remove") if key == "remove" or key in schema["properties"]]
    table = {"anyOf": [{"required": required}, *spared]}
    with_defaults = {"properties": {"defaults": {"required": [kind]}}, "required": ["defaults"]}
    newest = {"properties": {LANGUAGE: {"const": NEWEST}}, "required": [LANGUAGE], "not": with_defaults}
    return [{"if": newest, "then": {"properties": {kind: {"additionalProperties": table}}}}]


def _removable_schema(schema: JsonObject) -> JsonObject:
    removal = {
        "anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}],
        "description": "In an overlay: remove the definition, or these keys of it.",
    }
    if "properties" in schema:
        schema["properties"] = {**schema["properties"], "remove": removal}
    return schema


def _removable_part(schema: JsonObject) -> JsonObject:
    """Any table below a definition can be taken away where it lies over another."""
    if schema.get("additionalProperties") is not False or "remove" in schema.get("properties", {}):
        return schema
    removal = {"const": True, "description": "In an overlay: remove it."}
    return {**schema, "properties": {**schema["properties"], "remove": removal}}


def _partial_schema(schema: JsonObject) -> JsonObject:
    """The schema without requirements, except the names by which listed tables are told apart."""
    required = [key for key in schema.get("required", ()) if key == "name"]
    rest = {key: value for key, value in schema.items() if key != "required"}
    if required and LIKE in schema["properties"]:  # which gives the name where there is none
        return {**rest, "anyOf": [{"required": ["name"]}, {"required": [LIKE]}]}
    return {**rest, "required": required} if required else rest
