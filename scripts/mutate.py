"""How many planted faults the tests find: `python3 scripts/mutate.py client --sample 150 --seed 1`.

Each mutant changes one thing in one module of a package: a comparison, a condition, a number, an operator, a result,
or a statement that is left out. It dies when one of the package's tests fails. Texts are not changed. The work is done
in a copy of the project, so the checkout may change meanwhile. A first run of the tests tells which of them reach which
line; a mutant meets those first, the quickest ahead. One that survives them meets all tests of its package.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from environment import ROOT, ready

# The tests that mirror a package, and those of the packages above that lean on it most.
TESTS = {
    "client": ["tests/client", "tests/cli/test_op.py"],
    "sites": ["tests/sites", "tests/cli/test_config.py", "tests/cli/test_auth.py", "tests/cli/test_init.py"],
    "listener": ["tests/listener"],
    "language": ["tests/language", "tests/catalog", "tests/listener/test_parts.py", "tests/test_extension.py"],
    "output": ["tests/output"],
    "catalog": ["tests/catalog", "tests/language"],
    "openapi": ["tests/openapi"],
    "richtext": ["tests/richtext"],
}
SKIPPED = ("language/shape/",)  # declarations, which the type checker reads
FIRST = 40  # tests that reach a line are tried in this number before all others
MEMORY = 6 * 2**30
PLUGIN = """
import json, pathlib, coverage
times = {}
def pytest_runtest_protocol(item, nextitem):
    coverage.Coverage.current().switch_context(item.nodeid)
def pytest_runtest_logreport(report):
    times[report.nodeid] = times.get(report.nodeid, 0) + report.duration
def pytest_unconfigure(config):
    pathlib.Path("times.json").write_text(json.dumps(times))
"""
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

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


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
                parts += [returns, *made]
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
            case _:
                pass
        found |= {id(inner) for part in parts if part is not None for inner in ast.walk(part)}
    return found


def mutants_of(package: str) -> Iterator[Mutant]:
    engine = ROOT / "engine" / "callsheet"
    for path in sorted((engine / package).rglob("*.py")):
        name = path.relative_to(engine).as_posix()
        if name.startswith(SKIPPED):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        left = unmutated(tree)
        for place, node in enumerate(ast.walk(tree)):
            if id(node) not in left:
                line = getattr(node, "lineno", 0) or getattr(getattr(node, "target", None), "lineno", 0)
                for change, (what, _) in enumerate(changes(node)):
                    yield Mutant(name, line, what, place, change)


def mutated(source: str, mutant: Mutant) -> str:
    tree = ast.parse(source)
    node = next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.node)
    changes(node)[mutant.change][1]()
    return ast.unparse(ast.fix_missing_locations(tree))


def bounded() -> None:
    """A mutant that collects for ever must not take the machine's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Copy:
    """The project in a directory of its own, where tests run with a changed module."""

    def __init__(self, python: Path, home: Path, tests: list[str]) -> None:
        self.python, self.home, self.tests = python, home, tests
        home.mkdir()
        for name in (
            "engine",
            "definitions",
            "tests",
            "docs",
            "scripts",
            "pyproject.toml",
            "README.md",
            "CONTRIBUTING.md",
            "profiles.example.toml",
        ):
            source = ROOT / name
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, home / name, ignore=leave) if source.is_dir() else shutil.copy(source, home / name)
        self.environ = {**os.environ, "PYTHONPATH": str(home / "engine"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *words: str, limit: float | None = None) -> bool | None:
        """Whether the tests passed; None where they did not end in time."""
        command = [str(self.python), *words]
        with subprocess.Popen(
            command, cwd=self.home, env=self.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=bounded,  # noqa: PLW1509 - nothing else runs in the new process
        ) as process:  # fmt: skip
            try:
                return process.wait(limit) == 0
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                return None

    def reach(self) -> tuple[dict[tuple[str, int], list[str]], dict[str, float]]:
        """Which tests reach a line, the quickest first, and how long each takes."""
        import coverage

        (self.home / "reach.py").write_text(PLUGIN, encoding="utf-8")
        environ, self.environ = (
            self.environ,
            {**self.environ, "PYTHONPATH": f"{self.home / 'engine'}{os.pathsep}{self.home}"},
        )
        source = f"--source={self.home / 'engine' / 'callsheet'}"
        passed = self.run(
            "-m", "coverage", "run", source, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reach", *self.tests
        )
        self.environ = environ
        if not passed:
            raise SystemExit("the tests fail without a mutant: repair them first")
        times: dict[str, float] = json.loads((self.home / "times.json").read_text(encoding="utf-8"))
        data = coverage.CoverageData(str(self.home / ".coverage"))
        data.read()
        found: dict[tuple[str, int], list[str]] = {}
        for file in data.measured_files():
            name = Path(file).relative_to(self.home / "engine" / "callsheet").as_posix()
            for line, tests in data.contexts_by_lineno(file).items():
                found[name, line] = sorted((test for test in tests if test), key=lambda test: times.get(test, 0.0))
        return found, times

    def _rounds(self, tests: list[str], times: dict[str, float], *, quick: bool) -> Iterator[tuple[list[str], float]]:
        """What is run one after another, and how long each may take: a mutant that makes a loop endless dies too."""
        first = tests[:FIRST]
        if first:
            yield first, 60 + 5 * sum(times.get(test, 0.0) for test in first)
        if not (first and quick):
            yield self.tests, 60 + 3 * sum(times.values())

    def survives(self, mutant: Mutant, tests: list[str], times: dict[str, float], *, quick: bool) -> bool:
        path = self.home / "engine" / "callsheet" / mutant.path
        source = path.read_text(encoding="utf-8")
        path.write_text(mutated(source, mutant), encoding="utf-8")
        try:
            return all(
                self.run("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *some, limit=limit)
                for some, limit in self._rounds(tests, times, quick=quick)
            )
        finally:
            path.write_text(source, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=sorted(TESTS))
    parser.add_argument("--sample", type=int, default=150, help="mutants that are tried, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at the same time")
    parser.add_argument("--quick", action="store_true", help="only the tests that reach the line")
    parser.add_argument("--only", help="only modules whose path contains this")
    asked = parser.parse_args()
    python = ready("dev")
    if Path(sys.executable).resolve() != python.resolve() and Path(sys.prefix) != python.parent.parent:
        os.execv(python, [str(python), *sys.argv])
    mutants = [mutant for mutant in mutants_of(asked.package) if (asked.only or "") in mutant.path]
    drawn = random.Random(asked.seed).sample(mutants, min(asked.sample or len(mutants), len(mutants)))
    with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
        copies: SimpleQueue[Copy] = SimpleQueue()
        first = Copy(python, Path(directory) / "0", TESTS[asked.package])
        reached, times = first.reach()
        copies.put(first)
        for number in range(1, asked.jobs):
            copies.put(Copy(python, Path(directory) / str(number), TESTS[asked.package]))
        print(f"{len(mutants)} mutants in {asked.package}, {len(drawn)} drawn, {len(times)} tests", flush=True)

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                survives = copy.survives(mutant, reached.get((mutant.path, mutant.line), []), times, quick=asked.quick)
            finally:
                copies.put(copy)
            if survives:
                print(f"survived: {mutant}", flush=True)
            return survives

        with ThreadPoolExecutor(asked.jobs) as pool:
            alive = sum(pool.map(tried, drawn))
    died = len(drawn) - alive
    print(f"{asked.package}: {died} of {len(drawn)} mutants died, {100 * died / len(drawn):.0f} %")


if __name__ == "__main__":
    main()
