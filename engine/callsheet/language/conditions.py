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
from .functions import evaluate_parsed
from .scopes import RELATIVE, Node, roots_of, syntax_tree
from .template import is_true
from .value_kinds import never_same, type_faults, type_word


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
    return [_word_of(part) for part in _parts_of(syntax_tree(expression), "and_expression")]


def _word_of(part: Node) -> str:
    return str(part["value"]) if part["type"] == "field" else repr(part)


def ways_to_hold(condition: str) -> list[list[str]]:
    """What has to hold together, for each of the ways in which it can: `a && b || c` in two."""
    parts = _parts_of(syntax_tree(condition), "or_expression")
    return [[_word_of(each) for each in _parts_of(part, "and_expression")] for part in parts]


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
    return _OTHER.get(comparator) if never_same(left, right) else None


_SAME, _OTHER = {"eq": True, "ne": False}, {"eq": False, "ne": True}


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
    yield from type_faults(expression)
    whole = syntax_tree(expression)
    waiting = [whole]
    while waiting:
        node = waiting.pop()
        children = node.get("children", [])
        waiting += [child for child in children if isinstance(child, dict)]
        if node["type"] in ("or_expression", "comparator"):
            yield from _operand_faults(node)
        if node["type"] == "and_expression" and node is not whole and _is_condition(node) and _truth_of(node) is False:
            yield "a part of it is never true: it asks one thing to be two values"
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


def _is_condition(node: Node) -> bool:
    """Whether all parts are comparisons: `a && false` is how one says that nothing is given."""
    return all(part["type"] == "comparator" for part in _parts_of(node, "and_expression"))


def _operand_faults(node: Node) -> Iterator[str]:
    """`a && '' || b`, which is always b, and a text in small letters that is compared with capitals."""
    first, *_ = children = node["children"]
    if node["type"] == "or_expression" and first["type"] == "and_expression":
        chosen = first["children"][-1]
        if chosen["type"] == "literal" and not is_true(chosen["value"]):
            yield f"the part behind || is always taken: {dump_json(chosen['value'])} counts as not there"
    for one, other in (children, children[::-1]) if node["type"] == "comparator" else ():
        if other["type"] == "literal" and other["value"] == "null" and one["type"] in ("field", "subexpression"):
            yield f"{other['value']!r} is a text: what is not there is written `null`"
        changed = _CASES.get(one["value"]) if one["type"] == "function_expression" else None
        word = other["value"] if other["type"] == "literal" else None
        if changed is not None and isinstance(word, str) and changed(word) != word:
            yield f"{one['value']}(...) is never {word!r}: write {changed(word)!r}"


_CASES = {"lower": str.lower, "upper": str.upper}
_FIELD = {"type": "field", "children": []}


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
