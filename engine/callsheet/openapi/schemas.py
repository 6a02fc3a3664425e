"""The schemas and values of a document, as definitions that name one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import unescape
from itertools import permutations
from typing import TYPE_CHECKING, Any, cast

from ..errors import DefinitionError
from ..language.checks.body_schemas import can_hold, unfit_keywords, unnamed_members
from ..language.checks.operations import argument_misfit
from ..language.checks.references import pattern_fault
from ..language.parameter_text import OF_THE_CONNECTION
from ..language.source_file import way_too_deep
from .document import FILES, Document, HttpOperation, pointer_parts
from .unsaid import unsaid_of_parameter

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import OperationParam


# What the schema of a single value says: type, format, allowed values, bounds.


_DEEPEST = 8
# What is known already, by table of the document and depth: parts may share parts, each level many of them.
_Known = dict[tuple[int, int], "JsonObject"]
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def facts_of(document: Document, schema: Any) -> JsonObject:
    """The keys of a parameter that its schema decides; a plain string says nothing."""
    table = document.table_of(schema)
    if id(table) not in document.facts:  # operations share parameters and the fields that they answer
        document.facts[id(table)] = table, _facts_of_table(document, table)
    return dict(document.facts[id(table)][1])


def _facts_of_table(document: Document, table: JsonObject) -> JsonObject:
    known: _Known = {}
    merged = _merged_schema(document, table, 0, known)
    kind = _type_of(merged)
    facts: JsonObject = {} if kind == "string" else {"type": kind}
    values = merged
    if kind == "array":
        values = _merged_schema(document, merged.get("items"), 0, known)
        item = _type_of(values)
        # No style says how objects or lists inside a list are written in a URL: their items are taken as text.
        facts |= {"items": item} if item in ("integer", "number", "boolean") else {}
    if isinstance(values.get("format"), str):
        facts["format"] = values["format"]
    typed = cast("OperationParam", facts)
    if enum := [
        value for value in values.get("enum", ()) if value is not None and argument_misfit(typed, value) is None
    ]:
        facts["enum"] = enum
    if isinstance(values.get("pattern"), str) and pattern_fault(values["pattern"]) is None:
        facts["pattern"] = values["pattern"]
    if kind in ("integer", "number"):
        facts |= {key: merged[key] for key in ("minimum", "maximum") if _can_be_bound(merged.get(key))}
    if "default" in merged and (default := _typed_default(merged["default"], kind)) is not None:
        facts["default"] = default
    return {
        key: value
        for key, value in facts.items()
        if key != "default" or argument_misfit(cast("OperationParam", facts), value) is None
    }


def _merged_schema(document: Document, schema: Any, depth: int, known: _Known) -> JsonObject:
    """One flat table out of references, `allOf`, and alternatives that agree on a type."""
    found = document.table_of(schema)
    if depth > _DEEPEST:
        return dict(found)
    place = (id(found), depth)
    if place not in known:
        known[place] = _flat_schema(document, dict(found), depth, known)
    return dict(known[place])


def _flat_schema(document: Document, table: JsonObject, depth: int, known: _Known) -> JsonObject:
    for part in table.pop("allOf", None) or ():
        table = {**_merged_schema(document, part, depth + 1, known), **table}
    alternatives = table.pop("oneOf", None) or table.pop("anyOf", None)
    if alternatives:
        table |= _common_keywords([_merged_schema(document, part, depth + 1, known) for part in alternatives])
    if "const" in table:
        table["enum"] = [table.pop("const")]
    return table


def _common_keywords(alternatives: list[JsonObject]) -> JsonObject:
    """What holds whichever alternative is taken."""
    real = [table for table in alternatives if table.get("type") != "null"]
    kinds = {_type_of(table) for table in real}
    if len(kinds) != 1:
        return {"type": "string"}
    common: JsonObject = {"type": kinds.pop()}
    if len(real) == 1:
        return real[0]
    if all("enum" in table for table in real):
        common["enum"] = [value for table in real for value in table["enum"]]
    return common


def _type_of(table: Mapping[str, Any]) -> str:
    named = [kind for kind in _property_names(table.get("type")) if kind in _TYPES]
    if len(named) == 1:
        return named[0]
    if not named:
        if isinstance(table.get("properties"), dict):
            return "object"
        if "items" in table:
            return "array"
        enum = [value for value in table.get("enum", ()) if value is not None]
        return next((kind for kind in _TYPES if enum and all(fits_type(value, kind) for value in enum)), "string")
    return "string"


def _property_names(value: Any) -> Iterator[str]:
    yield from [value] if isinstance(value, str) else value if isinstance(value, list) else ()


def fits_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _can_be_bound(value: Any) -> bool:
    return can_hold("minimum", value)


def _typed_default(value: Any, kind: str) -> Any:
    """A default of the documented type, one written as text read as that type; nothing when it does not fit."""
    if isinstance(value, str) and kind == "boolean":
        return {"true": True, "false": False}.get(value.lower())
    if isinstance(value, str) and kind == "integer" and value.lstrip("-").isdigit():
        return int(value)
    if kind == "array" and isinstance(value, str):
        return [piece.strip() for piece in value.split(",") if piece.strip()] or None
    if kind == "array" and not isinstance(value, list):
        return [value] if isinstance(value, int) else None
    if not fits_type(value, kind) or value in ("", [], {}):
        return None
    return value


# Alternatives that a document calls exclusive and does not keep apart.


_PROSE = frozenset({"description", "default"})  # what says nothing about which values fit
_OF_OBJECTS = frozenset({"type", "required", "properties", "additionalProperties"})
_AS_MANY_HOPS = 8


def not_exclusive(table: Any, schemas: Mapping[str, JsonObject]) -> None:
    """Turn `oneOf` into `anyOf`, here and inside, where the least that one form takes always fits another form too.

    Many documents mean it so. Taken by the letter they would allow no request at all in such a form.
    """
    if isinstance(table, list):
        for item in table:
            not_exclusive(item, schemas)
    elif isinstance(table, dict):
        parts = table.get("oneOf")
        if isinstance(parts, list) and "anyOf" not in table:
            forms = [_resolved_part(part, schemas) for part in parts]
            if any(_least_fits(one, other) for one, other in permutations(forms, 2)):
                table["anyOf"] = table.pop("oneOf")
        for item in table.values():
            not_exclusive(item, schemas)


def _resolved_part(part: Any, schemas: Mapping[str, JsonObject]) -> JsonObject:
    for _ in range(_AS_MANY_HOPS):
        if not isinstance(part, dict) or set(part) - _PROSE != {"ref"}:
            break
        part = schemas.get(part["ref"], {})
    return _bare_schema(part) if isinstance(part, dict) else {}


def _bare_schema(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in _PROSE}


def _least_fits(one: JsonObject, other: JsonObject) -> bool:
    """Whether whatever has no more than `one` demands is taken by `other`; false where that is not plain to see."""
    if not one or one == other:
        return bool(one)
    if "properties" not in one or not (set(one) | set(other)) <= _OF_OBJECTS:
        return set(other) == {"type"} and _is_among(one.get("type"), other["type"])
    if one.get("type", "object") != other.get("type", "object"):
        return False
    needed = one.get("required", [])
    return set(other.get("required", ())) <= set(needed) and all(_is_taken(name, one, other) for name in needed)


def _is_taken(name: str, one: JsonObject, other: JsonObject) -> bool:
    said, known = one["properties"].get(name), other.get("properties", {})
    if name not in known:
        return "additionalProperties" not in other
    return isinstance(said, dict) and (_bare_schema(said) == _bare_schema(known[name]) or not _bare_schema(known[name]))


def _is_among(kind: Any, kinds: Any) -> bool:
    wide = {kinds} if isinstance(kinds, str) else set(kinds)
    narrow = {kind} if isinstance(kind, str) else set(kind or ())
    return bool(narrow) and narrow <= wide | ({"integer"} if "number" in wide else set())


# A document's descriptions as plain help text.


def first_paragraph(text: Any) -> str:
    """The first paragraph of a Markdown or HTML description on one line, without markup."""
    return _first_paragraph(text) if isinstance(text, str) else ""


@lru_cache(maxsize=4096)
def _first_paragraph(text: str) -> str:
    if "<" in text or "&" in text:
        text = re.sub(r"<\s*(?:br|/p|/li|/h\d)\s*/?>", "\n\n", text, flags=re.IGNORECASE)
        text = unescape(re.sub(r"<[^<>]*>", "", text))
    return next(filter(None, map(_plain_text, re.split(r"\n\s*\n", text))), "")


_MARKUP = re.compile(r"[\[*_`#>+-]|\d\.")


def _plain_text(text: str) -> str:
    text = text.strip()
    if not _MARKUP.search(text):  # as nearly every one
        return " ".join(text.split())
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^\s*(?:#+|[-*+>]|\d+\.)\s+", "", text, flags=re.MULTILINE)
    text = re.sub(r"(\*\*|__|`)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])([*_])(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*])", r"\2", text)
    return " ".join(text.split())


# The schemas of request bodies, as definitions that name one another.


_ONE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
# In the order in which they are written.
_KEPT = (
    *("type", "format", "enum", "const", "default"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
    *("minProperties", "maxProperties", "required", "dependentRequired", "readOnly", "unevaluatedProperties"),
)
_NAMED_SCHEMA = "#/components/schemas/[^/]+"
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


class Schemas:
    """Collects what bodies refer to, each schema once, under `<product>.<name>`."""

    def __init__(self, document: Document, product: str, notes: list[str], *, descriptions: bool) -> None:
        self.document = document
        self.product = product
        self.notes = notes
        self.descriptions = descriptions
        self.definitions: dict[str, JsonObject] = {}
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._waiting: list[tuple[str, str]] = []
        self._undecided: list[tuple[list[JsonObject], str, dict[str, list[str]]]] = []
        self._fresh: list[str] = []  # those whose alternatives were not looked at yet
        self._siblings = not str(document.tree["openapi"]).startswith("3.0")

    def save_state(self) -> tuple[int, int]:
        return len(self.definitions), len(self._names)

    def restore_state(self, state: tuple[int, int]) -> None:
        """Forget what was collected since, for an operation that cannot be read after all."""
        both: tuple[dict[Any, Any], ...] = (self.definitions, self._names)
        for collected, count in zip(both, state, strict=True):
            for key in list(collected)[count:]:
                del collected[key]
        self._taken = {*self.definitions, *self._names.values()}
        self._waiting, self._undecided, self._fresh = [], [], []

    def body_schema(self, schema: Any, operation: str, request: Any) -> str | None:
        """The id of a body's schema; nothing when the document allows any JSON."""
        name = self._body_schema(schema, operation, request)
        # Not where they are named: a chain of references may be longer than calls can be nested.
        while self._waiting:
            waiting, reference = self._waiting.pop()
            self._define_schema(waiting, self.convert_schema(self.document.value_at_reference(reference)))
        for parts, key, words in self._undecided:
            parts[:] = [self._alternative_with_words(part, key, words) for part in parts]
        self._undecided = []
        for id in self._fresh:
            not_exclusive(self.definitions[id], self.definitions)
            for _, table, member in [*unnamed_members(self.definitions[id])]:
                cast("JsonObject", table).setdefault("properties", {})[member] = {}
        self._fresh = []
        return name

    def _body_schema(self, schema: Any, operation: str, request: Any) -> str | None:
        if isinstance(schema, dict) and isinstance(schema.get("$ref"), str) and len(schema) == 1:
            return self._convert_reference(schema["$ref"])
        if isinstance(request, dict) and isinstance(request.get("$ref"), str):
            reference = f"{request['$ref']}/schema"
            if reference not in self._names:
                name = self._names[reference] = self._free_name(pointer_parts(request["$ref"])[-1])
                self._define_schema(name, self.convert_schema(schema))
            return self._names[reference]
        table = self.convert_schema(schema)
        if not table:
            return None
        name = self._free_name(operation.removeprefix(f"{self.product}."))
        self._define_schema(name, table)
        return name

    def convert_schema(self, schema: Any) -> JsonObject:
        """A schema in the words of JSON Schema 2020-12, `ref` for `$ref`, without prose and extensions."""
        if not isinstance(schema, dict):
            return {"not": {}} if schema is False else {}
        if isinstance(schema.get("$ref"), str):
            reference = {"ref": self._convert_reference(schema["$ref"])}
            return {**reference, **self._convert_keywords(schema)} if self._siblings else reference
        return self._add_null(schema, self._convert_keywords(schema))

    def _convert_keywords(self, schema: JsonObject) -> JsonObject:
        table = {key: schema[key] for key in _KEPT if key in schema and _says_something(key, schema[key])}
        for key in _ONE:
            if key in schema:
                table |= self._convert_keyword(key, schema[key])
        for key in _MANY:
            if parts := [
                part for node in schema.get(key) or () if (part := self.convert_schema(node)) or key != "allOf"
            ]:
                table[key] = parts
        if isinstance(schema.get("discriminator"), dict):
            table = self._state_deciding_values(schema, table)
        for key in _NAMED:
            if isinstance(schema.get(key), dict) and schema[key]:
                table[key] = {str(name): self.convert_schema(node) for name, node in schema[key].items()}
        if self.descriptions and (text := first_paragraph(schema.get("description"))):
            table["description"] = text
        return self._simplify_alternatives(schema, table)

    def _convert_keyword(self, key: str, node: Any) -> JsonObject:
        if key == "additionalProperties" and isinstance(node, bool):
            return {} if node else {key: False}
        if key == "items" and isinstance(node, list):
            return {"prefixItems": [self.convert_schema(part) for part in node]}
        converted = self.convert_schema(node)
        return {key: converted} if converted or key not in ("additionalProperties", "items") else {}

    def _state_deciding_values(self, schema: JsonObject, table: JsonObject) -> JsonObject:
        """Alternatives that each state the value of the property which decides between them.

        JSON Schema knows no discriminator, and alternatives that differ in nothing else would all fit at once. A
        parent that forbids further properties means those of the alternatives to be allowed.
        """
        key = next((key for key in ("oneOf", "anyOf") if key in table), None)
        name = schema["discriminator"].get("propertyName")
        if key is None or not isinstance(name, str):
            return table
        words: dict[str, list[str]] = {}
        for word, reference in (schema["discriminator"].get("mapping") or {}).items():
            local = reference if "/" in reference else f"#/components/schemas/{reference}"
            if local.startswith("#"):  # one in another file is none of the alternatives
                words.setdefault(self._convert_reference(local), []).append(word)
        self._undecided.append((table[key], name, words))  # decided when it is known what they refer to
        return {name: value for name, value in table.items() if name != "additionalProperties"}

    def _alternative_with_words(self, part: JsonObject, name: str, words: dict[str, list[str]]) -> JsonObject:
        """The alternative with its deciding words, unless its own list of values knows none of them."""
        reference = part.get("ref")
        if reference is None:
            return part
        own = self.definitions[reference].get("properties", {}).get(name, {}).get("enum")
        named = words.get(reference) or self._words_implied(reference)
        values = [word for word in named if own is None or word in own]
        if not values:
            return part
        allowed = {"const": values[0]} if len(values) == 1 else {"enum": values}
        return {"ref": reference, "required": [name], "properties": {name: allowed}}

    def _words_implied(self, id: str) -> list[str]:
        """The word that stands for a schema which no mapping has: its name, where it has one in the document."""
        references = (reference for reference, name in self._names.items() if name == id)
        return [id.removeprefix(f"{self.product}.") for each in references if re.fullmatch(_NAMED_SCHEMA, each)][:1]

    def _simplify_alternatives(self, schema: JsonObject, table: JsonObject) -> JsonObject:
        for exclusive, inclusive in _BOUNDS:
            # OpenAPI 3.0 has a flag where JSON Schema has the bound itself.
            if isinstance(table.get(exclusive), bool) and table.pop(exclusive) and inclusive in table:
                table[exclusive] = table.pop(inclusive)
        if "required" in table:
            table["required"] = [name for name in table["required"] if not self._is_read_only(schema, name)]
            if not table["required"]:
                del table["required"]
        if "pattern" in table and (fault := pattern_fault(table["pattern"])):
            self.notes.append(f"schema pattern {table.pop('pattern')!r} is left out: {fault}")
        for name in [*table.get("patternProperties", ())]:
            if fault := pattern_fault(name):
                self.notes.append(f"schema patternProperties {name!r} is left out: {fault}")
                del table["patternProperties"][name]
        if "enum" in table:
            table["enum"] = [value for value in table["enum"] if value is not None]
        unfit = dict(unfit_keywords(table))
        if ("enum",) in unfit:
            self.notes.append(
                f"schema enum {table['enum']!r} is left out: none is of type {' or '.join(_types_of(table))}"
            )
        for key in ("enum", "required"):
            if key in table:
                table[key] = [value for place, value in enumerate(table[key]) if (key, place) not in unfit]
        table = {key: value for key, value in table.items() if (key,) not in unfit}
        if len(table.get("allOf", ())) == 1 and not set(table) & set(table["allOf"][0]):
            # The old way of writing something beside a reference.
            table |= table.pop("allOf")[0]
        return table

    def _is_read_only(self, schema: JsonObject, name: str) -> bool:
        """Whether a property is only ever answered, and so cannot be asked for in a request."""
        node = (schema.get("properties") or {}).get(name)
        return isinstance(node, dict) and (node.get("readOnly") or self.document.table_of(node).get("readOnly")) is True

    def _add_null(self, schema: JsonObject, table: JsonObject) -> JsonObject:
        named_null = isinstance(schema.get("enum"), list) and None in schema["enum"]
        if schema.get("nullable") is not True and not named_null:
            return table
        if isinstance(table.get("type"), str) and "enum" not in table:
            return {**table, "type": [table["type"], "null"]}
        if not table or (isinstance(table.get("type"), list) and "enum" not in table):
            return table
        table = {**table, "type": next((kind for kind in _types_of(table) if kind != "null"), None)}
        return {"anyOf": [{key: value for key, value in table.items() if value}, {"type": "null"}]}

    def _convert_reference(self, reference: str) -> str:
        if reference not in self._names:
            name = self._names[reference] = self._free_name(_name_of(reference))
            self.document.value_at_reference(reference)  # one that leads nowhere is told of where it is named
            self._waiting.append((name, reference))
        return self._names[reference]

    def _define_schema(self, name: str, table: JsonObject) -> None:
        """Raises `DefinitionError` for a schema that no file of definitions can hold."""
        if way_too_deep({"schema": {name: table}}):
            raise DefinitionError(f"schema {name.removeprefix(f'{self.product}.')}: nested too deeply")
        self.definitions[name] = table
        self._fresh.append(name)

    def _free_name(self, name: str) -> str:
        candidate = f"{self.product}.{name}"
        while candidate in self._taken:
            candidate += "Body"
        self._taken.add(candidate)
        return candidate


