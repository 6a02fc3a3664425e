"""JSON Schema of what a tool takes, from the parameters of its command.

Strict gateways between agents and models take a part of JSON Schema: every property has one type, there are no
references and no alternatives, and a tool takes at least one parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..calls.fields import name_of_field
from ..language.parameters import help_without_input, is_json, is_required, is_table, to_identifier
from ..registry import PAGING

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.agents import ToolDefinition
    from ..language.shape.commands import CompiledCommand, Param, ViewDefinition

Schema = dict[str, Any]

# What every tool may take beside the parameters of its command.
FIELDS = "fields"
DRY_RUN = "dry_run"

_TYPES = {"integer": "integer", "number": "number"}
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_OF_PAGES = frozenset(PAGING) - {"limit", "page-token"}
_PAGING_HELP = {"limit": "how many items", "page-token": "next of the previous answer"}
_MOST_FIELDS = 12


def offered(command: CompiledCommand, tool: ToolDefinition | None = None) -> dict[str, Param]:
    """The parameters that a tool takes, by the names it takes them under.

    A path is a file of this machine, and what fills pages is said by `limit` and by the answer's `next`.
    """
    params = tool.get("params") if tool else None
    fixed = tool.get("values", {}) if tool else {}
    chosen = None if params is None else {*params, *PAGING}
    found: dict[str, Param] = {}
    for param in command.get("params", []):
        name = str(param["name"])
        is_of_pages = bool(command.get("pages")) and name in _OF_PAGES
        is_fixed = name in fixed and name not in (params or ())  # what is offered too has a default
        hidden = param.get("hidden") or is_fixed or param.get("type") == "path" or is_of_pages
        taken = command["safety"] == "read" and "view" in command and to_identifier(name) == FIELDS
        if not hidden and not taken and (chosen is None or name in chosen):
            found[to_identifier(name)] = param
    return found


def input_schema(
    catalog: Catalog,
    command: CompiledCommand,
    params: Mapping[str, Param],
    view: ViewDefinition | None,
    in_words: Callable[[str], str],
) -> Schema:
    """`in_words` puts what is said of a parameter in the words of tools."""
    properties = {name: _property(param, in_words(_help(catalog, param))) for name, param in params.items()}
    if command["safety"] == "read" and (view is not None or "builtin" not in command):
        properties[FIELDS] = {**_TEXTS, "description": _fields_help(view)}
    if command["safety"] in ("write", "destroy"):
        properties[DRY_RUN] = {"type": "boolean", "description": "only show what would be sent"}
    required = [name for name, param in params.items() if is_required(param)]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _property(param: Param, help: str) -> Schema:
    schema = _typed(param)
    return {**schema, "description": help} if help else schema


def _typed(param: Param) -> Schema:
    one: Schema = _TEXT
    if param.get("kind") == "flag":
        return {"type": "boolean"}
    if is_table(param):
        return {"type": "object", "additionalProperties": _TEXT}
    if is_json(param):
        return {"type": "object"}
    if "choices" in param:
        one = {"type": "string", "enum": list(param["choices"])}
    elif param.get("type") in _TYPES:
        one = {"type": _TYPES[param["type"]]}
    return {"type": "array", "items": one} if param.get("multiple") or param.get("split") else one


def _help(catalog: Catalog, param: Param) -> str:
    if param["name"] in PAGING:
        return _PAGING_HELP.get(param["name"], str(param.get("help", "")))
    if "help" in param:
        return help_without_input(param)
    lookup = catalog.find("lookup", param["lookup"]) if "lookup" in param else None
    if lookup is None:
        return ""
    return lookup.get("hint", "").removeprefix("give ") or lookup["title"]


def _fields_help(view: ViewDefinition | None) -> str:
    more = [name_of_field(column["name"]) for column in view["columns"] if column.get("wide")] if view else []
    if not more:
        return "answer with these fields instead, by name or path"
    return f"answer with these instead: {', '.join(more[:_MOST_FIELDS])}, or any field by name"
