"""Whether groups and commands make a tree, and arguments and options can be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import did_you_mean
from ..load import Definition, Definitions
from ..locate import Path

Problems = Iterator[tuple[Path, str]]

HELP = ("help", "h")


def place_problems(definitions: Definitions, definition: Definition) -> Problems:
    """Every word is one, the words before the last are a group, and nothing else is called the same."""
    id = definition.id
    if id.split(" ") != id.split() or not id:
        yield (), "the id must be words with single spaces between them"
        return
    parent = id.rpartition(" ")[0]
    if parent and ("group", parent) not in definitions:
        groups = [name for of, name in definitions if of == "group"]
        yield (), f"no group {parent!r}{did_you_mean(parent, groups)}"
    if definition.kind == "command" and ("group", id) in definitions:
        yield (), f"a group is called {id!r} as well"


def default_problems(definitions: Definitions, group: Definition) -> Problems:
    """The default of a group is one of its own commands."""
    default, under = group.table.get("default"), f"{group.id} "
    names = [id.removeprefix(under) for kind, id in definitions if kind == "command" and id.startswith(under)]
    if default is not None and default not in names:
        yield ("default",), f"no command {under + default!r}{did_you_mean(default, names)}"


def option_problems(_: Definitions, definition: Definition) -> Problems:
    """No two share a name, none takes the one of the help page, and at most the last argument is a list."""
    key = "params" if definition.kind == "command" else "options"
    seen = set(HELP)
    listed = ""
    for index, param in enumerate(definition.table.get(key, ())):
        for name in _names(param):
            if name in seen:
                yield (key, index), f"{name!r} is taken by {'the help page' if name in HELP else 'an earlier one'}"
            if " " in name:
                yield (key, index), f"{name!r}: a name is one word"
            seen.add(name)
        if param.get("kind") == "argument":
            if listed and param.get("multiple"):
                yield (key, index), f"only one argument can be a list, and {listed!r} is one"
            listed = param["name"] if param.get("multiple") else listed


def _names(param: dict[str, Any]) -> list[str]:
    short = [param["short"]] if "short" in param else []
    return [param["name"], *short, *param.get("also", ())]