def _name_of(reference: str) -> str:
    """`#/components/schemas/Pet` → Pet; what lies deeper keeps its way there: Pet.tag. A whole file has its name."""
    parts = [*pointer_parts(reference)]
    file, parts = (parts[1:2], parts[2:]) if parts[:1] == [FILES] else ([], parts)
    kept = (parts[2:] if parts[:1] == ["components"] else parts) or file
    return ".".join(re.sub(r"\s+", "-", part) for part in kept if part not in ("properties", "schemas", "$defs"))


def _types_of(table: JsonObject) -> list[str]:
    kind = table.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _says_something(key: str, value: Any) -> bool:
    """Whether a keyword says anything, and in the form it must have."""
    if key in ("required", "enum"):
        return isinstance(value, list) and bool(value)
    if key in ("readOnly", "uniqueItems"):
        return value is True
    if key in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        return value
    return value is not None and not _holds_null(value) and can_hold(key, value)


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_null(item) for item in value.values())
    return value is None or (isinstance(value, list) and any(_holds_null(item) for item in value))


def schema_references(table: Any) -> Iterator[str]:
    """Every schema id that a converted schema names."""
    if isinstance(table, list):
        for item in table:
            yield from schema_references(item)
    elif isinstance(table, dict):
        for key, value in table.items():
            if key == "ref" and isinstance(value, str):
                yield value
            elif key in _NAMED:
                yield from schema_references(list(value.values()))
            elif key in _ONE or key in _MANY:
                yield from schema_references(value)


