"""Conditions that are always or never true, and comparisons that can never hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

from ..errors import CallsheetError
from ..jsontext import dump_json, parse_json
from .functions import Functions, evaluate_parsed
from .scopes import RELATIVE, Node, roots_of, syntax_tree
from .template import is_true


def compared_paths(expression: str, *, only_equal: bool = False) -> Iterator[tuple[str, Any]]:
    """Plain paths and the texts, numbers and yes or no that they are compared with: `body.score` and 60.

    With `only_equal` what they have to be.
    """
    waiting = [syntax_tree(expression)]
    while waiting:
        node = waiting.pop()
        waiting += _parts_of_scope(node)
        for left, value in [*_compared_in(node, only_equal=only_equal)]:
            names = [
                str(each.get("value")) for each in (left["children"] if left["type"] == "subexpression" else [left])
            ]
            is_path = all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names)
            is_plain = not isinstance(value, list | dict | type(None))
            is_plain = is_plain and (node["value"] not in _OPPOSITE or not isinstance(value, bool))  # else no order
            if is_path and is_plain and left["type"] in ("field", "subexpression"):
                yield ".".join(names), value


def _compared_in(node: Node, *, only_equal: bool) -> Iterator[tuple[Node, Any]]:
    """What a node compares with a value that is written out, or looks for among several."""
    if node["type"] == "comparator" and (node["value"] == "eq" or not only_equal):
        left, right = node["children"]
        left, right = (right, left) if left["type"] == "literal" else (left, right)
        if right["type"] == "literal":
            yield left, right["value"]
    elif node["type"] == "function_expression" and node["value"] == "contains" and not only_equal:
        there, looked_for = node["children"]
        parts = there["children"] if there["type"] == "multi_select_list" else ()
        values = [part["value"] for part in parts if part["type"] == "literal"]
        listed = there["value"] if there["type"] == "literal" and isinstance(there["value"], list) else values
        yield from ((looked_for, value) for value in listed)


def _parts_of_scope(node: Node) -> list[Node]:
    """The parts of a node that look at the whole scope, and not at an item of a list or a part of something."""
    children = [child for child in node.get("children", ()) if isinstance(child, dict)]
    return [] if node["type"] == "expref" else children[:1] if node["type"] in RELATIVE else children


@lru_cache(maxsize=4096)
def fixed_truth(expression: str) -> bool | None:
    """What a condition is whatever it sees, as `a == a` and `a == 'x' && a == 'y'`; nothing where that depends."""
    tree = syntax_tree(expression)
    return None if tree["type"] == "literal" else _truth_of(tree)


def _truth_of(node: Node) -> bool | None:
    kind: str = node["type"]
    children: list[Node] = node.get("children", [])
    if kind == "literal":
        return bool(is_true(node["value"]))
    if kind == "not_expression":
        inner = _truth_of(children[0])
        return None if inner is None else not inner
    if kind == "comparator":
        return _truth_of_comparison(node["value"], *children)
    if kind not in ("and_expression", "or_expression"):
        return None
    decides = kind == "or_expression"  # one part that is true is enough there, one that is false here
    parts = list(_parts_of(node, kind))
    truths = [_truth_of(part) for part in parts]
    if _has_opposites(parts):
        return decides
    if decides in truths or _exclude_each_other(parts, "ne" if decides else "eq"):
        return decides
    if _no_number_between(parts, negated=decides):
        return decides
    return None if None in truths else not decides


def conditions_joined(expression: str) -> list[str]:
    """Those that all have to hold, each in the words of its tree: `a` and `b` of `a && b`. Plain names as they are."""
    if not expression:
        return []
    parts = _parts_of(syntax_tree(expression), "and_expression")
    return [part["value"] if part["type"] == "field" else repr(part) for part in parts]


def names_left_out(condition: str) -> list[str]:
    """The names that must be missing for it to hold: `a` of `!a && b`."""
    parts = [part for part in _parts_of(syntax_tree(condition), "and_expression") if part["type"] == "not_expression"]
    return [part["children"][0]["value"] for part in parts if part["children"][0]["type"] == "field"]


def never_holds(expression: str, name: str, values: Sequence[Any]) -> bool:
    """Whether one of the conditions that all have to hold asks about `name` alone, and no value meets it."""
    parts = [part for part in _parts_of(syntax_tree(expression), "and_expression") if {*roots_of(part)} == {name}]
    try:
        met = (any(is_true(_value_of(part, {name: value})) for value in values) for part in parts)
        return bool(values) and not all(met)
    except (JMESPathError, CallsheetError):
        return False


def _value_of(node: Node, scope: Mapping[str, Any]) -> Any:
    parsed: Any = node
    return evaluate_parsed(ParsedResult("", parsed), scope, scope)


def _parts_of(node: Node, kind: str) -> Iterator[Node]:
    if node["type"] == kind:
        for child in node["children"]:
            yield from _parts_of(child, kind)
    else:
        yield node


def _exclude_each_other(parts: list[Node], comparator: str) -> bool:
    """Whether one thing is compared with two values: it is never both, and always another than one of them."""
    seen: list[tuple[Node, Any]] = []
    for part in parts:
        if part["type"] == "comparator" and part["value"] == comparator and part["children"][1]["type"] == "literal":
            thing, value = part["children"][0], part["children"][1]["value"]
            if any(thing == other and value != known for other, known in seen):
                return True
            seen.append((thing, value))
    return False


def _has_opposites(parts: list[Node]) -> bool:
    """Whether one of them holds exactly where another one does not: `a == b` and `a != b`, `a` and `!a`."""
    for part in parts:
        if part["type"] == "comparator" and part["value"] == "eq" and {**part, "value": "ne"} in parts:
            return True
        if part["type"] == "not_expression" and part["children"][0] in parts:
            return True
    return False


_OPPOSITE = {"lt": "gte", "gte": "lt", "gt": "lte", "lte": "gt"}


def _no_number_between(parts: list[Node], *, negated: bool) -> bool:
    """Whether one thing is held between bounds that leave no number, as `n < 1 && n > 5`; `negated`, none outside."""
    bounds: list[tuple[Node, str, float]] = []
    for part in parts:
        if part["type"] == "comparator" and part["value"] in _OPPOSITE:
            thing, value = part["children"]
            if value["type"] == "literal" and type(value["value"]) in (int, float):
                bounds.append((thing, _OPPOSITE[part["value"]] if negated else part["value"], value["value"]))
    return any(
        thing == other and (low > high or (low == high and {sign, below} != {"gte", "lte"}))
        for thing, sign, low in bounds
        if sign in ("gt", "gte")
        for other, below, high in bounds
        if below in ("lt", "lte")
    )


def _truth_of_comparison(comparator: str, left: Node, right: Node) -> bool | None:
    if left == right:
        return _SAME.get(comparator)
    if left["type"] == "literal":
        left, right = right, left
    known = _TYPES_OF_FUNCTIONS.get(left["value"]) if left["type"] == "function_expression" else None
    known = _kind_of(left) if left["type"] in _TYPES_OF_NODES else known
    if right["type"] != "literal" or right["value"] is None or known is None:  # a number may be null
        return None
    value = right["value"]
    is_type_word = left.get("value") == "type"
    differs = value not in _TYPE_WORDS if is_type_word else type_word(value) != known
    return _OTHER.get(comparator) if differs else None


def kind_of_result(expression: str) -> str:
    """What an expression gives whenever it gives anything, as `type` calls it; nothing where that may differ."""
    return _kind_of(syntax_tree(expression))


def _kind_of(node: Node) -> str:
    children, kind = [child for child in node.get("children", ()) if isinstance(child, dict)], node["type"]
    if kind == "function_expression":
        return _TYPES_OF_FUNCTIONS.get(node["value"], "")
    if kind == "or_expression":
        first, second = map(_kind_of, children)
        return first if first == second else ""
    if kind in ("and_expression", "subexpression", "pipe"):
        return _kind_of(children[-1])
    return _TYPES_OF_NODES.get(kind, "")


_SAME, _OTHER = {"eq": True, "ne": False}, {"eq": False, "ne": True}


_TYPE_WORDS = ("string", "number", "array", "object", "boolean", "null")
_TYPES_OF_FUNCTIONS = {
    **dict.fromkeys(("length", "sum", "to_number", "abs", "ceil", "floor", "from_letters", "measured"), "number"),
    **dict.fromkeys(("contains", "starts_with", "ends_with"), "boolean"),
    **dict.fromkeys(("join", "to_string", "type", "lower", "upper", "slug", "moment", "since", "iso"), "string"),
    **dict.fromkeys(("keys", "values", "to_array", "map", "sort", "sort_by"), "array"),
    **dict.fromkeys(("days", "split", "zip", "totals", "running", "unwound", "nested", "lost"), "array"),
    **dict.fromkeys(("merge", "from_items", "picked"), "object"),
}


def type_word(value: Any) -> str:
    """What the function `type` says of a value."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "boolean"
    return next(
        word
        for word, kinds in (("string", str), ("number", (int, float)), ("array", list), ("object", dict))
        if isinstance(value, kinds)
    )


