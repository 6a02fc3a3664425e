"""Types of a program for checkers of Python: the files of a stub package."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..catalog.catalog import open_catalog
from ..errors import UsageError
from ..language.load import refuse_unknown
from ..language.merge import deployment_variants
from ..language.parameters import is_json, is_required, is_table, to_identifier
from ..language.safety import CHANGES, class_of_operation
from ..openapi.definition_files import save_files
from ..registry import REGISTRIES, SERVING, TALKING
from .arguments import in_order, python_name

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog, Child
    from ..commands.context import Context, ParameterValues
    from ..language.shape.commands import CompiledCommand, Param
    from ..language.shape.rest import CompiledOperation, OperationParam


# How types are written. Every name that a stub uses has an underscore: no command or parameter is called so.


IMPORTS = """\
from collections.abc import Iterable as _Iterable, Iterator as _Iterator, Mapping as _Mapping, Sequence as _Sequence
from datetime import date as _date
from os import PathLike as _PathLike
from typing import (
    Any as _Any, Callable as _Callable, Concatenate as _Concatenate, Generic as _Generic, Literal as _Literal,
    NotRequired as _NotRequired, ParamSpec as _ParamSpec, Required as _Required, Self as _Self,
    TypedDict as _TypedDict, TypeAlias as _TypeAlias, TypeVar as _TypeVar,
)
"""
ANY, FLAG, WHOLE, NUMBER, TEXT, PATH, TABLE = "_Any", "bool", "int", "float", "_Text", "_Path", "_Table"
ALIASES = """
_Text: _TypeAlias = str | float | _date
_Path: _TypeAlias = str | _PathLike[str]
_Table: _TypeAlias = _Mapping[str, _Any]
"""
_PARTS = re.compile(r"[^0-9A-Za-z]+")


def class_name(words: str) -> str:
    """`pages labels` → `PagesLabels`, `shop.OrderLine` → `ShopOrderLine`."""
    name = "".join(part[:1].upper() + part[1:] for part in _PARTS.split(words) if part)
    return f"_{name}" if not name or name[0].isdigit() or keyword.iskeyword(name) else name


def is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def literal_annotation(values: Iterable[object]) -> str:
    """One of these, where all can be written so; else what kind they are is not said."""
    known = list(dict.fromkeys(values))
    if not known or not all(value is None or isinstance(value, str | bool | int) for value in known):
        return ANY
    return f"_Literal[{', '.join(map(repr, known))}]"


def union_type(types: Sequence[str]) -> str:
    """One of several types."""
    known = list(dict.fromkeys(types))
    return ANY if ANY in known or not known else " | ".join(known)


def several_annotation(type: str) -> str:
    """One, or as many as one likes."""
    return f"{type} | _Iterable[{type}]"


# The schemas of bodies as TypedDicts.


_SCHEMA_TYPES = {"string": "str", "integer": WHOLE, "number": NUMBER, "boolean": FLAG, "null": "None"}
_DEEPEST = 8  # of objects that no name refers to


class BodyTypes:
    """Each schema that is asked for, and those that it names, once."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._classes: dict[str, str] = {}  # name → text
        self._known: dict[str, str] = {}  # id of a schema → its type
        self.waiting: list[str] = []

    def type_of(self, id: str) -> str:
        """How a schema is named; it is written once all are known that are named."""
        if id not in self._known:
            self._known[id] = self._free_name(class_name(id))
            self.waiting.append(id)
        return self._known[id]

    def stub_text(self) -> str:
        """All that was asked for."""
        while self.waiting:
            id = self.waiting.pop()
            name, schema = self._known[id], self._schemas.get(id, {})
            if _is_table(schema):
                self._write_type(name, schema)
            else:
                self._classes[name] = f"{name}: _TypeAlias = {_quote_type(self._schema_type(schema, name, 0))}\n"
        return "".join(self._classes[name] for name in sorted(self._classes))

    def _free_name(self, name: str) -> str:
        taken = {*self._known.values(), *self._classes}
        return next(each for each in (name, *(f"{name}{number}" for number in range(2, 1000))) if each not in taken)

    def _write_type(self, name: str, schema: Mapping[str, Any], depth: int = 0) -> None:
        self._classes[name] = ""  # taken
        required = schema.get("required", ())
        members = {}
        for key, value in schema["properties"].items():
            type = self._schema_type(value, name + class_name(key), depth + 1)
            members[key] = f"_Required[{type}]" if key in required else type
        if all(is_name(key) for key in members):
            lines = "".join(f"    {key}: {type}\n" for key, type in members.items())
            self._classes[name] = f"class {name}(_TypedDict, total=False):\n{lines}"
        else:
            inner = ", ".join(f"{key!r}: {_quote_type(type)}" for key, type in members.items())
            self._classes[name] = f"{name} = _TypedDict({name!r}, {{{inner}}}, total=False)\n"

    def _schema_type(self, schema: Any, name: str, depth: int) -> str:
        if not isinstance(schema, Mapping):
            return ANY
        if "ref" in schema:
            return self.type_of(schema["ref"])
        if "enum" in schema:
            return literal_annotation(schema["enum"])
        if "const" in schema:
            return literal_annotation([schema["const"]])
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return union_type(
                    [self._schema_type(part, f"{name}{place}", depth) for place, part in enumerate(schema[key], 1)]
                )
        kinds = schema.get("type")
        listed = kinds if isinstance(kinds, list) else [kinds]
        return union_type([self._of_kind(kind, schema, name, depth) for kind in listed])

    def _of_kind(self, kind: Any, schema: Mapping[str, Any], name: str, depth: int) -> str:
        if kind == "array":
            return f"_Sequence[{self._schema_type(schema.get('items'), f'{name}Item', depth)}]"
        if kind == "object":
            if not _is_table(schema) or depth > _DEEPEST:
                return TABLE
            name = self._free_name(name)
            self._write_type(name, schema, depth)
            return name
        return _SCHEMA_TYPES.get(kind, ANY)