# Documented parameters → `params` of an operation.


# Named by OpenAPI itself as never being parameters: they follow from the body, the reply and the credential.
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization", *OF_THE_CONNECTION})
_STYLES = {
    ("spaceDelimited", False): "space",
    ("pipeDelimited", False): "pipe",
    ("deepObject", True): "deep",
    ("deepObject", False): "deep",
    ("form", False): "comma",
}


def params_of(document: Document, call: HttpOperation, notes: list[str], *, descriptions: bool) -> list[JsonObject]:
    """The parameters worth a line, in the document's order: path, query and header, cookies left out."""
    found = []
    for parameter in documented_parameters(document, call):
        place = parameter.get("in")
        if place not in ("path", "query", "header"):
            notes.append(f"{call.method} {call.path}: {place} parameter {parameter.get('name')!r} is left out")
        elif place != "path" and f"{{{parameter['name']}}}" in call.path:
            said = f"{place} parameter {parameter['name']!r} is left out: the path has one of this name"
            notes.append(f"{call.method} {call.path}: {said}")
        elif not (place == "header" and str(parameter["name"]).lower() in _NOT_PARAMETERS):
            record = _parameter_record(document, call, parameter, notes, descriptions=descriptions)
            named = f"{call.method} {call.path}: {parameter['name']!r}"
            notes.extend(f"{named} {text}" for text in unsaid_of_parameter(document, parameter))
            if set(record) != {"name", "in", "required"} or place != "path":
                found.append(record)
    return found


