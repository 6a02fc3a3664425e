"""Templates of answers. Unlike those of requests they keep what is null: an answer says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ..language.compiled_jmespath import compile_fast
from ..language.scopes import names_in, root_names
from ..language.template import TemplateError, compile_template, is_true, split_template, to_text

Render = Callable[[Mapping[str, Any]], Any]
MEMBERS = "@members"


def compile_render(template: Any) -> Render:
    """The template as a function of a scope, made once."""
    if isinstance(template, str):
        return _text(template)
    if isinstance(template, Mapping):
        return _table(template)
    if isinstance(template, list):
        items = [compile_render(value) for value in template]
        return lambda scope: [item(scope) for item in items]
    return lambda _: template


def _table(template: Mapping[str, Any]) -> Render:
    """`@members` stands for the members of another table."""
    parts = [(key, compile_render(value)) for key, value in template.items() if key != MEMBERS]
    if MEMBERS not in template:
        return lambda scope: {key: part(scope) for key, part in parts}
    others = compile_render(template[MEMBERS])

    def table(scope: Mapping[str, Any]) -> dict[str, Any]:
        return {key: part(scope) for key, part in parts} | (others(scope) or {})

    return table


def _text(template: str) -> Render:
    pieces = list(split_template(template))
    if len(pieces) == 1 and pieces[0][0]:
        return render_expression(pieces[0][1])
    parts = compile_template(template)
    return lambda scope: "".join(part if isinstance(part, str) else to_text(part(scope)) for part in parts)


@lru_cache(maxsize=4096)
def render_expression(text: str) -> Render:
    """The value of an expression; null where it meets what it is not made for, as the requests of strangers do."""
    evaluate = compile_fast(text)

    def value(scope: Mapping[str, Any]) -> Any:
        try:
            return evaluate(scope)
        except (TemplateError, TypeError):
            return None

    return value


def condition_holds(text: str, scope: Mapping[str, Any]) -> bool:
    return is_true(render_expression(text)(scope))


@lru_cache(maxsize=1000)
def looks_at_item(text: str) -> bool:
    """Whether an expression can be different for each item."""
    return "item" in root_names(text)


def names_used(template: Any) -> frozenset[str]:
    return frozenset(names_in(template))


def without_null(value: Any) -> Any:
    """Tables without their members that are null, at every depth."""
    kind = type(value)
    if kind is dict:
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return [without_null(item) for item in value] if kind is list else value