_TYPES_OF_NODES = {
    **dict.fromkeys(("comparator", "not_expression"), "boolean"),
    "multi_select_list": "array",
    "multi_select_dict": "object",
    **dict.fromkeys(("projection", "value_projection", "filter_projection"), "array"),
}


_SOME_TIME = datetime(2026, 12, 31, 23, 59, 58, tzinfo=UTC)


def written_results(expression: str, words: Mapping[str, Sequence[Any]]) -> Iterator[Any]:
    """What an expression can give that is written out in it: 'open' and 'all' in `active && 'open' || 'all'`.

    `words` are the values that names can have. A time in a form that is written out is some time in that form.
    """
    yield from _written_below(syntax_tree(expression), words)


def _written_below(node: Node, words: Mapping[str, Sequence[Any]]) -> Iterator[Any]:
    kind, children = node["type"], node["children"]
    if kind == "literal":
        yield node["value"]
    elif kind == "field":
        yield from words.get(node["value"], ())
    elif kind == "and_expression":
        yield from _written_below(children[-1], words)
    elif kind == "or_expression":
        for child in children:
            yield from _written_below(child, words)
    elif kind == "multi_select_list":
        yield from ([each] for child in children for each in _written_below(child, words))
    elif kind == "function_expression" and node["value"] in _TIMES and children[-1]["type"] == "literal":
        yield _SOME_TIME.strftime(str(children[-1]["value"]))


