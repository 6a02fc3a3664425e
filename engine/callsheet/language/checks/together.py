"""Whether the keys of a table go together, by the rules that stand beside its shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..shape import RULES
from ..shape.rules import KeyRule
from .problem import Finding, Findings
from .shapes import ShapePlace


def together_findings(found: list[ShapePlace]) -> Findings:
    for place in found:
        if isinstance(place.value, dict):
            for rule in RULES.get(str(place.schema.get("title")), ()):
                yield from (Finding((*place.path, key), text) for key, text in _broken(rule, place.value))


def _broken(rule: KeyRule, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    key = rule.having
    if key not in table or (rule.values and table[key] not in rule.values):
        return
    named = f"{key} = {_shown(table[key])}" if rule.values else key
    for other in rule.without:
        if other in table:
            yield other, f"cannot stand beside {named}"
    if rule.needs and not any(other in table for other in rule.needs):
        yield key, f"{named} needs {' or '.join(map(repr, rule.needs))} beside it"


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
