"""JMESPath for the hot path: paths, alternatives, comparisons and literals as plain Python closures.

One request evaluates several expressions, and the library's interpreter takes longer for one of them than all
other work on an event together. What is not compiled here is left to the library; the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .functions import ROOT, is_number, parse_expression
from .template import TemplateError, compile_expression, is_true

Evaluate = Callable[[Any], Any]
Ast = dict[str, Any]


@lru_cache(maxsize=8192)
def compile_fast(expression: str) -> Evaluate:
    """The same as `template.compile_expression`, faster where the expression is simple. Raises `TemplateError`."""
    checked, compiled = compile_expression(expression), _compiled_expression(expression)
    if compiled is None or not _may_fail(expression_tree(expression) or {}):
        return compiled or checked

    def evaluate(scope: Any) -> Any:
        try:
            return compiled(scope)
        except _UnfitArgument:
            return checked(scope)  # which says what is wrong with it

    return evaluate


@lru_cache(maxsize=8192)
def _compiled_expression(expression: str) -> Evaluate | None:
    node = expression_tree(expression)
    return compile_node(node) if node else None


class _UnfitArgument(Exception):
    """A function met a value that it is not made for."""


def expression_tree(expression: str) -> Ast | None:
    """The parsed expression, or nothing where it is too deep to look into."""
    try:
        parsed: Ast = parse_expression(expression).parsed
    except RecursionError:
        return None
    return parsed


def first_names(expression: str) -> set[str]:
    """The top-level names an expression may look at; a superset is returned where that is hard to tell."""
    found: set[str] = set()
    _first_names(expression_tree(expression) or {}, found)
    return found


def _first_names(node: Any, found: set[str]) -> None:
    if isinstance(node, dict):
        if node.get("type") == "field":
            found.add(node["value"].removeprefix(ROOT))
        for child in node.get("children", ()):
            _first_names(child, found)


def compile_condition(expression: str) -> Callable[[Any], bool]:
    """Whether an expression is true of a scope, as JMESPath sees truth; an expression that fails is not."""
    evaluate = compile_fast(expression)  # raises where it cannot be used
    evaluate = _compiled_expression(expression) or evaluate

    def holds(scope: Any) -> bool:
        try:
            return is_true(evaluate(scope))
        except (_UnfitArgument, TemplateError, TypeError):
            return False

    return holds


def compile_node(node: Ast) -> Evaluate | None:
    maker = _MAKERS.get(node["type"])
    if maker is None or (node["type"] == "field" and node["value"].startswith(ROOT)):
        return None
    children = [compile_node(child) for child in node.get("children", ())]
    if None in children:
        return None
    return maker(node, children)


def _compile_field(node: Ast, _: list[Any]) -> Evaluate:
    name = node["value"]
    return lambda value: value.get(name) if type(value) is dict else None


def _compile_subexpression(node: Ast, parts: list[Any]) -> Evaluate:
    if all(child["type"] == "field" for child in node["children"]):
        return _compile_path([child["value"] for child in node["children"]])

    def walk(value: Any) -> Any:
        for part in parts:
            value = part(value)
        return value

    return walk


def _compile_path(names: list[str]) -> Evaluate:
    """The usual case, `a.b.c`: one function for all steps, without a loop for two."""
    first, last = names[0], names[-1]

    def step_twice(value: Any) -> Any:
        inner = value.get(first) if type(value) is dict else None
        return inner.get(last) if type(inner) is dict else None

    def walk(value: Any) -> Any:
        for name in names:
            if type(value) is not dict:
                return None
            value = value.get(name)
        return value

    return step_twice if len(names) == 2 else walk


def _compile_or(_: Ast, parts: list[Any]) -> Evaluate:
    first, second = parts

    def either(value: Any) -> Any:
        found = first(value)
        if found is None:  # what is not there is the usual case
            return second(value)
        return found if found or is_true(found) else second(value)

    return either


def _compile_and(_: Ast, parts: list[Any]) -> Evaluate:
    first, second = parts

    def both(value: Any) -> Any:
        found = first(value)
        return second(value) if is_true(found) else found

    return both


def _compile_not(_: Ast, parts: list[Any]) -> Evaluate:
    (first,) = parts
    return lambda value: not is_true(first(value))


def _compile_function(node: Ast, parts: list[Any]) -> Evaluate | None:
    name = node["value"]
    if name == "not_null" and parts and not any(map(_may_fail, node["children"])):
        return _not_null(parts)
    return _of_two(name, *parts) if name in _FUNCTIONS_OF_TWO and len(parts) == 2 else None


def _may_fail(node: Ast) -> bool:
    is_function = node.get("type") == "function_expression" and node["value"] in _FUNCTIONS_OF_TWO
    return is_function or any(map(_may_fail, node.get("children", ())))


def _of_two(name: str, first: Evaluate, second: Evaluate) -> Evaluate:
    """A look at a text, or for a value in a list: what conditions do most after they compare."""
    apply, is_list_fit = _FUNCTIONS_OF_TWO[name], name == "contains"

    def call(value: Any) -> Any:
        subject, wanted = first(value), second(value)
        if (type(subject) is str and type(wanted) is str) or (is_list_fit and type(subject) is list):
            return apply(subject, wanted)
        raise _UnfitArgument

    return call


_FUNCTIONS_OF_TWO: dict[str, Callable[[Any, Any], bool]] = {
    "contains": lambda subject, wanted: wanted in subject,
    "starts_with": lambda subject, wanted: bool(subject.startswith(wanted)),
    "ends_with": lambda subject, wanted: bool(subject.endswith(wanted)),
}


def _not_null(parts: list[Any]) -> Evaluate:
    """No part fails, so nothing is hidden by leaving the rest alone."""

    def first(value: Any) -> Any:
        for part in parts:
            found = part(value)
            if found is not None:
                return found
        return None

    return first


def _compile_literal(node: Ast, _: list[Any]) -> Evaluate:
    constant = node["value"]
    return lambda _: constant


def _compile_identity(_: Ast, __: list[Any]) -> Evaluate:
    return lambda value: value


def _compile_comparator(node: Ast, parts: list[Any]) -> Evaluate | None:
    first, second = parts
    compare = _ORDER.get(node["value"])
    if compare is None:
        return _compile_equality(node["value"], first, second)

    def ordered(value: Any) -> Any:
        left, right = first(value), second(value)
        comparable = (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str))
        return compare(left, right) if comparable else None

    return ordered


def _compile_equality(sign: str, first: Evaluate, second: Evaluate) -> Evaluate:
    if sign == "eq":
        return lambda value: equal_values(first(value), second(value))
    return lambda value: not equal_values(first(value), second(value))


def equal_values(left: Any, right: Any) -> bool:
    """As JMESPath compares: a boolean is never a number."""
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left == right)


_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "lt": lambda left, right: left < right,
    "lte": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "gte": lambda left, right: left >= right,
}

_MAKERS: dict[str, Callable[[Ast, list[Any]], Evaluate | None]] = {
    "field": _compile_field,
    "subexpression": _compile_subexpression,
    "or_expression": _compile_or,
    "and_expression": _compile_and,
    "not_expression": _compile_not,
    "function_expression": _compile_function,
    "literal": _compile_literal,
    "identity": _compile_identity,
    "current": _compile_identity,
    "comparator": _compile_comparator,
}