_TIMES = ("moment", "since")


def all_results(expression: str) -> list[Any] | None:
    """What an expression gives, where each of its results is written out in it; None where any is not."""
    node = syntax_tree(expression)
    return list(_written_below(node, {})) if _is_written_out(node) else None


def _is_written_out(node: Node) -> bool:
    kind, children = node["type"], node["children"]
    if kind == "and_expression":
        return _is_written_out(children[-1])
    return kind == "literal" or (kind == "or_expression" and all(map(_is_written_out, children)))


# What is always of one type: first names, and whole paths.
_TYPES_OF_PATHS = {
    **dict.fromkeys(("headers", "query", "event_type", "source"), "string"),
    **dict.fromkeys(("result.exit_code", "result.status"), "number"),
}


def comparison_faults(condition: str) -> Iterator[str]:
    """Comparisons of what every event has with a value of another type."""
    if _TYPES_OF_PATHS.get(condition) == "number":
        yield "is always true: a number is, 0 too"
    for path, value in compared_paths(condition):
        known = _TYPES_OF_PATHS.get(path) or _TYPES_OF_PATHS.get(path.partition(".")[0])
        if known and type_word(value) != known:
            yield f"{path} is {known}, and never {value!r}"


# The words that functions take, where they are written out.
_DATE_FORMS = ("date", "date-time")


