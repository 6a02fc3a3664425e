"""What every kind has in common: references, expressions and the names they see, patterns, names, numbers."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import date, time
from typing import Any
from unicodedata import normalize

from ...errors import did_you_mean
from ..backtracking import takes_for_ever
from ..definition import Definition
from ..scopes import is_constant, names_in, root_names
from ..template import TemplateError, compile_expression, expressions_in_text
from .problem import Finding, Findings
from .shapes import ShapePlace

Known = Mapping[str, set[str]]  # kind of definition, or `engine:registry` → the names that exist


def link_findings(definition: Definition, found: list[ShapePlace], known: Known) -> Findings:
    if not definition.id.isprintable():
        yield Finding((), f"the id {definition.id!r} holds a control character")
    elif definition.id != normalize("NFC", definition.id):
        yield Finding((), f"the id {definition.id!a} has a letter in two parts: write it as one (NFC)")
    for place in found:
        yield from _references(place, known)
        yield from (Finding(place.path, text) for text in _faults(place))


def _references(place: ShapePlace, known: Known) -> Findings:
    target = place.schema.get("reference")
    if isinstance(target, str) and isinstance(place.value, str):
        yield from _reference(place, place.value, target, known)
    target = place.schema.get("keys")
    if isinstance(target, str) and isinstance(place.value, dict):
        for key in place.value:
            yield from _reference(place._replace(path=(*place.path, key)), key, target, known)


def _reference(place: ShapePlace, name: str, target: str, known: Known) -> Findings:
    there = known.get(target, set())
    if name not in there:
        text = f"no {target.removeprefix('engine:')} {name!r}{did_you_mean(name, there)}"
        yield Finding(place.path, text, ((target, name),))


def _faults(place: ShapePlace) -> Iterator[str]:
    value, schema = place.value, place.schema
    if isinstance(value, float) and not math.isfinite(value):
        yield f"expected a number, not {value}"
    elif isinstance(value, date | time):
        yield f"expected a text: write the {'time' if isinstance(value, time) else 'date'} in quotes"
    elif isinstance(value, dict):
        yield from (f"the key {key!r} holds a control character" for key in value if not key.isprintable())
    elif isinstance(value, str):
        if odd := _control(value, single_line=bool(schema.get("single_line"))):
            yield f"holds the control character U+{ord(odd):04X}"
        if form := _FORMS.get(str(schema.get("format"))):
            yield from form(value, schema)


def _control(text: str, *, single_line: bool) -> str | None:
    if text.isprintable():  # nearly every text is
        return None
    allowed = "" if single_line else "\n\r\t"
    return next((sign for sign in text if not sign.isprintable() and _is_control(sign) and sign not in allowed), None)


def _is_control(sign: str) -> bool:
    """C0, C1 and the marks that turn the direction of text; other characters that have no shape are harmless."""
    code = ord(sign)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069


def _expression(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    fault = expression_fault(text)
    if fault is None and is_constant(text) and not schema.get("constant"):
        fault = f"is always the same, {text}: it looks at nothing"
    yield from [fault] if fault else _unseen(root_names(text), schema)


def _template(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    try:
        faults = [fault for expression in expressions_in_text(text) if (fault := expression_fault(expression))]
    except TemplateError as error:
        faults = [str(error)]
    yield from faults or _unseen(names_in(text), schema)


def _unseen(names: Iterator[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """Names that stand for nothing where the shape says all that an expression sees."""
    if "sees" in schema:
        for name in dict.fromkeys(names):
            if name not in schema["sees"]:
                yield not_known(name, schema["sees"])


def not_known(name: str, known: Any) -> str:
    near = did_you_mean(name, known)
    listed = f"; it sees {', '.join(known)}" if known and not near and isinstance(known, list) else ""
    return f"{name!r} is not known here{near or listed}"


def expression_fault(text: str) -> str | None:
    try:
        compile_expression(text)
    except TemplateError as error:
        return f"not an expression: {error}"
    return None


def pattern_fault(pattern: Any, groups: int = 0) -> str | None:
    """Why a text cannot be used as a regular expression with so many groups, or None."""
    try:
        with warnings.catch_warnings(category=FutureWarning, action="error"):
            compiled = re.compile(pattern)
    except FutureWarning as error:  # else it would be told each time that the pattern is used
        return f"not clear: {str(error).lower()}: put \\ before that sign"
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        return f"not a regular expression: {error}"
    if takes_for_ever(pattern):
        return "a text can take for ever: one stretch of it fits a repetition in several ways"
    return "the pattern needs a group: (...) around what is wanted" if compiled.groups < groups else None


def _pattern(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    fault = pattern_fault(text, schema.get("groups", 0))
    yield from [fault] if fault else []


_FORMS: dict[str, Callable[[str, Mapping[str, Any]], Iterator[str]]] = {
    "jmespath": _expression,
    "template": _template,
    "value": _template,
    "regex": _pattern,
}
