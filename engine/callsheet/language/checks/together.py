"""Whether the keys of a table go together, by the rules that stand beside its shape, and by what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import did_you_mean
from ...registry import REGISTRIES
from ..shape import RULES
from ..shape.key_rules import KeyRule
from ..shape.registered import BY_ENTRY, own_keys, own_shape
from .problem import Finding, Findings
from .shapes import ShapePlace


def together_findings(found: list[ShapePlace]) -> Findings:
    for place in found:
        if isinstance(place.value, dict):
            shapes = [str(place.schema.get("title"))]
            if BY_ENTRY in place.schema:
                registry, key, shared = place.schema[BY_ENTRY]
                name = place.value.get(key)
                if name not in REGISTRIES[registry]:
                    continue
                shapes.append(own_shape(registry, name).__name__)
                yield from _of_entry(place, key, {*shared}, own_keys(registry, name))
            for rule in (rule for shape in shapes for rule in RULES.get(shape, ())):
                yield from (Finding((*place.path, key), text) for key, text in _broken(rule, place.value))


def _of_entry(place: ShapePlace, named_by: str, shared: set[str], own: Mapping[str, bool]) -> Findings:
    """The keys that its entry of a registry does not read, and those that it cannot do without."""
    what = f"{named_by} {place.value[named_by]!r}"
    for key in place.value:
        if key not in own and key not in shared:
            yield Finding((*place.path, key), f"not a key of {what}{did_you_mean(key, own)}")
    for key in own:
        if own[key] and key not in shared and key not in place.value:
            yield Finding(place.path, f"{what} needs {key!r}")


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
