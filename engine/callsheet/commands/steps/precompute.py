"""Steps for many items, with what is the same for all of them worked out once.

An expression that looks at nothing of the item has one value for the whole run: only the others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from ...errors import CallsheetError
from ...language.scopes import looks_at_all, names_in, root_names
from ...language.template import Precomputed, evaluate, expressions_in_text, fill_template, is_true
from .overlay import overlay_values

if TYPE_CHECKING:
    from ...language.shape.steps import Each, ItemStep

_MANY = 20
_TEMPLATES = ("args", "body", "files")
_OWN_SCOPE = {"batch", "on_conflict"}  # keys of steps whose templates are filled over other scopes, too


def precompute_each(each: Each, scope: Mapping[str, Any], count: int, *names: str) -> Each:
    """The steps for so many items, as they are where it would not be worth the work.

    `names` are those that are different for each item, beside what its own steps are called. A step that is left out
    for all items gives its names to none.
    """
    if count < _MANY:
        return each
    changing = set(names)
    steps: list[ItemStep] = []
    for step in each["step"]:
        steps.append(found := _settled_step(step, scope, changing))
        if not _is_left_out(found):
            changing.update(_names_given(step))
    return {**each, "step": steps}


def _names_given(step: ItemStep) -> Iterable[str]:
    """What the answer of a step is called in those behind it."""
    given = step.get("as", ())
    return [given] if isinstance(given, str) else given


def _is_left_out(step: ItemStep) -> bool:
    when: Any = step.get("when")
    return isinstance(when, Precomputed) and not when.value


def _settled_step(step: ItemStep, scope: Mapping[str, Any], changing: set[str]) -> ItemStep:
    found: dict[str, Any] = {**step}
    if "when" in found and "fail" not in found and not _changes(found["when"], changing):
        with suppress(CallsheetError):  # it is told of the item that meets it
            found["when"] = Precomputed(is_true(evaluate(found["when"], scope)))
    if _OWN_SCOPE & step.keys():
        return cast("ItemStep", found)
    for key in _TEMPLATES:
        if key in found:
            found[key] = precompute_value(found[key], scope, changing)
    if "over" in found:
        found["over"] = [precompute_value(layer, scope, changing) for layer in found["over"]]
        _lay_over(found)
    return cast("ItemStep", found)


def _lay_over(step: dict[str, Any]) -> None:
    """The layers that do not change become one with a body that does not."""
    body = step.get("body", Precomputed(None))
    while step["over"] and isinstance(body, Precomputed) and isinstance(step["over"][0], Precomputed):
        try:
            body = Precomputed(overlay_values(body.value, step["over"][0].value))
        except CallsheetError:  # it is told of the item that meets it
            return
        step["body"], step["over"] = body, step["over"][1:]


def condition_holds_here(condition: str | Precomputed, scope: Mapping[str, Any]) -> bool:
    """Whether a condition of a step is true, which may be `Precomputed`."""
    return bool(condition.value) if isinstance(condition, Precomputed) else is_true(evaluate(condition, scope))


def precompute_value(value: Any, scope: Mapping[str, Any], changing: set[str]) -> Any:
    """A template whose parts that do not change are `Precomputed`; so is the whole where all of them are."""
    if isinstance(value, str):
        return _settled_text(value, scope, changing)
    if isinstance(value, Mapping):
        table = {key: precompute_value(item, scope, changing) for key, item in value.items()}
        return (
            Precomputed(fill_template(table, scope))
            if all(isinstance(item, Precomputed) for item in table.values())
            else table
        )
    if isinstance(value, list):
        items = [precompute_value(item, scope, changing) for item in value]
        return (
            Precomputed(fill_template(items, scope)) if all(isinstance(item, Precomputed) for item in items) else items
        )
    return Precomputed(value)


def _settled_text(text: str, scope: Mapping[str, Any], changing: set[str]) -> Any:
    try:
        if changing.intersection(names_in(text)) or any(map(looks_at_all, expressions_in_text(text))):
            return text
        return Precomputed(fill_template(text, scope))
    except CallsheetError:
        return text


def _changes(expression: str, changing: set[str]) -> bool:
    return looks_at_all(expression) or bool(changing.intersection(root_names(expression)))