def documented_parameters(document: Document, call: HttpOperation) -> list[JsonObject]:
    """Parameters of the path item and the operation; the operation's own stand in the place of the item's."""
    merged: dict[tuple[Any, Any], JsonObject] = {}
    for node in (*(call.item.get("parameters") or ()), *(call.operation.get("parameters") or ())):
        parameter = document.table_of(node)
        if isinstance(parameter.get("name"), str) and parameter["name"]:
            merged[parameter.get("in"), parameter["name"]] = parameter
    placeholders = {piece.partition("}")[0] for piece in call.path.split("{")[1:]}
    return [found for key, found in merged.items() if key[0] != "path" or key[1] in placeholders]


def _parameter_record(
    document: Document, call: HttpOperation, parameter: Mapping[str, Any], notes: list[str], *, descriptions: bool
) -> JsonObject:
    facts = facts_of(document, parameter.get("schema"))
    if parameter.get("style") == "deepObject" and facts.get("type") != "array":
        facts = {"type": "object"}  # whatever else it may be: nothing else is written so
    record: JsonObject = {"name": parameter["name"]}
    if parameter["in"] != "query" or f"{{{parameter['name']}}}".casefold() in call.path.casefold():
        record["in"] = parameter["in"]
    if parameter.get("required") is True or parameter["in"] == "path":
        record["required"] = True
    record |= facts
    if facts.get("type") in ("array", "object"):
        record |= _list_style(parameter)
    if "content" in parameter:
        notes.append(f"{call.method} {call.path}: {parameter['name']!r} is sent as the text it is given")
    if parameter.get("deprecated") is True:
        record["deprecated"] = True
    text = first_paragraph(parameter.get("description")) if descriptions else ""
    return {**record, "help": text} if text else record


