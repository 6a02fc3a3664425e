"""Which names an expression takes from its scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .template import TemplateError, expressions

_RELATIVE = {"subexpression", "index_expression", "pipe", "projection", "value_projection", "filter_projection"}


def names_in(value: Any) -> Iterator[str]:
    """The names that the placeholders in a (nested) value use; broken ones are none of its business."""
    if isinstance(value, str):
        try:
            for expression in expressions(value):
                yield from roots(expression)
        except TemplateError:
            return
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)


def roots(expression: str) -> Iterator[str]:
    """The names an expression looks up in its scope: `page` and `title` in `not_null(title, page.title)`."""
    from jmespath import exceptions

    from .functions import parse

    try:
        yield from _roots(parse(expression).parsed)
    except exceptions.JMESPathError:
        return


def _roots(node: dict[str, Any]) -> Iterator[str]:
    """Only the first part of a path, a pipe or a projection sees the scope; the others see what came before them."""
    children = node.get("children", [])
    if node["type"] == "field":
        yield node["value"]
    elif node["type"] in _RELATIVE or node["type"] == "key_val_pair":
        yield from _roots(children[0])
    elif node["type"] == "expref":
        return
    else:
        for child in children:
            if isinstance(child, dict):
                yield from _roots(child)
