"""Whether what a command compares its parameters with can be their value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import did_you_mean
from ..definition import Definition, Definitions
from ..deployment import deployment_variants
from ..identifier import to_identifier
from ..scopes import comparisons_in
from ..template import TemplateError, expressions_in_text
from .items import added_by
from .problem import Finding, Findings
from .shapes import shape_places

# Their values are tables, or what was found for a word.
_CHANGED = ("lookup", "convert", "assign", "removes", "excludes", "multiple", "split")


def comparison_findings(_: Definitions, command: Definition) -> Findings:
    params = _known_params(command.table)
    for place in shape_places("command", command.table) if params else ():
        for expression in _expressions(place.value, place.schema.get("format")):
            for name, value in comparisons_in(expression):
                fault = _fault(params.get(name, ()), name, value)
                if fault is not None:
                    yield Finding(place.path, fault)


def _known_params(table: Any) -> dict[str, list[Mapping[str, Any]]]:
    """Those whose values are as they are typed, by the names that expressions have for them."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    hidden: set[str] = set()
    for here in (table, *deployment_variants(table).values()):
        hidden |= added_by(here.get("step", ()))
        for param in here.get("params", ()):
            found.setdefault(to_identifier(param["name"]), []).append(param)
    return {
        name: params
        for name, params in found.items()
        if name not in hidden and not any(key in param for param in params for key in _CHANGED)
    }


def _expressions(value: Any, form: Any) -> Iterator[str]:
    if isinstance(value, str) and form == "jmespath":
        yield value
    elif isinstance(value, str) and form in ("template", "value"):
        try:
            yield from expressions_in_text(value)
        except TemplateError:
            return


def _fault(params: Any, name: str, value: Any) -> str | None:
    """Why no parameter of this name, on any deployment, is ever this value."""
    faults = [_never(param, name, value) for param in params]
    return faults[0] if faults and None not in faults else None


def _never(param: Mapping[str, Any], name: str, value: Any) -> str | None:
    if value is None:
        return None
    if param.get("kind") == "flag":
        return None if isinstance(value, bool) else f"{name!r} is true or false, and never {value!r}"
    if param.get("type") in ("integer", "number"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number else f"{name!r} is a number, and never {value!r}"
    words = param.get("choices")
    if words is None or value in words:
        return None
    return f"{name!r} is never {value!r}{did_you_mean(str(value), words)}"
