"""Attributes between a format's names and values and the neutral ones, as a definition's fields say."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote

from .tree import Attrs

if TYPE_CHECKING:
    from ..language.shape import richtext as shape


TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "any": (object,),
    "integer": (int,),
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds_to_date(value: str) -> str | None:
    """A day as ISO 8601 from milliseconds since 1970, UTC."""
    try:
        return (EPOCH + timedelta(milliseconds=float(value))).date().isoformat()
    except (ValueError, OverflowError):
        return None


def date_to_milliseconds(value: str) -> str | None:
    try:
        day = datetime.fromisoformat(value[:10]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return str((day - EPOCH) // timedelta(milliseconds=1))


CODECS: dict[str, tuple[Callable[[str], Any], Callable[[str], Any]]] = {
    "milliseconds": (milliseconds_to_date, date_to_milliseconds),
    "percent": (lambda value: quote(value, safe=""), unquote),
}


class AttrField:
    """One attribute: `outer` is its name in the format, `name` its neutral name.

    Where all that is said of it is one word, that is its type, or with `renamed` its neutral name.
    """

    def __init__(self, outer: str, spec: str | shape.Attribute, *, renamed: bool) -> None:
        rule = _rule(spec, renamed=renamed) if isinstance(spec, str) else spec
        self.outer = outer
        self.name = rule.get("as", outer)
        self.rule = rule
        self.default = rule.get("default")
        self.needed = rule.get("required", False) or self.default is not None
        self.types = TYPES[rule.get("type", "string")]
        self.pattern = re.compile(rule["pattern"]) if "pattern" in rule else None
        self.values = rule.get("values")
        self.enum, self.least_length = rule.get("enum"), rule.get("min_length", 0)
        self.is_any_text = self.types == (str,) and not {"values", "enum", "min_length", "pattern"} & rule.keys()
        self.is_same = self.values is None and not {"codec", "before"} & rule.keys()  # the neutral value is the value

    def is_valid(self, value: Any) -> bool:
        """Whether the format takes this value."""
        if self.is_any_text:
            return isinstance(value, str)
        if not isinstance(value, self.types) or (
            isinstance(value, bool) and bool not in self.types and self.types != (object,)
        ):
            return False
        rule = self.rule
        if isinstance(value, str):
            return self._valid_text(value)
        if isinstance(value, list):
            items = TYPES[rule.get("items", "number")]
            return len(value) >= rule.get("least", 0) and all(isinstance(item, items) for item in value)
        if isinstance(value, dict):
            return not rule.get("keys") or set(value) == set(rule["keys"])
        return self._in_range(value)

    def _in_range(self, value: Any) -> bool:
        least, most = self.rule.get("minimum"), self.rule.get("maximum")
        return (least is None or least <= value) and (most is None or value <= most)

    def _valid_text(self, value: str) -> bool:
        if self.values is not None:
            return value in self.values
        if len(value) < self.least_length or (self.enum is not None and value not in self.enum):
            return False
        return self.pattern is None or bool(self.pattern.fullmatch(value))

    def neutral_attributes(self, value: Any) -> Attrs:
        """Neutral attributes for a value of the format; the value itself stays where the way back is not exact."""
        inner = self._inner(value)
        if inner is None:
            return {self.outer: value}
        return {self.name: inner} if self._outer(inner) == value else {self.name: inner, self.outer: value}

    def outer_value(self, attrs: Attrs) -> Any:
        """The value in the format, or None."""
        if self.outer != self.name and self.outer in attrs and self.is_valid(attrs[self.outer]):
            return attrs[self.outer]
        value = self._outer(attrs[self.name]) if self.name in attrs else None
        return value if value is not None and self.is_valid(value) else self.default

    def _inner(self, value: Any) -> Any:
        if self.values is not None:
            return self.values.get(value)
        if "codec" in self.rule:
            return CODECS[self.rule["codec"]][0](value)
        if "before" in self.rule and isinstance(value, str):
            return value.removeprefix(self.rule["before"]).removesuffix(self.rule.get("after", "")) or None
        return value

    def _outer(self, value: Any) -> Any:
        if self.values is not None:
            return next((outer for outer, inner in self.values.items() if inner == value), None)
        if "codec" in self.rule:
            return CODECS[self.rule["codec"]][1](value)
        if "before" in self.rule and isinstance(value, str):
            return self.rule["before"] + value + self.rule.get("after", "")
        return value


def _rule(word: str, *, renamed: bool) -> shape.Attribute:
    rule: Any = {"as" if renamed else "type": word}
    return cast("shape.Attribute", rule)


def attribute_fields(specs: shape.Attributes, *, renamed: bool = False) -> list[AttrField]:
    return [AttrField(outer, spec, renamed=renamed) for outer, spec in specs.items()]


RGB = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")


def spelt_color(value: str) -> str:
    """A colour of CSS in six hexadecimal digits."""
    if match := RGB.fullmatch(value):
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in match.groups())
    return "#" + "".join(digit * 2 for digit in value[1:]) if re.fullmatch("#[0-9A-Fa-f]{3}", value) else value


def as_number(value: str) -> int | float | None:
    """A number out of a format that only knows text; None where it is none."""
    try:
        return int(value) if re.fullmatch(r"-?\d{1,15}", value) else float(value)
    except ValueError:
        return None
