"""The columns of a thing, from the fields that a document gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .naming import command_word

if TYPE_CHECKING:
    from ..jsontext import JsonObject

_SHOWN, _MOST = 6, 16
_IDS = ("id", "key", "uuid", "guid", "sid", "number", "slug", "name")
_NAMES = ("name", "title", "label", "display_name", "displayName", "summary", "subject", "full_name", "login", "email")
_STATES = ("status", "state", "type", "kind")
_PLAIN = ("string", "integer", "number", "boolean")
_WIDEST = 60


def view_of(fields: Mapping[str, Mapping[str, Any]], noun: str) -> JsonObject | None:
    """None where the document names no field that a column can show."""
    names = [name for name, facts in fields.items() if _column_kind(facts)]
    if not names:
        return None
    first = [id_of(names, noun), *_NAMES, *_STATES]
    ordered = list(dict.fromkeys([name for name in first if name in names] + names))[:_MOST]
    columns = [_column(name, fields[name], wide=place >= _SHOWN) for place, name in enumerate(ordered)]
    id = id_of(names, noun)
    view = {"id": jmespath_field(id)} if id else {}
    return {**view, "columns": _unlike(columns)}


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


def _column(name: str, facts: Mapping[str, Any], *, wide: bool) -> JsonObject:
    column: JsonObject = {"name": command_word(name).replace("-", " ").upper() or name, "value": jmespath_field(name)}
    if facts.get("format") == "date-time":
        column["format"] = "time"
    elif kind := {"array": "list", "boolean": "yes"}.get(facts.get("type", "string")):
        column["format"] = kind
    elif facts.get("type", "string") == "string" and "enum" not in facts:
        column["max"] = _WIDEST
    return {**column, "wide": True} if wide else column


def _unlike(columns: list[JsonObject]) -> list[JsonObject]:
    """Columns of one name are told apart by the name that the API has."""
    seen: dict[str, JsonObject] = {}
    for column in columns:
        name = column["name"] if column["name"] not in seen else column["value"]
        seen.setdefault(name, {**column, "name": name})
    return list(seen.values())


def jmespath_field(name: str) -> str:
    """A field as JMESPath writes it."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else json.dumps(name)
