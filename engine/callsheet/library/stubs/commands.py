"""Groups as classes, commands as methods: their arguments and options, and what they give."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ...language.deployment import deployment_variants
from ...language.parameters import is_json, is_required, is_table
from ...language.safety import CHANGES
from ...registry import REGISTRIES, SERVING, TALKING
from ..arguments import in_order, python_name
from .annotations import (
    ANY,
    FLAG,
    NUMBER,
    PATH,
    TABLE,
    TEXT,
    WHOLE,
    class_name,
    is_name,
    literal_annotation,
    several_annotation,
)

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog, Child
    from ...language.shape.commands import CompiledCommand, Param

_PLAIN = {"integer": WHOLE, "number": NUMBER, "path": PATH, "duration": TEXT}


def group_stubs(catalog: Catalog, words: str, name: str, own: str = "", taken: Collection[str] = ()) -> str:
    """The class of a group after those of the groups in it. `own` are its further lines, with the names `taken`."""
    below, lines = "", own
    for child in catalog.children(words):
        attribute, inside = python_name(child.name), f"{words} {child.name}".strip()
        if child.hidden or not is_name(attribute) or attribute in taken:
            continue
        if child.kind == "group":
            below += group_stubs(catalog, inside, class_name(f"{inside} commands"))
            lines += f"    {attribute}: {class_name(f'{inside} commands')}\n"
        else:
            aliases = [alias for alias in _aliases(child) if alias not in taken]
            lines += _command(catalog.get("command", inside), [attribute, *aliases])
    default = catalog.get("group", words).get("default") if words else None
    if default is not None:
        lines += _signature(catalog.get("command", f"{words} {default}"), "__call__")
    return f"{below}class {name}:\n{lines or '    ...'}\n"


def _aliases(child: Child) -> list[str]:
    return [name for name in map(python_name, child.aliases) if is_name(name)]


def _command(command: CompiledCommand, names: list[str]) -> str:
    if command.get("builtin") in SERVING | TALKING:
        return ""
    first, *others = names
    return f"    @_called\n{_signature(command, first)}" + "".join(f"    {name} = {first}\n" for name in others)


def _signature(command: CompiledCommand, name: str) -> str:
    params = [param for param in command.get("params", ()) if not param.get("hidden")]
    placed = in_order(params)
    taken = {python_name(param["name"]) for param in params}
    lines = ["self"]
    for param in placed:  # behind one that may be left out, all may be
        lines.append(_given(param, needed=not lines[-1].endswith("...")))
    several_at_end = bool(placed) and bool(placed[-1].get("multiple"))
    lines.append(f"*more: {_one(placed[-1])}" if several_at_end else "*")
    named = [_given(param, needed=True) for param in params if param not in placed]
    named += [f"yes: {FLAG} = ..."] if command["safety"] in CHANGES and "yes" not in taken else []
    named += ["input: str = ..."] if command["safety"] == "local" and "input" not in taken else []
    lines += sorted(named, key=lambda line: line.endswith("..."))
    if lines[-1] == "*":
        lines.pop()
    return f"    def {name}({', '.join(lines)}) -> {_result(command)}:\n        {_help(command)}\n"


def _help(command: CompiledCommand) -> str:
    return repr(command["help"])


def _given(param: Param, *, needed: bool) -> str:
    name, type = python_name(param["name"]), _type(param)
    if needed and is_required(param):
        return f"{name}: {type}"
    return f"{name}: {type} = ..." if param.get("kind") == "flag" else f"{name}: {type} | None = ..."


def _type(param: Param) -> str:
    if param.get("kind") == "flag":
        return FLAG
    if is_table(param):
        return f"{TABLE} | {several_annotation('str')}"
    if is_json(param):
        return ANY
    return several_annotation(_one(param)) if param.get("multiple") or param.get("split") else _one(param)


def _one(param: Param) -> str:
    words = REGISTRIES[param["choices_of"]] if "choices_of" in param else param.get("choices")
    if words is not None:
        return literal_annotation(words)
    return _PLAIN.get(str(param.get("type")), TEXT)


def _result(command: CompiledCommand) -> str:
    if command.get("pages") and command["safety"] not in CHANGES:
        return "_Rows"
    is_one = command["safety"] == "read" and "view" in command and "builtin" not in command and not _is_varied(command)
    return "_Record" if is_one else ANY


def _is_varied(command: CompiledCommand) -> bool:
    """Whether what it gives depends on what it is given, on any deployment."""
    for here in (command, *deployment_variants(command).values()):
        steps = here.get("step") or [{}]
        if {"convert", "result", "items"} & here.keys() or {"each", "when", "value", "save"} & steps[-1].keys():
            return True
    return False
