"""The schemas of request bodies, as definitions that name one another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import DefinitionError
from ..language.checks.bodies import can_hold
from ..language.checks.links import pattern_fault
from ..language.source_file import way_too_deep
from .alternatives import not_exclusive
from .bundle import FILES
from .document import Document, pointer
from .prose import first_paragraph

if TYPE_CHECKING:
    from ..jsontext import JsonObject

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
        self._parted: set[str] = set()  # those whose alternatives were looked at
        self._siblings = not str(document.tree["openapi"]).startswith("3.0")

    def state(self) -> tuple[dict[str, JsonObject], dict[str, str]]:
        return dict(self.definitions), dict(self._names)

    def restore(self, state: tuple[dict[str, JsonObject], dict[str, str]]) -> None:
        """Forget what was collected since, for an operation that cannot be read after all."""
        self.definitions, self._names = state
        self._taken = {*self.definitions, *self._names.values()}
        self._waiting, self._undecided = [], []
        self._parted &= self.definitions.keys()

    def body(self, schema: Any, operation: str, request: Any) -> str | None:
        """The id of a body's schema; nothing when the document allows any JSON."""
        name = self._body(schema, operation, request)
        # Not where they are named: a chain of references may be longer than calls can be nested.
        while self._waiting:
            waiting, reference = self._waiting.pop()
            self._define(waiting, self.convert(self.document.at(reference)))
        for parts, key, words in self._undecided:
            parts[:] = [self._tagged(part, key, words) for part in parts]
        self._undecided = []
        for id in self.definitions.keys() - self._parted:
            not_exclusive(self.definitions[id], self.definitions)
        self._parted = set(self.definitions)
        return name

    def _body(self, schema: Any, operation: str, request: Any) -> str | None:
        if isinstance(schema, dict) and isinstance(schema.get("$ref"), str) and len(schema) == 1:
            return self._reference(schema["$ref"])
        if isinstance(request, dict) and isinstance(request.get("$ref"), str):
            reference = f"{request['$ref']}/schema"
            if reference not in self._names:
                name = self._names[reference] = self._free_name(pointer(request["$ref"])[-1])
                self._define(name, self.convert(schema))
            return self._names[reference]
        table = self.convert(schema)
        if not table:
            return None
        name = self._free_name(operation.removeprefix(f"{self.product}."))
        self._define(name, table)
        return name

    def convert(self, schema: Any) -> JsonObject:
        """A schema in the words of JSON Schema 2020-12, `ref` for `$ref`, without prose and extensions."""
        if not isinstance(schema, dict):
            return {"not": {}} if schema is False else {}
        if isinstance(schema.get("$ref"), str):
            reference = {"ref": self._reference(schema["$ref"])}
            return {**reference, **self._keywords(schema)} if self._siblings else reference
        return self._nullable(schema, self._keywords(schema))

    def _keywords(self, schema: JsonObject) -> JsonObject:
        table = {key: schema[key] for key in _KEPT if key in schema and _holds(key, schema[key])}
        for key in _ONE:
            if key in schema:
                table |= self._single(key, schema[key])
        for key in _MANY:
            if parts := [part for node in schema.get(key) or () if (part := self.convert(node)) or key != "allOf"]:
                table[key] = parts
        if isinstance(schema.get("discriminator"), dict):
            table = self._distinguish(schema, table)
        for key in _NAMED:
            if isinstance(schema.get(key), dict) and schema[key]:
                table[key] = {str(name): self.convert(node) for name, node in schema[key].items()}
        if self.descriptions and (text := first_paragraph(schema.get("description"))):
            table["description"] = text
        return self._simplify(schema, table)

    def _single(self, key: str, node: Any) -> JsonObject:
        if key == "additionalProperties" and isinstance(node, bool):
            return {} if node else {key: False}
        if key == "items" and isinstance(node, list):
            return {"prefixItems": [self.convert(part) for part in node]}
        converted = self.convert(node)
        return {key: converted} if converted or key not in ("additionalProperties", "items") else {}

    def _distinguish(self, schema: JsonObject, table: JsonObject) -> JsonObject:
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
                words.setdefault(self._reference(local), []).append(word)
        self._undecided.append((table[key], name, words))  # decided when it is known what they refer to
        return {name: value for name, value in table.items() if name != "additionalProperties"}

    def _tagged(self, part: JsonObject, name: str, words: dict[str, list[str]]) -> JsonObject:
        """The alternative with its deciding words, unless its own list of values knows none of them."""
        reference = part.get("ref")
        if reference is None:
            return part
        own = self.definitions[reference].get("properties", {}).get(name, {}).get("enum")
        named = words.get(reference) or self._implied(reference)
        values = [word for word in named if own is None or word in own]
        if not values:
            return part
        allowed = {"const": values[0]} if len(values) == 1 else {"enum": values}
        return {"ref": reference, "required": [name], "properties": {name: allowed}}

    def _implied(self, id: str) -> list[str]:
        """The word that stands for a schema which no mapping has: its name, where it has one in the document."""
        references = (reference for reference, name in self._names.items() if name == id)
        return [id.removeprefix(f"{self.product}.") for each in references if re.fullmatch(_NAMED_SCHEMA, each)][:1]

    def _simplify(self, schema: JsonObject, table: JsonObject) -> JsonObject:
        for exclusive, inclusive in _BOUNDS:
            # OpenAPI 3.0 has a flag where JSON Schema has the bound itself.
            if isinstance(table.get(exclusive), bool) and table.pop(exclusive) and inclusive in table:
                table[exclusive] = table.pop(inclusive)
        if "required" in table:
            table["required"] = [name for name in table["required"] if not self._read_only(schema, name)]
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
        if len(table.get("allOf", ())) == 1 and not set(table) & set(table["allOf"][0]):
            # The old way of writing something beside a reference.
            table |= table.pop("allOf")[0]
        return table

    def _read_only(self, schema: JsonObject, name: str) -> bool:
        """Whether a property is only ever answered, and so cannot be asked for in a request."""
        node = (schema.get("properties") or {}).get(name)
        return isinstance(node, dict) and (node.get("readOnly") or self.document.table(node).get("readOnly")) is True

    def _nullable(self, schema: JsonObject, table: JsonObject) -> JsonObject:
        named_null = isinstance(schema.get("enum"), list) and None in schema["enum"]
        if schema.get("nullable") is not True and not named_null:
            return table
        if isinstance(table.get("type"), str) and "enum" not in table:
            return {**table, "type": [table["type"], "null"]}
        if not table or (isinstance(table.get("type"), list) and "enum" not in table):
            return table
        table = {**table, "type": next((kind for kind in _types(table) if kind != "null"), None)}
        return {"anyOf": [{key: value for key, value in table.items() if value}, {"type": "null"}]}

    def _reference(self, reference: str) -> str:
        if reference not in self._names:
            name = self._names[reference] = self._free_name(_name_of(reference))
            self.document.at(reference)  # one that leads nowhere is told of where it is named
            self._waiting.append((name, reference))
        return self._names[reference]

    def _define(self, name: str, table: JsonObject) -> None:
        """Raises `DefinitionError` for a schema that no file of definitions can hold."""
        if way_too_deep({"schema": {name: table}}):
            raise DefinitionError(f"schema {name.removeprefix(f'{self.product}.')}: nested too deeply")
        self.definitions[name] = table

    def _free_name(self, name: str) -> str:
        candidate = f"{self.product}.{name}"
        while candidate in self._taken:
            candidate += "Body"
        self._taken.add(candidate)
        return candidate


def _name_of(reference: str) -> str:
    """`#/components/schemas/Pet` → Pet; what lies deeper keeps its way there: Pet.tag. A whole file has its name."""
    parts = pointer(reference)
    file, parts = (parts[1:2], parts[2:]) if parts[:1] == [FILES] else ([], parts)
    kept = (parts[2:] if parts[:1] == ["components"] else parts) or file
    return ".".join(re.sub(r"\s+", "-", part) for part in kept if part not in ("properties", "schemas", "$defs"))


def _types(table: JsonObject) -> list[str]:
    kind = table.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _holds(key: str, value: Any) -> bool:
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


def references(table: Any) -> Iterator[str]:
    """Every schema id that a converted schema names."""
    if isinstance(table, list):
        for item in table:
            yield from references(item)
    elif isinstance(table, dict):
        for key, value in table.items():
            if key == "ref" and isinstance(value, str):
                yield value
            elif key in _NAMED:
                yield from references(list(value.values()))
            elif key in _ONE or key in _MANY:
                yield from references(value)
