"""Which kinds of values expressions give, as far as they say it, and what such values are never good for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..jsontext import dump_json
from .functions import Functions
from .scopes import RELATIVE, Node, syntax_tree

TYPE_WORDS = ("string", "number", "array", "object", "boolean", "null")
_UNKNOWN = ""
_OF_FUNCTIONS = {
    **dict.fromkeys(("length", "sum", "to_number", "abs", "ceil", "floor", "from_letters", "measured"), "number"),
    **dict.fromkeys(("contains", "starts_with", "ends_with"), "boolean"),
    **dict.fromkeys(("join", "to_string", "type", "lower", "upper", "slug", "moment", "since", "iso"), "string"),
    **dict.fromkeys(("keys", "values", "to_array", "map", "sort", "sort_by"), "array"),
    **dict.fromkeys(("days", "split", "zip", "totals", "running", "unwound", "nested", "lost"), "array"),
    **dict.fromkeys(("merge", "from_items", "picked"), "object"),
}
_OF_NODES = {
    **dict.fromkeys(("comparator", "not_expression"), "boolean"),
    "multi_select_list": "array",
    "multi_select_dict": "object",
    **dict.fromkeys(("projection", "value_projection", "filter_projection"), "array"),
}
# What functions do nothing with, whose signature takes it: they see what a dry run does not know.
_OF_ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(("add", "minus"), (("number",), ("number",))),
    "narrowed": (("string",),),
    "among": (("string",), ("string", "array")),
    "chosen": (("array",), ("array",)),
    "zip": (("array",), ("array",)),
    "joined": (("array",), ("array",)),
    "picked": (("object",), ("array",)),
    "lost": (("object",), ("object",)),
    **dict.fromkeys(("nested", "unwound", "totals"), (("array",),)),
    **dict.fromkeys(("moment", "since", "iso", "measured"), (("string",),)),
}


def kind_of_result(expression: str, types: Mapping[str, str] | None = None) -> str:
    """What an expression gives whenever it gives anything, as `type` calls it; nothing where that may differ.

    `types` are those of names and plain paths.
    """
    return _kind_of(syntax_tree(expression), types or {})


def kinds_of_results(expression: str, types: Mapping[str, str] | None = None) -> frozenset[str]:
    """All that it can give, besides null; with an empty word among them where not all is known."""
    return _kinds_of(syntax_tree(expression), types or {})


def _kind_of(node: Node, types: Mapping[str, str]) -> str:
    kinds = _kinds_of(node, types)
    return min(kinds) if len(kinds) == 1 else _UNKNOWN


def _kinds_of(node: Node, types: Mapping[str, str]) -> frozenset[str]:
    children, kind = [child for child in node.get("children", ()) if isinstance(child, dict)], node["type"]
    if kind == "literal":
        return frozenset() if node["value"] is None else frozenset({type_word(node["value"])})
    if kind == "function_expression":
        if node["value"] == "not_null":
            return frozenset().union(*(_kinds_of(child, types) for child in children))
        return frozenset({_OF_FUNCTIONS.get(node["value"], _UNKNOWN)})
    if kind == "or_expression":
        return frozenset().union(*(_kinds_of(child, types) for child in children))
    if kind == "and_expression":  # what is not true counts as not there
        return _kinds_of(children[-1], types)
    if kind in ("field", "subexpression") and (path := _plain_path([node])) in types:
        return frozenset({types[path]})
    if kind in ("subexpression", "pipe"):
        return _kinds_of(children[-1], {})
    return frozenset({_OF_NODES.get(kind, _UNKNOWN)})


def type_word(value: Any) -> str:
    """What the function `type` says of a value."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "boolean"
    return next(
        word
        for word, kinds in (("string", str), ("number", (int, float)), ("array", list), ("object", dict))
        if isinstance(value, kinds)
    )


A_KIND = {
    "string": "a text",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}
_INSIDE = ("subexpression", "index_expression")
_OF_LISTS = ("index_expression", "flatten", "projection", "filter_projection")
_SAME = ("eq", "ne")
_NUMBER = re.compile(r"(?!(?:19|20)\d\d$)-?\d+(?:\.\d+)?")  # no year, which a date can begin with


