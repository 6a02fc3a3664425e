"""What completes an option or argument besides the ids of a kind of definition.

Each function takes the run, the values typed so far and the beginning of the word, and gives words to choose from;
whatever is broken completes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..commands.context import Context
from ..errors import CallsheetError


def aliases(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from .aliases import read_aliases

    del given, incomplete
    try:
        return list(read_aliases(context.environ))
    except CallsheetError:
        return []


def sites(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ..sites.profiles.read import site_names

    del given, incomplete
    return site_names(context.catalog, context.environ)


def parameters(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """`name=` for every parameter of the operation that was typed, then the values that it may have."""
    operation = context.catalog.find("operation", str(given.get("id")))
    if operation is None:
        return []
    name, equals, _ = incomplete.partition("=")
    params = operation.get("params", [])
    if not equals:
        parts = operation.get("body", {}).get("parts", {})
        return [f"{each}=" for each in [*(param["name"] for param in params), *parts]]
    for param in params:
        if param["name"] == name:
            values = param.get("enum", ["true", "false"] if param.get("type") == "boolean" else [])
            return [f"{name}={value}" for value in values]
    return []


def methods(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given
    return _ignoring_case([str(name) for (name,) in _column(context, "method")], incomplete)


def tags(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given
    return _ignoring_case([str(name) for (name,) in _column(context, "tag")], incomplete)


def kinds(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given, incomplete
    return list(context.catalog.kinds())


def ids(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """Of the kind that was typed."""
    return context.catalog.ids(str(given.get("kind")), incomplete)


def _column(context: Context, name: str) -> list[tuple[Any, ...]]:
    return context.catalog.query(f"SELECT DISTINCT {name} FROM operation ORDER BY {name}")  # noqa: S608


def _ignoring_case(words: list[str], incomplete: str) -> list[str]:
    """As the person began the word, so that the shell takes it for the same one."""
    rest = [(word, word[len(incomplete) :]) for word in words if word.casefold().startswith(incomplete.casefold())]
    return [incomplete + end for _, end in rest]
