"""Which values beside the body a signature covers: what it does not can be changed by whoever passes a delivery on."""

from __future__ import annotations

from typing import Any

from ...language.compiled_jmespath import tree
from ...language.template import expressions

_BESIDE = ("headers", "query")


def are_signed(expression: str, signed: str) -> bool:
    """Whether all that an expression reads beside the body is part of what is signed, by the template of that."""
    covered = {part for text in expressions(signed) for part in _beside(tree(text))}
    return _beside(tree(expression)) <= covered


def _beside(node: Any) -> set[str]:
    """`headers.name` for each value that is looked at beside the payload, or `headers` where it is not plain which."""
    if not isinstance(node, dict):
        return set()
    children = node.get("children", [])
    if node["type"] == "subexpression" and all(child["type"] == "field" for child in children):
        names = [child["value"] for child in children]
        return {".".join(names[:2])} if names[0] in _BESIDE else set()
    if node["type"] == "field":
        return {node["value"]} & set(_BESIDE)
    return {part for child in children for part in _beside(child)}