def _list_style(parameter: Mapping[str, Any]) -> dict[str, str]:
    """How a list or object is written, where that is not the default of its place."""
    name = style_of(parameter.get("style", "form"), explode=parameter.get("explode"))
    return {"style": name} if name and parameter["in"] == "query" else {}


def style_of(style: str, *, explode: bool | None) -> str | None:
    """A style of OpenAPI as definitions call it; None for the usual one."""
    return _STYLES.get((style, style == "form" if explode is None else explode))


# Documented request bodies → `body` of an operation.


JSON = "application/json"
JSON_PATCH = "application/json-patch+json"  # RFC 6902: a list of changes, whatever a document says of it
MULTIPART = "multipart/form-data"
FORM = "application/x-www-form-urlencoded"
ANY = "*/*"
FILE_PART = "file"  # the name of the part where a document describes an upload as a bare list of files


def body_of(
    document: Document, call: HttpOperation, id: str, schemas: Schemas, *, notes: list[str], descriptions: bool
) -> JsonObject | None:
    node = call.operation.get("requestBody")
    request = document.table_of(node)
    content = request.get("content")
    if not isinstance(content, dict) or not content:
        return None
    media = choose_media(content)
    schema = (content[media] or {}).get("schema")
    body: JsonObject = {}
    kind = media.partition(";")[0].strip().lower()
    if kind == ANY and document.table_of(schema):
        kind = JSON
    if kind != JSON:
        body["media"] = kind
    if is_json(kind) and (kind != JSON_PATCH or document.table_of(schema).get("type") == "array"):
        name = schemas.body_schema(schema, id, node)
        body |= {"schema": name} if name else {}
    elif kind in (MULTIPART, FORM):
        encoding = document.table_of((content[media] or {}).get("encoding"))
        body["parts"] = _form_parts(document, schema, encoding, descriptions=descriptions)
        if kind == MULTIPART:
            _add_part_schemas(document, schema, body["parts"], schemas, id)
        if kind == FORM and [*body["parts"]] == [FILE_PART] and body["parts"][FILE_PART].get("file"):
            return None  # it has no fields, and a form like this holds no files
        if kind == MULTIPART and _is_meant_as_a_file(document, schema, body["parts"]):
            body["parts"][FILE_PART]["file"] = True
            notes.append(f"{call.method} {call.path}: the part {FILE_PART!r} is taken for a file")
    if request.get("required") is not True:
        body["optional"] = True
    others = sorted(set(content) - {media, ANY})
    if others:
        notes.append(f"{call.method} {call.path}: sent as {kind}; also documented: {', '.join(others)}")
    return body


