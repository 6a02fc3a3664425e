"""Whether a command does something with each of its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ..definition import Definition, Definitions
from ..identifier import to_identifier
from .commands import ALWAYS
from .problem import Finding, Findings

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param

_WORD = re.compile(r"[A-Za-z_]\w*")
_REFERENCES = {"lookup": "lookup", "suggest": "lookup", "assign": "assignment"}  # what sees the command's names too
_NO_EXPRESSIONS = frozenset(
    {"name", "help", "about", "examples", "aliases", "metavar", "choices", "default", "call", "view"}
)


def unused_findings(definitions: Definitions, definition: Definition, *, usual: Mapping[str, Param]) -> Findings:
    """A parameter that nothing uses: mostly a misspelt name. What a builtin uses is not known here.

    `usual` are the options that lists have anyway.
    """
    table: CommandDefinition = definition.table
    params = table.get("params", ())
    if "builtin" in table or not params:
        return
    used = {*ALWAYS, *(to_identifier(param["folder"]) for param in params if "folder" in param)}
    for said in ({**table, "params": None}, *params):
        used |= set(_words(definitions, {key: said[key] for key in said if key not in _NO_EXPRESSIONS}))
    for place, param in enumerate(params):
        seen_as = {to_identifier(param["name"]), *(param[key] for key in ("front", "beside") if key in param)}
        if not seen_as & used and param["name"] not in usual and not param.get("overrides"):
            near = did_you_mean(param["name"], [other["name"] for other in params if other is not param])
            yield Finding(("params", place), f"nothing in the command uses {param['name']!r}{near}")


def _words(definitions: Definitions, value: Any) -> Iterator[str]:
    """Every word of a table's texts that could be a name in an expression: rather too many than too few."""
    if isinstance(value, str):
        yield from _WORD.findall(value)
    elif isinstance(value, list):
        for item in value:
            yield from _words(definitions, item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _words(definitions, item)
            other = definitions.get((_REFERENCES[key], item)) if key in _REFERENCES and isinstance(item, str) else None
            yield from _WORD.findall(str(other.table)) if other else ()
