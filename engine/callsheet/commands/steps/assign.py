"""`NAME=VALUE` words → fields of a body, typed by what the service says about each field.

`NAME:=JSON` sends the JSON as it is. An empty value clears the field: null, or an empty list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...client.request.schema import parse_value, split_word
from ...errors import UsageError
from ...language.template import evaluate, fill_template, fill_text, to_text
from .converters import convert_argument
from .overlay import Unknown

if TYPE_CHECKING:
    from ...language.shape.steps import TextCase
    from .lookup import Lookups


def assigned(lookups: Lookups, id: str, words: Iterable[str], scope: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Field id → value. Raises `UsageError` for an unknown field and for a text that its type does not take."""
    assignment = lookups.context.catalog.get("assignment", id)
    fields: dict[str, Any] = {}
    for word in words:
        name, is_json, text = split_word(word, option)
        if is_json and lookups.context.is_foreign(word):
            raise UsageError(
                f"{option}: {name}:= takes JSON, and text from a tool call or an event cannot be used there"
            )
        match = lookups.find(assignment["lookup"], name, scope)
        if is_json:
            value = parse_value(text, option, name)
        elif isinstance(match.value, Unknown):
            value = Unknown(f'value of "{text}"')  # how it is sent depends on the field's type
        else:
            case = _case(assignment["cases"], match.item)
            inner = {**scope, "field": match.item}
            value = _typed(case, text, lambda text: _value(lookups, case, text, inner, f"{option} {name}"), name)  # noqa: B023 - called at once
        fields[match.value if isinstance(match.value, str) else to_text(match.value)] = value
    return fields


def _case(cases: list[TextCase], field: Any) -> TextCase:
    nothing_special: TextCase = {}
    return next((case for case in cases if "when" not in case or evaluate(case["when"], field)), nothing_special)


def _typed(case: TextCase, text: str, value_of: Callable[[str], Any], name: str) -> Any:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()] if case.get("split") else [text]
    if text == "":
        return [] if case.get("split") else None
    values = [value_of(piece) for piece in pieces]
    if None in values:
        expected = f": expected {case['takes']}" if "takes" in case else ""
        raise UsageError(f"{name}: {text!r} does not fit the field{expected}")
    return values if case.get("split") else values[0]


def _value(lookups: Lookups, case: TextCase, text: str, scope: Mapping[str, Any], option: str) -> Any:
    if "convert" in case:
        return convert_argument(lookups.context, str(fill_text(case["convert"], scope)), text, option)
    resolved = lookups.resolve(case["lookup"], text, scope) if "lookup" in case else text
    return fill_template(case.get("value", "{text}"), {**scope, "text": resolved})