def is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind == JSON or kind.endswith("+json")


def choose_media(content: Mapping[str, Any]) -> str:
    """The media type that is easiest to give on a command line: JSON, then parts, then form, then a file."""
    ranks = (
        lambda media: media == JSON,
        is_json,
        lambda media: media.startswith(MULTIPART),
        lambda media: media.startswith(FORM),
        lambda media: media != ANY,
    )
    for fits in ranks:
        for media in content:
            if fits(media):
                return media
    return next(iter(content))


def _form_parts(document: Document, schema: Any, encoding: JsonObject, *, descriptions: bool) -> JsonObject:
    merged, required = _documented_parts(document, schema)
    if not merged:
        many = document.table_of(schema).get("type") == "array"
        return {FILE_PART: {"file": True, "many": many, "required": True}}
    parts = {}
    for name, node in merged.items():
        how = _encoding_of_part(document.table_of(encoding.get(name)))
        parts[str(name)] = _form_part(document, node, how, required=name in required, descriptions=descriptions)
    return parts


def _documented_parts(document: Document, schema: Any) -> tuple[JsonObject, set[Any]]:
    """Name → schema of each part, and the names of those that must be there."""
    table = document.table_of(schema)
    merged = dict(table.get("properties") or {})
    required = set(table.get("required") or ())
    for part in table.get("allOf") or ():
        merged |= document.table_of(part).get("properties") or {}
        required |= set(document.table_of(part).get("required") or ())
    return merged, required