def _is_table(schema: Mapping[str, Any]) -> bool:
    """Whether its members are known, and no others may be."""
    alternatives = {"oneOf", "anyOf", "allOf", "ref"} & schema.keys()
    return (
        schema.get("type") == "object"
        and bool(schema.get("properties"))
        and not alternatives
        and (schema.get("additionalProperties", False) is False)
    )


def _quote_type(type: str) -> str:
    return repr(type)


# Groups as classes, commands as methods: their arguments and options, and what they give.


_PARAM_TYPES = {"integer": WHOLE, "number": NUMBER, "path": PATH, "duration": TEXT}


def group_stubs(catalog: Catalog, words: str, name: str, own: str = "", taken: Collection[str] = ()) -> str:
    """The class of a group after those of the groups in it. `own` are its further lines, with the names `taken`."""
    below, lines = "", own
    for child in catalog.children_of(words):
        attribute, inside = python_name(child.name), f"{words} {child.name}".strip()
        if child.hidden or not is_name(attribute) or attribute in taken:
            continue
        if child.kind == "group":
            below += group_stubs(catalog, inside, class_name(f"{inside} commands"))
            lines += f"    {attribute}: {class_name(f'{inside} commands')}\n"
        else:
            aliases = [alias for alias in _aliases(child) if alias not in taken]
            lines += _command_method(catalog.commands.get(inside), [attribute, *aliases])
    default = catalog.groups.get(words).get("default") if words else None
    if default is not None:
        lines += _command_signature(catalog.commands.get(f"{words} {default}"), "__call__")
    return f"{below}class {name}:\n{lines or '    ...'}\n"


def _aliases(child: Child) -> list[str]:
    return [name for name in map(python_name, child.aliases) if is_name(name)]


def _command_method(command: CompiledCommand, names: list[str]) -> str:
    if command.get("builtin") in SERVING | TALKING:
        return ""
    first, *others = names
    return f"    @_called\n{_command_signature(command, first)}" + "".join(f"    {name} = {first}\n" for name in others)


