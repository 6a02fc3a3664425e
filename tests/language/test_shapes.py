"""The shapes of definitions, profiles and credentials: no key without a reader, no reader without a key."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints

from callsheet.language import shape
from callsheet.language.shape.base import own_keys
from callsheet.language.shape.commands import CompiledCommand
from callsheet.language.shape.rest import CompiledOperation
from callsheet.registry import REGISTRIES
from callsheet.sites import credentials as record
from callsheet.sites.profiles import validate
from support.places import ROOT

ENGINE = ROOT / "engine" / "callsheet"
MODULES = [import_module(f"{shape.__name__}.{found.name}") for found in pkgutil.iter_modules(shape.__path__)]
SHAPES: dict[str, Any] = {
    name: value
    for module in (*MODULES, validate, record)
    for name, value in vars(module).items()
    if isinstance(value, type)
    and issubclass(value, dict)
    and hasattr(value, "__total__")
    and value.__module__.startswith("callsheet.")
    and name != "Shape"
}


@cache
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(ENGINE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(ENGINE.rglob("*.py"))
        if "shape" not in path.relative_to(ENGINE).parts
    }


@cache
def keys_of(name: str) -> set[str]:
    return set(get_type_hints(SHAPES[name])) - {"__pydantic_config__"}


@cache
def texts() -> set[str]:
    """Every text of the engine's code, and of what makes the pages, that could name a key; a tuple's field is one."""
    pages = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "scripts").glob("reference*.py")]
    nodes = [node for tree in (*trees().values(), *pages) for node in ast.walk(tree)]
    fields = {
        field.target.id
        for node in nodes
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }
    return fields | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_every_key_is_read_somewhere() -> None:
    assert [f"{name}: {key}" for name in sorted(SHAPES) for key in keys_of(name) if key not in texts()] == []


def annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """The parameters and variables of a function that are declared to be one shape."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    pairs = [(each.arg, each.annotation) for each in arguments]
    pairs += [
        (node.target.id, node.annotation)
        for node in ast.walk(function)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    found = {}
    for name, annotation in pairs:
        words = ast.unparse(annotation).removesuffix(" | None").rpartition(".")[2] if annotation else ""
        if words in SHAPES:
            found[name] = words
    return found


def keys_read(function: ast.AST) -> Iterator[tuple[str, str]]:
    """`x["key"]`, `x.get("key")` and `"key" in x`, as (x, key)."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                yield name, key
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *_]
            ):
                yield name, key
            case ast.Compare(
                left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]
            ):
                yield name, key
            case _:
                pass


def test_every_key_that_is_read_exists() -> None:
    """mypy sees most of it; of `.get` with a key that no shape has it only says that the value is an object."""
    wrong, looked_at = [], 0
    for path, tree in trees().items():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            shapes = annotated(function)
            for name, key in keys_read(function):
                if name in shapes:
                    looked_at += 1
                    if key not in keys_of(shapes[name]):
                        wrong.append(f"{path}: {function.name}: {shapes[name]} has no {key!r}")
    assert wrong == []
    assert looked_at > 150


def test_every_key_that_is_read_off_a_table_exists() -> None:
    """`definition.table` is of the shape of its kind, which only a function that says so tells the type checker."""
    kinds = [
        *(kind for kind in {**shape.KINDS, **shape.PARTS}.values() if isinstance(kind, type)),
        CompiledCommand,
        CompiledOperation,
    ]
    known = {key for kind in kinds for key in get_type_hints(kind)}
    known |= {"$schema", "properties"}  # of a JSON Schema
    read = {
        (path, node.lineno, key)
        for path, tree in trees().items()
        if path.startswith(("language/", "catalog/"))
        for node in ast.walk(tree)
        if (key := key_read_off_a_table(node)) is not None
    }
    assert {place for place in read if place[2] not in known} == set()
    assert len(read) > 40


def key_read_off_a_table(node: ast.AST) -> str | None:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="table"), slice=ast.Constant(value=str(key))):
            return key
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(attr="table"), attr="get"), args=[ast.Constant(value=str(key)), *_]
        ):
            return key
        case _:
            return None


def test_every_kind_is_typed_by_its_shape() -> None:
    """Each kind is one attribute of the catalog. Its type is the kind's shape, which compiling may have added to."""
    typed: dict[str, str] = {}
    for node in ast.walk(trees()["catalog/records.py"]):
        match node:
            case ast.AnnAssign(
                annotation=ast.Subscript(value=ast.Name(id="Kind"), slice=ast.Name(id=shown)),
                value=ast.Call(args=[ast.Constant(value=str(kind))]),
            ):
                assert kind not in typed, f"{kind} has two attributes"
                typed[kind] = shown
    assert typed.keys() == {*shape.KINDS, *shape.PARTS}
    told = {kind: getattr(declared, "__name__", kind) for kind, declared in {**shape.KINDS, **shape.PARTS}.items()}
    others = {kind for kind, name in typed.items() if name not in (told[kind], f"Compiled{kind.title()}")}
    assert others == {"auth", "schema"}  # annotated: with the keys of registries, and as a JSON Schema


def test_every_rule_about_keys_is_in_use_and_names_keys_that_there_are() -> None:
    stated = {name: rules for module in MODULES for name, rules in getattr(module, "RULES", {}).items()}
    assert stated == shape.RULES
    of_entries = {key for kind in ("handler", "scheme") for name in REGISTRIES[kind] for key in own_keys(kind, name)}
    for name, rules in stated.items():
        for rule in rules:
            assert {rule.having, *rule.needs, *rule.without} <= keys_of(name) | of_entries, f"{name}: {rule}"
