"""Made-up values: a body to fill in for a schema, and an argument for a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...jsontext import JsonObject
    from ...language.shape.rest import OperationParam


_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:00:00.000+0000",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "email": "name@example.com",
    "byte": "dGV4dA==",
}
# Tried in turn where a text has to match a pattern.
_PATTERNED = ("string", "DEMO-1", "demo", "1", "a-1", "https://example.com/", "/path", "2026-01-31", "#000000")
_EMPTY: JsonObject = {"string": "string", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}


ANYTHING = {"key": "value"}  # where any JSON will do
DEEPEST = 4  # objects inside objects, from where on only what is required is filled in


def body_sample(catalog: Catalog, schema: str, *, required_only: bool = False) -> Any:
    """A body that the schema accepts: required properties first, then the others unless left out."""
    return Sampler(catalog, required_only=required_only).of_reference(schema)


def service_sample(catalog: Catalog, schema: str, formats: Mapping[str, str]) -> JsonObject:
    """What a service adds to a new thing: a value for all that is required, and for what nobody else may set.

    `formats` has values for some formats of texts.
    """
    sampler = Sampler(catalog, required_only=True, formats=formats)
    known = schema_properties(catalog, schema)
    required = sampler.flat_schema({"ref": schema}).get("required", ())
    return {name: sampler.sample_of(each) for name, each in known.items() if name in required or each.get("readOnly")}


def schema_properties(catalog: Catalog, schema: str) -> dict[str, Mapping[str, Any]]:
    """Those of an object, references and `allOf` followed."""
    sampler = Sampler(catalog, required_only=True)
    found: Mapping[str, Any] = sampler.flat_schema({"ref": schema}).get("properties", {})
    return {name: sampler.flat_schema(each) for name, each in found.items()}


def parameter_sample(param: OperationParam) -> str:
    """One value that a parameter takes, as it is typed."""
    kind = param.get("type", "string")
    if "example" in param and _example_fits(param["example"], param):
        return _sample_of_type(param["example"])
    if kind == "array":
        return parameter_sample({**param, "type": param.get("items", "string")})
    if "enum" in param:
        return _sample_of_type(param["enum"][0])
    if kind == "object":
        return '{"key": "value"}'
    if kind == "string":
        text = _FORMATS.get(param.get("format", ""), _sample_word(param["name"]))
        return _sample_of_pattern(param["pattern"], text) if "pattern" in param else text
    return _sample_of_type(_number_in_bounds(param) if kind in ("integer", "number") else True)


def _example_fits(example: Any, param: OperationParam) -> bool:
    """Whether the example of a name, whose operations differ, is one for this operation."""
    import re

    kind = param.get("items", "string") if param.get("type") == "array" else param.get("type", "string")
    text = _sample_of_type(example)
    right = isinstance(example, {"integer": int, "number": int | float, "boolean": bool}.get(kind, object))
    return (
        right
        and text in map(_sample_of_type, param.get("enum", [text]))
        and bool(re.search(param.get("pattern", ""), text))
    )


def _sample_word(name: str) -> str:
    """An id is a number more often than not; of anything else the name is all that is known."""
    return "10000" if name[-2:].lower() == "id" else name.upper()


def _sample_of_type(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Sampler:
    """Follows references until one would come back to itself; what is optional ends there, the rest is empty."""

    def __init__(
        self, catalog: Catalog, *, required_only: bool, formats: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.catalog = catalog
        self.formats = {**_FORMATS, **formats}
        self.required_only = required_only
        self._open: list[str] = []
        self._depth = 0

    def of_reference(self, id: str) -> Any:
        if self._open.count(id) > 1:
            return {}  # it requires itself, and nothing finite fits
        self._open.append(id)
        value = self.sample_of(self.catalog.schemas.get(id))
        self._open.pop()
        return value

    def sample_of(self, schema: Mapping[str, Any]) -> Any:
        schema = self.flat_schema(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        kind = _schema_kind(schema)
        make = getattr(self, f"_sample_{kind}", None)
        return make(schema) if make else _EMPTY.get(kind)

    def flat_schema(self, schema: Mapping[str, Any]) -> JsonObject:
        """References, `allOf`, and the first alternative of a choice folded into one table."""
        table = dict(_as_table(schema))
        parts = list(table.pop("allOf", ()))
        choices = table.pop("oneOf", None) or table.pop("anyOf", None)
        if choices:
            parts.append(next((choice for choice in choices if choice.get("type") != "null"), choices[0]))
        if "ref" in table:
            reference = table.pop("ref")
            parts.append({} if self._open.count(reference) > 1 else self.catalog.schemas.get(reference))
        for part in parts:
            table = _joined_schemas(table, self.flat_schema(part))
        return table

    def _sample_object(self, schema: Mapping[str, Any]) -> JsonObject:
        required = list(schema.get("required", ()))
        properties = {name: _as_table(each) for name, each in schema.get("properties", {}).items()}
        optional = [name for name in properties if name not in required]
        names = required if self.required_only or self._depth >= DEEPEST else required + optional
        value = {}
        self._depth += 1
        for name in names:
            known = properties.get(name, {})
            if name in required or not (known.get("readOnly") or self._comes_back(known)):
                value[name] = self._sample_property(known)
        self._depth -= 1
        more = schema.get("additionalProperties", {"type": "string"})
        if isinstance(more, Mapping) and len(value) < schema.get("minProperties", 0):
            value["key"] = self._sample_property(more)
        return value

    def _sample_property(self, schema: Mapping[str, Any]) -> Any:
        reference = schema.get("ref")
        return self.of_reference(reference) if reference and len(schema) == 1 else self.sample_of(schema)

    def _comes_back(self, schema: Mapping[str, Any]) -> bool:
        inner = schema.get("items", schema.get("additionalProperties", schema))
        return isinstance(inner, Mapping) and inner.get("ref") in self._open

    def _sample_array(self, schema: Mapping[str, Any]) -> list[Any]:
        fixed = [self.sample_of(part) for part in schema.get("prefixItems", ())]
        item = _as_table(schema.get("items", {}))
        least = schema.get("minItems", 0)
        wanted = max(least - len(fixed), 0 if self.required_only or self._comes_back(item) else 1)
        if not fixed and "items" not in schema:
            wanted = least
        return fixed + [self._sample_property(item) for _ in range(wanted)]

    def _sample_string(self, schema: Mapping[str, Any]) -> str:
        text: str = self.formats.get(str(schema.get("format", "")).lower(), "string")
        if "pattern" in schema:
            text = _sample_of_pattern(schema["pattern"], text)
        text += "x" * (schema.get("minLength", 0) - len(text))
        return text[: int(schema.get("maxLength", len(text)))]

    @staticmethod
    def _sample_integer(schema: Mapping[str, Any]) -> int:
        return int(_number_in_bounds(schema))

    @staticmethod
    def _sample_number(schema: Mapping[str, Any]) -> Any:
        return _number_in_bounds(schema)


def _as_table(schema: Any) -> Mapping[str, Any]:
    """In JSON Schema `true` is a schema, too, which says nothing."""
    return schema if isinstance(schema, Mapping) else {}


def _schema_kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    if kind is None:
        kind = "array" if "items" in schema else "object"
    return str(kind)


def _joined_schemas(table: JsonObject, part: Mapping[str, Any]) -> JsonObject:
    """Two tables that both hold: properties and required names of either."""
    joined = {**part, **table}
    if "properties" in table and "properties" in part:
        both = part["properties"], table["properties"]
        joined["properties"] = {
            name: {**both[0].get(name, {}), **both[1].get(name, {})} for name in {**both[0], **both[1]}
        }
    if "required" in table and "required" in part:
        joined["required"] = list(dict.fromkeys([*part["required"], *table["required"]]))
    return joined


def _number_in_bounds(schema: Mapping[str, Any]) -> Any:
    """The smallest number from 1 on that the bounds allow, or the greatest below it."""
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1 if "exclusiveMinimum" in schema else 1)
    most = schema.get("maximum", schema["exclusiveMaximum"] / 2 if "exclusiveMaximum" in schema else None)
    value = max(1, least) if most is None else min(max(1, least), most)
    step = schema.get("multipleOf")
    return -(-value // step) * step if step else value


def _sample_of_pattern(pattern: str, usual: str) -> str:
    import re

    return next((text for text in (usual, *_PATTERNED) if re.search(pattern, text)), usual)