def type_faults(expression: str, types: Mapping[str, str] | None = None) -> Iterator[str]:
    """What values of their kinds are never good for: a member of a text, a function of lists with a number.

    `types` are those of names and plain paths; what is said without any is told by `word_faults`, too.
    """
    waiting = [(syntax_tree(expression), types or {})]
    while waiting:
        node, seen = waiting.pop()
        children = [child for child in node.get("children", ()) if isinstance(child, dict)]
        own = seen if node["type"] != "expref" else {}
        later = {} if node["type"] in RELATIVE else own  # those look at an item, or at a part of something
        waiting += [(child, later if place else own) for place, child in enumerate(children)]
        if node["type"] == "function_expression":
            yield from _call_faults(node["value"], children, seen)
        elif node["type"] == "comparator" and node["value"] in _SAME:
            yield from _comparison_faults(children, seen)
        elif node["type"] == "comparator":
            yield from _order_faults(children, seen)
        elif node["type"] in (*_INSIDE, *_OF_LISTS):
            yield from _part_faults(node, children, seen)


def never_same(left: Node, right: Node, types: Mapping[str, str] | None = None) -> bool:
    """Whether two values are of different kinds whatever they are; null may be of any."""
    one, other = (_kinds_of(side, types or {}) for side in (left, right))
    for side, value in ((left, right), (right, left)):
        if side["type"] == "function_expression" and side["value"] == "type" and value["type"] == "literal":
            return value["value"] is not None and value["value"] not in TYPE_WORDS
        if side["type"] == "and_expression":  # it gives its first part where that is not true
            return False
    return bool(one and other) and _UNKNOWN not in one | other and not one & other


def _comparison_faults(sides: Sequence[Node], types: Mapping[str, str]) -> Iterator[str]:
    """Values of two kinds are never the same."""
    if not never_same(sides[0], sides[1], types):
        return
    kinds = [_kinds_of(side, types) for side in sides]
    (one, of_one), (other, of_other) = sorted(
        zip(sides, kinds, strict=True), key=lambda each: each[0]["type"] == "literal"
    )
    said = repr(other["value"]) if other["type"] == "literal" else A_KIND[min(of_other)]
    name, hint = _plain_path([one]), ""
    if of_one == {"array"}:
        hint = f": write contains({name or '...'}, ...)" if name else ": write contains(...)"
    elif of_one == {"string"} and of_other == {"number"}:
        hint = f": write to_number({name})" if name else ""
    elif of_one == {"object"}:
        hint = ": say which member of it"
    yield f"{_spoken(one, types)}, and never {said}{hint}"


def _order_faults(sides: Sequence[Node], types: Mapping[str, str]) -> Iterator[str]:
    """Numbers have an order, and texts among themselves; anything else is neither above nor below."""
    kinds = [_kind_of(side, types) for side in sides]
    for side, kind, other, beside in zip(sides, kinds, kinds[::-1], sides[::-1], strict=True):
        if side["type"] == "literal" and kind == "string" and _NUMBER.fullmatch(side["value"]):
            yield f"a number is never above or below the text {side['value']!r}: write `{side['value']}`"
        elif side["type"] == "literal" and kind not in ("string", "number"):
            yield f"{dump_json(side['value'])} has no order: nothing is above or below it"
        elif kind == "array" and (name := _plain_path([side])):
            never = f"never {beside['value']!r}" if beside["type"] == "literal" else "has no order"
            yield f"{name!r} is a list, and {never}: write length({name})"
        elif kind in ("array", "object", "boolean"):
            yield f"{A_KIND[kind]} has no order: nothing is above or below it"
        elif kind == "string" and other == "number":
            hint = f": write to_number({name})" if (name := _plain_path([side])) else ""
            yield f"{_spoken(side, types)}, and neither above nor below a number{hint}"


def _part_faults(node: Node, children: Sequence[Node], types: Mapping[str, str]) -> Iterator[str]:
    """Parts of what has none, items of what is no list."""
    first, rest = children[0], children[1:]
    if node["type"] == "subexpression":  # of `body.a.b` what the type of is known, and the rest
        lengths = range(len(children) - 1, 0, -1)
        known = next((length for length in lengths if _plain_path(children[:length]) in types), 1)
        first, rest = {**node, "children": children[:known]} if known > 1 else first, children[known:]
    kind = _kind_of(first, types)
    if not kind:
        return
    name = _plain_path([first])
    if node["type"] in _INSIDE and kind != "object" and _is_length(rest):
        yield f"{A_KIND[kind]} has no member `length`: write length({name or '...'})"
    elif node["type"] in _INSIDE and kind not in ("array", "object") and rest:
        yield f"{_spoken(first, types)}: there is nothing inside"
    elif node["type"] in _OF_LISTS and kind != "array":
        yield f"{_spoken(first, types)}, and not a list"
    elif node["type"] == "subexpression" and kind == "array":
        inner = rest[0]
        while inner["type"] in _OF_LISTS:
            inner = inner["children"][0]
        if inner["type"] == "field":
            name = name or "..."
            yield f"{_spoken(first, types)}: write {name}[].{inner['value']}, or {name}[0]"