def _command_signature(command: CompiledCommand, name: str) -> str:
    params = [param for param in command.get("params", ()) if not param.get("hidden")]
    placed = in_order(params)
    taken = {python_name(param["name"]) for param in params}
    lines = ["self"]
    for param in placed:  # behind one that may be left out, all may be
        lines.append(_command_argument(param, needed=not lines[-1].endswith("...")))
    several_at_end = bool(placed) and bool(placed[-1].get("multiple"))
    lines.append(f"*more: {_one(placed[-1])}" if several_at_end else "*")
    named = [_command_argument(param, needed=True) for param in params if param not in placed]
    named += [f"yes: {FLAG} = ..."] if command["safety"] in CHANGES and "yes" not in taken else []
    named += ["input: str = ..."] if command["safety"] == "local" and "input" not in taken else []
    lines += sorted(named, key=lambda line: line.endswith("..."))
    if lines[-1] == "*":
        lines.pop()
    return f"    def {name}({', '.join(lines)}) -> {_command_result(command)}:\n        {_command_help(command)}\n"


def _command_help(command: CompiledCommand) -> str:
    return repr(command["help"])


def _command_argument(param: Param, *, needed: bool) -> str:
    name, type = python_name(param["name"]), _command_type(param)
    if needed and is_required(param):
        return f"{name}: {type}"
    return f"{name}: {type} = ..." if param.get("kind") == "flag" else f"{name}: {type} | None = ..."


def _command_type(param: Param) -> str:
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
    return _PARAM_TYPES.get(str(param.get("type")), TEXT)


def _command_result(command: CompiledCommand) -> str:
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


# Operations as methods: their parameters and bodies, and what they give.


_OPERATION_TYPES = {"integer": WHOLE, "number": NUMBER, "boolean": FLAG, "object": TABLE}


def operation_stub(id: str, operation: CompiledOperation, bodies: BodyTypes) -> str:
    """The method of an operation, inside the class of all of them."""
    lines = [_operation_argument(param) for param in operation.get("params", ()) if is_name(python_name(param["name"]))]
    taken = {python_name(param["name"]) for param in operation.get("params", ())}
    beside = {"params": TABLE, **_beside(operation, bodies)}
    needs_body = "body" in operation and "schema" in operation["body"] and not operation["body"].get("optional")
    for name, type in beside.items():
        if name not in taken:
            lines.append(f"{name}: {type}" if name == "body" and needs_body else f"{name}: {type} = ...")
    lines.sort(key=lambda line: line.endswith("..."))
    decorator = "_paged" if "paginate" in operation else "_called"
    parameters = ", ".join(["self", "*", *lines])
    return f"    @{decorator}\n    def {id}({parameters}) -> {_operation_result(operation)}: ...\n"


def _operation_argument(param: OperationParam) -> str:
    name, type = python_name(param["name"]), _operation_type(param)
    return f"{name}: {type}" if param.get("required") and "default" not in param else f"{name}: {type} | None = ..."


def _operation_type(param: Mapping[str, Any]) -> str:
    words = literal_annotation(param["enum"]) if "enum" in param else ""
    if param.get("type") == "array":
        item = param.get("items", {})
        return several_annotation(words or (_operation_type(item) if isinstance(item, Mapping) else TEXT))
    return words or _OPERATION_TYPES.get(str(param.get("type")), TEXT)


def _beside(operation: CompiledOperation, bodies: BodyTypes) -> dict[str, str]:
    found = {}
    body = operation.get("body")
    if body is not None:
        media = str(body.get("media", "application/json"))
        if "schema" in body:
            found["body"] = bodies.type_of(body["schema"])
        elif media.endswith("json"):
            found["body"] = ANY
        else:
            found["files"] = several_annotation(PATH)
    if operation.get("reply") == "binary":
        found["out"] = f"{PATH} | None"
    found["strict"] = FLAG
    if class_of_operation(operation) in CHANGES:
        found["yes"] = FLAG
    return found


def _operation_result(operation: CompiledOperation) -> str:
    if "paginate" in operation:
        return "_Rows"
    return {"none": "None", "binary": "bytes", "location": "str"}.get(str(operation.get("reply")), ANY)


# The files of a stub package, which a checker of types finds once it is installed (PEP 561).


