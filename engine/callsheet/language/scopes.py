"""Which names an expression takes from its scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from .functions import ROOT, paths_in_expression
from .template import TemplateError, expressions_in_text, texts_in

if TYPE_CHECKING:
    from .source_file import Path

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
    for text in (value,) if isinstance(value, str) else texts_in(value):
        if "{" not in text:
            continue
        try:
            yield from expressions_in_text(text)
        except TemplateError:
            continue


@lru_cache(maxsize=4096)
def root_names(expression: str) -> tuple[str, ...]:
    """The names an expression looks up in its scope: `page` and `title` in `not_null(title, page.title)`."""
    return tuple(roots_of(syntax_tree(expression)))


@lru_cache(maxsize=4096)
def marked_names(expression: str) -> tuple[str, ...]:
    """The names that an expression takes from the whole scope, whatever it is applied to: those after a `$`."""
    return tuple(_marked_below(syntax_tree(expression)))


def comparisons_in(expression: str) -> Iterator[tuple[list[str], Any]]:
    """What paths are compared with, where that is written out: `item.state` and "open" in `item.state == 'open'`."""
    yield from _comparisons_below(syntax_tree(expression))


def values_in(expression: str) -> list[Any]:
    """What is written out in it: 'open' and 5 in `state == 'open' && size > `5``."""
    return [node["value"] for node in _all_nodes(syntax_tree(expression)) if node["type"] == "literal"]


def functions_in(expression: str) -> set[str]:
    """The functions that it calls."""
    nodes = _all_nodes(syntax_tree(expression))
    return {node["value"] for node in nodes if node["type"] == "function_expression"}


@lru_cache(maxsize=4096)
def is_constant(expression: str) -> bool:
    """Whether it parses and is the same whatever it is applied to."""
    tree = syntax_tree(expression)
    return tree is not _BROKEN and not any(node["type"] in _LOOKING for node in _all_nodes(tree))


def looks_at_all(expression: str) -> bool:
    """Whether it takes its whole scope, as `@` does at its beginning: then it may use any name there."""
    return _looks_at_all(syntax_tree(expression))


@lru_cache(maxsize=4096)
def begins_in_all(expression: str) -> bool:
    """Whether it parses and takes its whole scope, which is never what a template of a command means."""
    tree = syntax_tree(expression)
    return tree is not _BROKEN and _looks_at_all(tree)


@lru_cache(maxsize=4096)
def names_of_items(expression: str) -> tuple[str, ...]:
    """The names at the start of an expression that are looked up in an item instead: `tag` in `[?contains(tags, tag)]`.

    What follows a dot, or is chosen as `items[].{id: id}`, is plainly a part of what is before it, and none of them.
    """
    return tuple(_of_items(syntax_tree(expression), within=False))


def conflicting_forms(expressions: Mapping[Path, str], name: str = "") -> Iterator[tuple[Path, Path]]:
    """Which of several expressions take a value (all, or the member `name`) as a list, where another one names members.

    Each with the other one: of the two one is always null.
    """
    forms = {path: {*_forms_of(syntax_tree(text), name)} for path, text in expressions.items()}
    member = next((path for path, found in forms.items() if "object" in found), None)
    if member is not None:
        yield from ((path, member) for path, found in forms.items() if found == {"array"})


def names_written(expression: str) -> Iterator[str]:
    """The members that the table has which an expression gives, as far as they are written out in it."""
    waiting = [syntax_tree(expression)]
    while waiting:
        node = waiting.pop()
        if node["type"] == "multi_select_dict":
            yield from (child["value"] for child in node["children"])
        elif node["type"] == "function_expression" and node["value"] == "merge":
            waiting += node["children"]
        elif node["type"] in ("and_expression", "pipe"):
            waiting.append(node["children"][-1])
        elif node["type"] == "or_expression":
            waiting += node["children"]


def member_names(expression: str) -> list[str] | None:
    """The members of the table that it always makes, as `{id: id, name: name}` does; None of anything else."""
    node = syntax_tree(expression)
    while node["type"] in ("pipe", "subexpression"):
        node = node["children"][-1]
    return [child["value"] for child in node["children"]] if node["type"] == "multi_select_dict" else None


def item_names(expression: str) -> list[str]:
    """The members of each item of the list that it makes, as `rows[].{id: id}` does; none of anything else."""
    node = syntax_tree(expression)
    children = node["children"]
    if node["type"] in ("projection", "filter_projection"):
        tail = children[1]
        while tail["type"] == "subexpression":
            tail = tail["children"][-1]
        return [child["value"] for child in tail["children"]] if tail["type"] == "multi_select_dict" else []
    named = [*children[1]["children"], children[2]] if node.get("value") == "totals" and len(children) > 2 else []
    return [each["value"] for each in named] if all(each["type"] == "literal" for each in named) else []


def is_list_of(expression: str, name: str = "") -> bool | None:
    """Whether all, or the member `name`, is taken as a list or as a table; None where neither shows, or both."""
    found = {*_forms_of(syntax_tree(expression), name)}
    return found == {"array"} if len(found) == 1 else None


def members_of_items(expression: str, name: str) -> set[str]:
    """What is taken of each item of the list `name`: `price` in `sum(lines[].price)`."""
    taken: set[str] = set()
    for node in _all_nodes(syntax_tree(expression)):
        if node["type"] in ("projection", "filter_projection"):
            of, wanted, *conditions = _syntax_nodes(node["children"])
            found = _followed_from_root(of["children"][0] if of["type"] == "flatten" else of)
            if found is not None and found.names == [name]:
                taken |= {*roots_of(wanted), *(each for condition in conditions for each in roots_of(condition))}
    return taken


def _forms_of(node: Node, name: str) -> Iterator[str]:
    """What is taken of the value: an item or all of them (array), or a member (object)."""
    found = _followed_from_root(node)
    if found is not None and found.names[: bool(name)] == [name][: bool(name)]:
        rest = found.names[bool(name) :]
        yield from ["object"] if rest else ["array"] if found.ends_in_list else []
    children = list(_syntax_nodes(node.get("children", [])))
    if node["type"] not in {*RELATIVE, "expref", "flatten"}:
        for child in children:
            yield from _forms_of(child, name)
    elif node["type"] == "pipe":
        yield from _forms_of(children[0], name)


class _Followed(NamedTuple):
    """The names of a path from the beginning, and whether a place in a list, or all of one, comes next."""

    names: list[str]
    ends_in_list: bool


def _followed_from_root(node: Node) -> _Followed | None:
    """None of what does not begin with a path."""
    children, kind = list(_syntax_nodes(node.get("children", []))), node["type"]
    if kind == "field":
        return _Followed([node["value"].removeprefix(ROOT)], ends_in_list=False)
    if kind in ("identity", "current"):
        return _Followed([], ends_in_list=False)
    first = _followed_from_root(children[0]) if kind in {*RELATIVE, "flatten"} else None
    if first is None or kind in ("pipe", "value_projection"):
        return first
    if kind != "subexpression" or first.ends_in_list:
        return first._replace(ends_in_list=True)
    for child in children[1:]:
        if child["type"] != "field":
            break
        first.names.append(child["value"])
    return first


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


def roots_of(node: Node) -> Iterator[str]:
    """Only the first part of a path, a pipe or a projection sees the scope; the others see what came before them."""
    children = list(_syntax_nodes(node.get("children", [])))
    if node["type"] == "field":
        yield node["value"].removeprefix(ROOT)
    elif node["type"] in RELATIVE or node["type"] == "key_val_pair":
        yield from roots_of(children[0])
        for child in children[1:]:
            yield from _marked_below(child)
    elif node["type"] == "expref":
        yield from _marked_below(children[0])
    else:
        for child in children:
            yield from roots_of(child)


def _comparisons_below(node: Node) -> Iterator[tuple[list[str], Any]]:
    children = list(_syntax_nodes(node.get("children", [])))
    if node["type"] == "comparator":
        for path, literal in permutations(children):
            found = _followed_from_root(path) if literal["type"] == "literal" else None
            if found is not None and found.names and not found.ends_in_list:
                yield found.names, literal["value"]
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