def _add_part_schemas(document: Document, schema: Any, parts: JsonObject, schemas: Schemas, id: str) -> None:
    """Of the parts that are objects, so that their members are typed and checked as those of a JSON body are.

    OpenAPI, Encoding Object: the default `contentType` of an object is application/json.
    """
    for name, node in _documented_parts(document, schema)[0].items():
        part = parts.get(str(name), {})
        if part.get("type") == "object" and "style" not in part:
            inner = document.table_of(node).get("items") if part.get("many") else node
            found = schemas.body_schema(inner, f"{id}.{name}", None)
            part |= {"media": part.get("media", JSON)} | ({"schema": found} if found else {})


def _encoding_of_part(said: Mapping[str, Any]) -> dict[str, str]:
    """How a part is written, where a document says so."""
    media = str(said.get("contentType", ""))
    if is_json(media):
        return {"media": media}
    style = style_of(str(said.get("style", "form")), explode=said.get("explode"))
    return {"style": style} if style else {}


def _form_part(document: Document, node: Any, how: dict[str, str], *, required: bool, descriptions: bool) -> JsonObject:
    table = document.table_of(node)
    many = table.get("type") == "array"
    inner = document.table_of(table.get("items")) if many else table
    part: JsonObject = {}
    if _is_file(inner):
        part["file"] = True
    else:
        kind = facts_of(document, inner).get("type", "string")
        kind = "object" if how.get("style") == "deep" and not many else kind
        part |= {} if kind == "string" else {"type": kind}
        part |= how
    if many:
        part["many"] = True
    if required:
        part["required"] = True
    text = first_paragraph(table.get("description")) if descriptions else ""
    return {**part, "help": text} if text else part


def _is_meant_as_a_file(document: Document, schema: Any, parts: Mapping[str, Any]) -> bool:
    """Whether the part called file is one, though documented as a text like any other.

    Nothing needs this media type but files. Where it has no other, the path of the file would be sent as a text.
    """
    part = parts.get(FILE_PART)
    if part is None or "type" in part or any(each.get("file") for each in parts.values()):
        return False
    node = document.table_of((document.table_of(schema).get("properties") or {}).get(FILE_PART))
    return not {"format", "enum", "const", "items"} & node.keys()


def _is_file(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "binary" or (
        "contentMediaType" in schema and not is_json(str(schema["contentMediaType"]))
    )
