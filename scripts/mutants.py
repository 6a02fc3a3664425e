"""Small faults that can be planted into a module: which there are, and a source with one of them.

Each changes one thing: a comparison, a condition, a number, an operator, a result, or a statement that is left out.
Texts are not changed, nor what has no meaning at run time or on this platform, nor what only a debugger shows.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SKIPPED = ("language/shape/",)  # declarations, which the type checker reads

COMPARED = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


class Mutant(NamedTuple):
    path: str  # below engine/callsheet
    line: int
    what: str
    node: int  # the place of the changed node in a walk of the tree
    change: int  # which of its changes
    text: str  # the line it stands in

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}   | {self.text}"


def negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def changes(node: ast.AST) -> list[tuple[str, Callable[[], None]]]:
    """What can be changed about a node: in words, and a function that does it."""

    def put(name: str, value: Any) -> Callable[[], None]:
        return lambda: setattr(node, name, value)

    def turn(kind: type[ast.AST]) -> Callable[[], None]:
        return lambda: setattr(node, "__class__", kind)

    match node:
        case ast.Compare(ops=ops):
            swapped = [
                [COMPARED[type(op)]() if at == place else op for at, op in enumerate(ops)] for place in range(len(ops))
            ]
            return [
                (f"{type(op).__name__} -> {type(new[at]).__name__}", put("ops", new))
                for at, (op, new) in enumerate(zip(ops, swapped, strict=True))
            ]
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            return [(f"{type(op).__name__} -> {type(other).__name__}", put("op", other))]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [("not taken away", put("operand", negated(operand)))]
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return (
                []
                if isinstance(test, ast.UnaryOp | ast.Compare)
                else [("condition negated", put("test", negated(test)))]
            )
        case ast.comprehension(ifs=[_, *_]):
            return [("filter taken away", put("ifs", []))]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in COMPUTED:
            new = COMPUTED[type(op)]()
            return [(f"{type(op).__name__} -> {type(new).__name__}", put("op", new))]
        case ast.Constant(value=bool(value)):
            return [(f"{value} -> {not value}", put("value", not value))]
        case ast.Constant(value=int(value)) | ast.Constant(value=float(value)):
            return [(f"{value} -> {value + 1}", put("value", value + 1))]
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return [("result -> None", put("value", ast.Constant(None)))]
        case ast.Expr(value=ast.Call() | ast.Await() | ast.YieldFrom() as call):
            return [(f"left out: {ast.unparse(call)[:60]}", put("value", ast.Constant(None)))]
        case ast.Raise(exc=exc):
            return [(f"not raised: {ast.unparse(exc)[:60] if exc else 'again'}", turn(ast.Pass))]
        case ast.Break():
            return [("break -> continue", turn(ast.Continue))]
        case ast.Continue():
            return [("continue -> break", turn(ast.Break))]
        case _:
            return []


def elsewhere(node: ast.If | ast.IfExp) -> list[ast.AST]:
    """The branch that another platform takes, where the condition asks for one."""
    name = ast.unparse(node.test).partition(" ")[0]
    if not (isinstance(node.test, ast.Compare) and name in {"sys.platform", "os.name"}):
        return []
    branches = [part if isinstance(part, list) else [part] for part in (node.orelse, node.body)]
    return list(branches[not eval(ast.unparse(node.test), {"os": os, "sys": sys})])  # the project's own condition


def unmutated(tree: ast.Module) -> set[int]:
    """Nodes without a meaning at run time: annotations, what only the type checker reads, protocols, slots."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        match node:
            case (
                ast.FunctionDef(returns=returns, decorator_list=made)
                | ast.AsyncFunctionDef(returns=returns, decorator_list=made)
            ):
                parts += [returns, *made, *(node.body if node.name == "__repr__" else [])]
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                parts.append(annotation)
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                parts += [node.test, *body]
                found.add(id(node))
            case ast.ClassDef(bases=bases) if any(ast.unparse(base).startswith("Protocol") for base in bases):
                parts.append(node)
            case ast.ClassDef(decorator_list=[_, *_] as made):
                parts += made
            case ast.Assign(targets=[ast.Name(id="__slots__")]):
                parts.append(node)
            case ast.If() | ast.IfExp():
                parts += elsewhere(node)
            case _:
                pass
        found |= {id(inner) for part in parts if part is not None for inner in ast.walk(part)}
    return found


def mutants_of(engine: Path, package: str) -> Iterator[Mutant]:
    for path in sorted((engine / package).rglob("*.py")):
        name = path.relative_to(engine).as_posix()
        if name.startswith(SKIPPED):
            continue
        source = path.read_text(encoding="utf-8")
        tree, lines = ast.parse(source), source.splitlines()
        left = unmutated(tree)
        for place, node in enumerate(ast.walk(tree)):
            if id(node) not in left:
                line = getattr(node, "lineno", 0) or getattr(getattr(node, "target", None), "lineno", 0)
                for change, (what, _) in enumerate(changes(node)):
                    yield Mutant(name, line, what, place, change, lines[line - 1].strip())


def mutated(source: str, mutant: Mutant) -> str:
    tree = ast.parse(source)
    node = next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.node)
    changes(node)[mutant.change][1]()
    return ast.unparse(ast.fix_missing_locations(tree))


class Scope(NamedTuple):
    """Lines of a function, decorators included; what stands before `body` runs when it is defined."""

    first: int
    body: int
    last: int


def scopes(source: str) -> list[Scope]:
    """Every function, inner ones after outer ones."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(made.lineno for made in node.decorator_list)])
            found.append(Scope(first, node.body[0].lineno, node.end_lineno or 0))
        elif isinstance(node, ast.Lambda):
            found.append(Scope(node.lineno, node.lineno, node.end_lineno or 0))
    return sorted(found)