def word_faults(expression: str) -> Iterator[str]:
    """Functions whose words can never do what they are for: a form of times without a %, a text in itself."""
    yield from _broken_literals(expression)
    waiting = [syntax_tree(expression)]
    while waiting:
        node = waiting.pop()
        children = node.get("children", [])
        waiting += [child for child in children if isinstance(child, dict)]
        if node["type"] == "comparator" and node["value"] in _OPPOSITE:
            yield from _order_faults(children)
        elif node["type"] == "comparator" and _truth_of_comparison("eq", *children) is False:
            left, right = children if children[1]["type"] == "literal" else children[::-1]
            hint = ": write contains(...)" if _kind_of(left) == "array" else ""
            yield f"{_spoken_kind(left)}, and never {right['value']!r}{hint}"
        if node["type"] in ("or_expression", "comparator"):
            yield from _operand_faults(node)
        if node["type"] != "function_expression":
            continue
        for sign in (child["value"] for child in children if child["type"] == "field"):
            if sign and not any(map(str.isalnum, sign)):
                yield f"\"{sign}\" is the name of a member: a text stands in '{sign}'"
        words = [child["value"] if child["type"] == "literal" else None for child in children]
        name, last = node["value"], words[-1] if words else None
        if name in _TIMES and isinstance(last, str) and "%" not in last:
            yield f"{name}(..., {last!r}): a form has the signs of strftime, such as %Y-%m-%d"
        if name == "iso" and isinstance(last, str) and last not in _DATE_FORMS:
            yield f"iso(..., {last!r}): expected {' or '.join(map(repr, _DATE_FORMS))}"
        if name == "not_null" and None not in words[:1]:
            yield f"not_null({words[0]!r}, ...): always gives its first value, which is never null"
        if name == "among" and words[:1] == [None] and isinstance(last, str):
            yield f"among(..., {last!r}): the name of the field stands first"
        if name in _TIMES and isinstance(words[0], str) and "%" in words[0] and last is None:
            yield f"{name}({words[0]!r}, ...): the form stands last"
        if name in ("starts_with", "ends_with") and isinstance(words[0], str) and last is None:
            yield f"{name}({words[0]!r}, ...): the text that is looked at stands first"
        if name == "split" and isinstance(words[0], str) and last is None:
            yield f"split({words[0]!r}, ...): the text that is split stands first"
        if name == "merge" and children[0]["type"] == "current":
            tables = [child["children"] for child in children[1:] if child["type"] == "multi_select_dict"]
            for pair in (pair for pair in chain(*tables) if pair["children"][0] == {**_FIELD, "value": pair["value"]}):
                name = pair["value"]
                yield f"merge(@, {{{name}: {name}}}) changes nothing: what the command knows is seen as ${name} here"


def _operand_faults(node: Node) -> Iterator[str]:
    """`a && '' || b`, which is always b, and a text in small letters that is compared with capitals."""
    first, *_ = children = node["children"]
    if node["type"] == "or_expression" and first["type"] == "and_expression":
        chosen = first["children"][-1]
        if chosen["type"] == "literal" and not is_true(chosen["value"]):
            yield f"the part behind || is always taken: {dump_json(chosen['value'])} counts as not there"
    for one, other in (children, children[::-1]) if node["type"] == "comparator" else ():
        changed = _CASES.get(one["value"]) if one["type"] == "function_expression" else None
        word = other["value"] if other["type"] == "literal" else None
        if changed is not None and isinstance(word, str) and changed(word) != word:
            yield f"{one['value']}(...) is never {word!r}: write {changed(word)!r}"


_CASES = {"lower": str.lower, "upper": str.upper}
_FIELD = {"type": "field", "children": []}
_NUMBER = re.compile(r"(?!(?:19|20)\d\d$)-?\d+(?:\.\d+)?")  # no year, which a date can begin with


def _order_faults(sides: Sequence[Node]) -> Iterator[str]:
    """Numbers have an order, and texts among themselves; anything else is neither above nor below."""
    for side in sides:
        if side["type"] == "literal" and isinstance(side["value"], str) and _NUMBER.fullmatch(side["value"]):
            yield f"a number is never above or below the text {side['value']!r}: write `{side['value']}`"
        elif side["type"] == "literal" and not isinstance(side["value"], str) and type_word(side["value"]) != "number":
            yield f"{dump_json(side['value'])} has no order: nothing is above or below it"
        elif (kind := _kind_of(side)) in ("array", "object", "boolean"):
            yield f"{_A_TYPE[kind]} has no order: nothing is above or below it"


