"""Which names an expression takes from its scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

from .functions import ROOT, paths_in_expression
from .template import TemplateError, expressions_in_text, texts_in

_CHOSEN = {"key_val_pair", "multi_select_list"}  # `items[].{id: id}`: plainly parts of an item
RELATIVE = {"subexpression", "index_expression", "pipe", "projection", "value_projection", "filter_projection"}

Node = dict[str, Any]

_LOOKING = {"field", "identity", "current", "function_expression", "expref"}

_BROKEN: Node = {"type": "identity", "children": []}


def names_in(value: Any) -> Iterator[str]:
    """The names that the placeholders in a (nested) value use; broken ones are left out."""
    for expression in expressions_in(value):
        yield from root_names(expression)


def paths_in(value: Any) -> Iterator[str]:
    """The plain paths that they follow: `page.version.number`."""
    for expression in expressions_in(value):
        yield from map(".".join, plain_paths(expression))


def plain_paths(expression: str) -> Iterator[list[str]]:
    """The names of each plain path that an expression follows."""
    for first, *rest in paths_in_expression(syntax_tree(expression)):
        yield [first.removeprefix(ROOT), *rest]


def expressions_in(value: Any) -> Iterator[str]:
    """Those in the placeholders of a (nested) value; broken ones are left out."""
    for text in texts_in(value):
        with suppress(TemplateError):
            yield from expressions_in_text(text)


@lru_cache(maxsize=4096)
def root_names(expression: str) -> tuple[str, ...]:
    """The names an expression looks up in its scope: `page` and `title` in `not_null(title, page.title)`."""
    return tuple(_roots_of(syntax_tree(expression)))


def marked_names(expression: str) -> Iterator[str]:
    """The names that an expression takes from the whole scope, whatever it is applied to: those after a `$`."""
    yield from _marked_below(syntax_tree(expression))


def comparisons_in(expression: str) -> Iterator[tuple[str, Any]]:
    """What names of the scope are compared with, where that is written out: `state` and "open" in `state == 'open'`."""
    yield from _comparisons_below(syntax_tree(expression))


@lru_cache(maxsize=4096)
def is_constant(expression: str) -> bool:
    """Whether it parses and is the same whatever it is applied to."""
    tree = syntax_tree(expression)
    return tree is not _BROKEN and not any(node["type"] in _LOOKING for node in _all_nodes(tree))


def looks_at_all(expression: str) -> bool:
    """Whether it takes its whole scope, as `@` does at its beginning: then it may use any name there."""
    return _looks_at_all(syntax_tree(expression))


def begins_in_all(expression: str) -> bool:
    """Whether it parses and takes its whole scope, which is never what a template of a command means."""
    tree = syntax_tree(expression)
    return tree is not _BROKEN and _looks_at_all(tree)


def names_of_items(expression: str) -> Iterator[str]:
    """The names at the start of an expression that are looked up in an item instead: `tag` in `[?contains(tags, tag)]`.

    What follows a dot, or is chosen as `items[].{id: id}`, is plainly a part of what is before it, and none of them.
    """
    yield from _of_items(syntax_tree(expression), within=False)


@lru_cache(maxsize=4096)  # a check asks for several kinds of names of one expression, and commands share many
def syntax_tree(expression: str) -> Node:
    from jmespath import exceptions

    from .functions import parse_expression

    try:
        parsed: Node = parse_expression(expression).parsed
    except exceptions.JMESPathError:
        return _BROKEN
    return parsed


def _syntax_nodes(children: list[Any]) -> Iterator[Node]:
    return (child for child in children if isinstance(child, dict))


def _roots_of(node: Node) -> Iterator[str]:
    """Only the first part of a path, a pipe or a projection sees the scope; the others see what came before them."""
    children = list(_syntax_nodes(node.get("children", [])))
    if node["type"] == "field":
        yield node["value"].removeprefix(ROOT)
    elif node["type"] in RELATIVE or node["type"] == "key_val_pair":
        yield from _roots_of(children[0])
        for child in children[1:]:
            yield from _marked_below(child)
    elif node["type"] == "expref":
        yield from _marked_below(children[0])
    else:
        for child in children:
            yield from _roots_of(child)


def _comparisons_below(node: Node) -> Iterator[tuple[str, Any]]:
    children = list(_syntax_nodes(node.get("children", [])))
    if node["type"] == "comparator" and {child["type"] for child in children} == {"field", "literal"}:
        name, literal = sorted(children, key=lambda child: str(child["type"]))
        yield name["value"].removeprefix(ROOT), literal["value"]
    for child in children[:1] if node["type"] in RELATIVE or node["type"] == "key_val_pair" else children:
        yield from _comparisons_below(child)


def _all_nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in _syntax_nodes(node.get("children", [])):
        yield from _all_nodes(child)


def _looks_at_all(node: Node) -> bool:
    children = list(_syntax_nodes(node.get("children", [])))
    if node["type"] in ("current", "identity"):
        return True
    if node["type"] == "expref":
        return False
    seen = children[:1] if node["type"] in RELATIVE or node["type"] == "key_val_pair" else children
    return any(map(_looks_at_all, seen))


def _marked_below(node: Node) -> Iterator[str]:
    """The names of the whole scope that something uses which sees an item."""
    if node["type"] == "field" and node["value"].startswith(ROOT):
        yield node["value"].removeprefix(ROOT)
    for child in _syntax_nodes(node.get("children", [])):
        yield from _marked_below(child)


def _of_items(node: Node, *, within: bool) -> Iterator[str]:
    """`within` is whether a name that stands here is looked up in an item."""
    children = list(_syntax_nodes(node.get("children", [])))
    kind = node["type"]
    if kind == "field" and within and not node["value"].startswith(ROOT):
        yield node["value"]
    elif kind == "filter_projection":
        yield from _of_items(children[0], within=within)
        yield from _names_behind(children[1])
        yield from _of_items(children[2], within=True)
    elif kind in RELATIVE:
        yield from _of_items(children[0], within=within)
        for child in children[1:]:
            yield from _names_behind(child)
    elif kind == "expref" or (kind in _CHOSEN and within):
        for child in children:
            yield from _names_behind(child)
    else:
        for child in children:
            yield from _of_items(child, within=within)


def _names_behind(node: Node) -> Iterator[str]:
    """What follows something: a path of its own is a part of that, anything else begins anew with its names."""
    if node["type"] == "field":
        return
    if node["type"] in RELATIVE:
        children = list(_syntax_nodes(node["children"]))
        yield from _names_behind(children[0])
        if node["type"] == "filter_projection":
            yield from _names_behind(children[1])
            yield from _of_items(children[2], within=True)
        else:
            for child in children[1:]:
                yield from _names_behind(child)
        return
    yield from _of_items(node, within=True)
