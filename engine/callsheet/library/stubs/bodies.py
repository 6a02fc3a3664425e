"""The schemas of bodies as TypedDicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .annotations import ANY, FLAG, NUMBER, TABLE, WHOLE, class_name, either, is_name, literal_annotation

_PLAIN = {"string": "str", "integer": WHOLE, "number": NUMBER, "boolean": FLAG, "null": "None"}
_DEEPEST = 8  # of objects that no name refers to


class BodyTypes:
    """Each schema that is asked for, and those that it names, once."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._classes: dict[str, str] = {}  # name → text
        self._known: dict[str, str] = {}  # id of a schema → its type
        self.waiting: list[str] = []

    def type_of(self, id: str) -> str:
        """How a schema is named; it is written once all are known that are named."""
        if id not in self._known:
            self._known[id] = self._free(class_name(id))
            self.waiting.append(id)
        return self._known[id]

    def text(self) -> str:
        """All that was asked for."""
        while self.waiting:
            id = self.waiting.pop()
            name, schema = self._known[id], self._schemas.get(id, {})
            if _is_table(schema):
                self._write(name, schema)
            else:
                self._classes[name] = f"{name}: _TypeAlias = {_quoted(self._type(schema, name, 0))}\n"
        return "".join(self._classes[name] for name in sorted(self._classes))

    def _free(self, name: str) -> str:
        taken = {*self._known.values(), *self._classes}
        return next(each for each in (name, *(f"{name}{number}" for number in range(2, 1000))) if each not in taken)

    def _write(self, name: str, schema: Mapping[str, Any], depth: int = 0) -> None:
        self._classes[name] = ""  # taken
        required = schema.get("required", ())
        members = {}
        for key, value in schema["properties"].items():
            type = self._type(value, name + class_name(key), depth + 1)
            members[key] = f"_Required[{type}]" if key in required else type
        if all(is_name(key) for key in members):
            lines = "".join(f"    {key}: {type}\n" for key, type in members.items())
            self._classes[name] = f"class {name}(_TypedDict, total=False):\n{lines}"
        else:
            inner = ", ".join(f"{key!r}: {_quoted(type)}" for key, type in members.items())
            self._classes[name] = f"{name} = _TypedDict({name!r}, {{{inner}}}, total=False)\n"

    def _type(self, schema: Any, name: str, depth: int) -> str:
        if not isinstance(schema, Mapping):
            return ANY
        if "ref" in schema:
            return self.type_of(schema["ref"])
        if "enum" in schema:
            return literal_annotation(schema["enum"])
        if "const" in schema:
            return literal_annotation([schema["const"]])
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return either([self._type(part, f"{name}{place}", depth) for place, part in enumerate(schema[key], 1)])
        kinds = schema.get("type")
        listed = kinds if isinstance(kinds, list) else [kinds]
        return either([self._of_kind(kind, schema, name, depth) for kind in listed])

    def _of_kind(self, kind: Any, schema: Mapping[str, Any], name: str, depth: int) -> str:
        if kind == "array":
            return f"_Sequence[{self._type(schema.get('items'), f'{name}Item', depth)}]"
        if kind == "object":
            if not _is_table(schema) or depth > _DEEPEST:
                return TABLE
            name = self._free(name)
            self._write(name, schema, depth)
            return name
        return _PLAIN.get(kind, ANY)


def _is_table(schema: Mapping[str, Any]) -> bool:
    """Whether its members are known, and no others may be."""
    alternatives = {"oneOf", "anyOf", "allOf", "ref"} & schema.keys()
    return (
        schema.get("type") == "object"
        and bool(schema.get("properties"))
        and not alternatives
        and (schema.get("additionalProperties", False) is False)
    )


def _quoted(type: str) -> str:
    return repr(type)