def _call_faults(function: str, arguments: Sequence[Node], types: Mapping[str, str]) -> Iterator[str]:
    """Arguments of kinds that a function does not take, or finds nothing in."""
    signature = Functions.FUNCTION_TABLE.get(function, {}).get("signature", ())
    kinds = [_kinds_of(argument, types) for argument in arguments]
    meant = _OF_ARGUMENTS.get(function, ())
    for place, (argument, found) in enumerate(zip(arguments, kinds, strict=True)):
        taken = [each.partition("-")[0] for each in signature[place]["types"]] if place < len(signature) else []
        taken = taken or [*(meant[place] if place < len(meant) else ())]
        wrong = sorted(found - {*taken, _UNKNOWN}) if taken else []
        if wrong and argument["type"] != "expref":
            said = " or ".join(dict.fromkeys(A_KIND.get(each, each) for each in taken))
            verb = "is" if len(found) == 1 else "can be"
            yield f"{function}: {_named(argument)} {verb} {A_KIND[wrong[0]]}, and {function} takes {said}"
    if function == "contains" and len(kinds) == 2:
        yield from _contains_faults(arguments, kinds, types)
    elif function == "join" and arguments and arguments[-1]["type"] == "multi_select_list":
        for part in arguments[-1]["children"]:
            if (kind := _kind_of(part, types)) in ("number", "boolean"):
                name = _plain_path([part])
                yield f"join: {_named(part)} is {A_KIND[kind]}: write to_string({name or '...'})"


def _contains_faults(
    arguments: Sequence[Node], kinds: Sequence[frozenset[str]], types: Mapping[str, str]
) -> Iterator[str]:
    """Lists and numbers that are looked for in a text, tables among texts that are written out."""
    there, looked_for = arguments
    name = _plain_path([looked_for])
    if kinds[0] == {"string"} and "array" in kinds[1]:
        first = repr(there["value"]) if there["type"] == "literal" else _plain_path([there]) or "..."
        yield f"contains({first}, {name or '[...]'}): the list stands first"
    elif kinds[0] == {"string"} and kinds[1] and kinds[1] <= {"number", "boolean", "object"}:
        yield f"contains: {_named(looked_for)} is {A_KIND[min(kinds[1])]}, and no part of a text"
    elif _kind_of(there, {}) == "array" and kinds[1] == {"object"} and name in types:
        yield f"contains: {name!r} is a table: say which member of it"


def _named(node: Node) -> str:
    """As one would speak of it."""
    if name := _plain_path([node]):
        return repr(name)
    if node["type"] == "literal":
        return dump_json(node["value"])
    return f"{node['value']}(...)" if node["type"] == "function_expression" else "this"


def _spoken(node: Node, types: Mapping[str, str]) -> str:
    """What it is, and of which kind."""
    if node["type"] == "not_expression":
        return "'!' is for what stands next to it, so this is true or false"
    if node["type"] == "function_expression" and node["value"] == "type":
        return f"type(...) is one of {', '.join(TYPE_WORDS)}"
    return f"{_named(node)} is {A_KIND[min(_kinds_of(node, types))]}"


def _plain_path(nodes: Sequence[Node]) -> str:
    """`body.a.b` of its parts; nothing of what is no plain path."""
    nodes = [each for node in nodes for each in (node["children"] if node["type"] == "subexpression" else [node])]
    is_plain = all(node["type"] == "field" for node in nodes)
    return ".".join(_written_name(node["value"]) for node in nodes) if is_plain else ""


def _written_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else dump_json(name)


def _is_length(nodes: Sequence[Node]) -> bool:
    return bool(nodes) and nodes[0]["type"] == "field" and nodes[0]["value"] == "length"


def types_of_samples(samples: Sequence[Any], name: str) -> dict[str, str]:
    """What stands at the plain paths below `name`, where all samples that have it are of one type."""
    found: dict[str, set[str]] = {}
    waiting = [(name, sample) for sample in samples]
    while waiting:
        path, value = waiting.pop()
        found.setdefault(path, set()).add(type_word(value))
        waiting += (
            [(f"{path}.{_written_name(key)}", item) for key, item in value.items()] if isinstance(value, dict) else []
        )
    return {path: min(words) for path, words in found.items() if len(words) == 1 and words != {"null"}}