_HEAD = "# Made by `callsheet stubs {program}`.\n"
_CALLS = """
_P = _ParamSpec("_P")
_R = _TypeVar("_R")

class _Call(_Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def planned(self, *args: _P.args, **kwargs: _P.kwargs) -> list[_PlannedRequest]: ...

class _Pages(_Call[_P, _Rows]):
    def all(self, most: int | None = ..., /, *args: _P.args, **kwargs: _P.kwargs) -> _Rows: ...
    def pages(self, *args: _P.args, **kwargs: _P.kwargs) -> _Iterator[list[dict[str, _Any]]]: ...

def _called(method: _Callable[_Concatenate[_Any, _P], _R]) -> _Call[_P, _R]: ...
def _paged(method: _Callable[_Concatenate[_Any, _P], _Rows]) -> _Pages[_P]: ...

class _Things:
    def get(self, word: str, **parents: str) -> _Thing: ...
    def list(self, **parents: str) -> _Iterator[_Thing]: ...

"""
_OF_EVERY_PROGRAM = """\
    op: Operations
    def resource(self, name: {resources}) -> _Things: ...
    def command(self, words: str) -> _Call[..., _Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> _Self: ...
    def __exit__(self, *error: object) -> None: ...
"""
_TAKEN = ("op", "resource", "command", "close")
_RESULTS = (
    "from callsheet import PlannedRequest as _PlannedRequest, Record as _Record, Rows as _Rows, Thing as _Thing\n"
)
_PROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "callsheet-{project}-stubs"
version = "{version}"
description = "Types of the program {program} for callsheet"

[tool.hatch.build.targets.wheel]
packages = ["{package}-stubs"]
"""


def package_name(program: str) -> str:
    """What is imported where types are checked."""
    return f"callsheet_{to_identifier(program)}"


def stub_files(catalog: Catalog, program: str) -> dict[str, str]:
    """Text by path: a package of stubs, and what makes it installable."""
    package = package_name(program)
    return {
        f"{package}-stubs/__init__.pyi": program_stubs(catalog, program),
        f"{package}-stubs/py.typed": "",
        "pyproject.toml": _PROJECT.format(program=program, project=program, version=__version__, package=package),
    }


def program_stubs(catalog: Catalog, program: str) -> str:
    """All types of a program in one module."""
    bodies = BodyTypes(catalog.schemas.all())
    methods = [
        operation_stub(id, operation, bodies) for id, operation in catalog.operations.all().items() if is_name(id)
    ]
    own = _OF_EVERY_PROGRAM.format(
        resources=literal_annotation(catalog.resources.ids()) if catalog.resources.ids() else "str"
    )
    groups = group_stubs(catalog, "", class_name(program), own, _TAKEN)
    every = "    def __getitem__(self, id: str) -> _Pages[...]: ...\n"
    operations = f"class Operations:\n{every}{''.join(methods)}\n"
    head = _HEAD.format(program=program)
    return f"{head}{IMPORTS}{_RESULTS}{ALIASES}{_CALLS}{bodies.stub_text()}\n{operations}\n{groups}"


# `callsheet stubs PROGRAM`.


def write_stubs(context: Context, values: ParameterValues) -> None:
    """Write the types of a program as a package, over one that was written before."""
    program = values["program"]
    refuse_unknown(program, context.environ)
    target = os.path.abspath(values["to"] or f"{program}-stubs")
    package = os.path.join(target, f"{package_name(program)}-stubs")
    if os.path.lexists(target) and not os.path.isdir(package) and not _is_empty(target):
        raise UsageError(f"{target} holds something else", hint="name another directory with --to")
    if context.only_tries(f"the types of {program} would be written to {target}"):
        return
    catalog = open_catalog(program, context.environ)
    try:
        files = stub_files(catalog, program)
    finally:
        catalog.close()
    save_files(files, target)
    context.streams.out.write(f"{program}: types written to {target}\n")
    name = class_name(program)
    context.note(f"next: pip install {target}; then `from {package_name(program)} import {name}` if TYPE_CHECKING")


def _is_empty(directory: str) -> bool:
    return os.path.isdir(directory) and not os.listdir(directory)