_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`((?:\\`|[^`])*)`""")


def _broken_literals(expression: str) -> Iterator[str]:
    """What stands between backticks and is no JSON is a text for jmespath, and so never false, 0 or null."""
    for found in _QUOTED.finditer(expression) if "`" in expression else ():
        if found[1] is None:
            continue
        try:
            parse_json(found[1].replace("\\`", "`"))
        except ValueError:
            yield f"{found[0]} is not JSON: a text is written {found[1].strip()!r}"


def _spoken_kind(node: Node) -> str:
    """What it is, and what it gives."""
    if node["type"] == "not_expression":
        return "'!' is for what stands next to it, so this is true or false"
    if node["type"] != "function_expression":
        return f"this is {_A_TYPE[_kind_of(node)]}"
    kind = (
        _A_TYPE[_TYPES_OF_FUNCTIONS[node["value"]]] if node["value"] != "type" else f"one of {', '.join(_TYPE_WORDS)}"
    )
    return f"{node['value']}(...) is {kind}"


_INSIDE = ("subexpression", "index_expression")
_OF_LISTS = ("index_expression", "flatten", "projection", "filter_projection")
_A_TYPE = {
    "string": "a text",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}


def type_faults(expression: str, types: Mapping[str, str]) -> Iterator[str]:
    """What names and paths of these types are never good for: a member of a text, a function of lists with a number."""
    waiting = [syntax_tree(expression)]
    while waiting:
        node = waiting.pop()
        children = [child for child in node.get("children", ()) if isinstance(child, dict)]
        waiting += _parts_of_scope(node)
        names = [path if (path := _plain_path([child])) in types else None for child in children]
        first = names[0] if names else None
        if node["type"] == "subexpression":  # of `body.a.b` what the type of is known, and the rest
            known = (length for length in range(len(children) - 1, 0, -1) if _plain_path(children[:length]) in types)
            if (length := next(known, 0)) > 1:
                first, children = _plain_path(children[:length]), [node, *children[length:]]
        if node["type"] == "function_expression":
            yield from _argument_faults(node["value"], names, types)
            yield from _word_in_list_faults(node["value"], children, names, types)
        elif node["type"] == "comparator" and first is not None and children[1]["type"] == "literal":
            value = children[1]["value"]
            if value is not None and types[first] == "array" and not isinstance(value, list):
                means = f"contains({first}, ...)" if node["value"] in _SAME else f"length({first})"
                yield f"{first!r} is a list, and never {value!r}: write {means}"
            elif types[first] == "string" and isinstance(value, int | float):
                never = f"never {value!r}" if node["value"] in _SAME else "neither above nor below a number"
                yield f"{first!r} is a text, and {never}: write to_number({first})"
            elif types[first] in ("number", "boolean") and isinstance(value, str) and node["value"] in _SAME:
                yield f"{first!r} is {_A_TYPE[types[first]]}, and never {value!r}"
            elif types[first] == "object" and value is not None and not isinstance(value, dict):
                yield f"{first!r} is a table, and never {value!r}: say which member of it"
        elif node["type"] in _INSIDE and first is not None and types[first] != "object" and _is_length(children[1:]):
            yield f"{_A_TYPE[types[first]]} has no member `length`: write length({first})"
        elif node["type"] in _INSIDE and first is not None and types[first] not in ("array", "object") and children[1:]:
            yield f"{first!r} is {_A_TYPE[types[first]]}: there is nothing inside"
        elif node["type"] in _OF_LISTS and first is not None and types[first] != "array":
            yield f"{first!r} is {_A_TYPE[types[first]]}, and not a list"
        elif node["type"] == "subexpression" and types.get(first or "") == "array":
            inner = children[1]
            while inner["type"] in _OF_LISTS:
                inner = inner["children"][0]
            if inner["type"] == "field":
                yield f"{first!r} is a list: write {first}[].{inner['value']}, or {first}[0]"


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


def _word_in_list_faults(
    function: str, children: Sequence[Node], names: Sequence[str | None], types: Mapping[str, str]
) -> Iterator[str]:
    """Lists that are looked for in a text, and numbers among texts that are joined."""
    if function == "contains" and isinstance(children[0].get("value"), str) and children[0]["type"] == "literal":
        if (name := names[-1]) is not None and types[name] == "array":
            yield f"contains({children[0]['value']!r}, {name}): the list stands first"
    elif function == "contains" and _kind_of(children[0]) == "array" and types.get(names[-1] or "") == "object":
        yield f"contains: {names[-1]!r} is a table: say which member of it"
    elif function == "contains" and types.get(names[0] or "") == "string" and _kind_of(children[-1]) == "array":
        yield f"contains({names[0]}, [...]): the list stands first"
    elif function == "join" and children[-1]["type"] == "multi_select_list":
        for part in children[-1]["children"]:
            if part["type"] == "field" and types.get(part["value"]) in ("number", "boolean"):
                yield f"join: {part['value']!r} is {_A_TYPE[types[part['value']]]}: write to_string({part['value']})"


def _argument_faults(function: str, names: Sequence[str | None], types: Mapping[str, str]) -> Iterator[str]:
    signature = Functions.FUNCTION_TABLE.get(function, {}).get("signature", ())
    for name, argument in zip(names, signature, strict=False):
        wanted = argument["types"]
        if name is not None and wanted and not any(each.partition("-")[0] == types[name] for each in wanted):
            said = " or ".join(dict.fromkeys(_A_TYPE.get(each.partition("-")[0], each) for each in wanted))
            yield f"{function}: {name!r} is {_A_TYPE[types[name]]}, and {function} takes {said}"
