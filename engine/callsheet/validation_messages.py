"""What a validation by pydantic finds, in the words of a person who writes TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import count_of

_TYPES = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "a table",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_LENGTHS = {
    "too_short": ("at least", "min_length", "entry"),
    "too_long": ("at most", "max_length", "entry"),
    "string_too_short": ("at least", "min_length", "character"),
    "string_too_long": ("at most", "max_length", "character"),
}


def validation_message(error: Mapping[str, Any]) -> str:
    """`expected at most 8`, of one of the `errors()` of a `ValidationError`; its own message where it has no other."""
    kind, context = str(error["type"]), error.get("ctx", {})
    if kind in _BOUNDS:
        said, key = _BOUNDS[kind]
        return f"expected {said} {context[key]:.12g}"
    if kind in _LENGTHS:
        said, key, noun = _LENGTHS[kind]
        return f"expected {said} {count_of(context[key], noun)}"
    type_, _, how = kind.rpartition("_")
    if how in ("type", "parsing") and type_ in _TYPES:
        return f"expected {_TYPES[type_]}"
    message = str(error["msg"])
    return f"{message[:1].lower()}{message[1:]}"
