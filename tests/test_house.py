"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import builtins
import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from callsheet import registry
from support.places import ROOT
from support.slow_modules import SLOW

PACKAGE = ROOT / "engine" / "callsheet"
MODULES = sorted(PACKAGE.rglob("*.py"))

DATA_WORDS = re.compile(
    r"jira|confluence|atlassian|servicedesk|service desk|\bcanvas\b|instructure|github|stripe"
    r"|/rest/|/wiki/|x-lms|grade_change|submission_created|getIssue",
    re.IGNORECASE,
)


@functools.cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """All of a module's syntax, read once for all rules; each rule is one test over all modules."""
    return [*ast.walk(ast.parse(text(path)))]


def teardown_module() -> None:
    nodes.cache_clear()


def of_each(rule: Callable[[Path], object]) -> dict[str, object]:
    """What a rule finds wrong, by module."""
    return {str(path.relative_to(PACKAGE)): found for path in MODULES if (found := rule(path))}


def test_no_product_path_or_event_stands_in_engine_code() -> None:
    assert of_each(lambda path: [line for line in text(path).splitlines() if DATA_WORDS.search(line)]) == {}


STARTS = [
    ["suite", "--help"],
    ["suite", "op", "--help"],
    ["suite", "op", "search", "sprint"],
    ["suite", "op", "describe", "getIssue"],
    ["suite", "op", "list"],
    ["suite", "completion", "bash"],
    ["lms", "--help"],
    ["lms", "version"],
    ["callsheet", "--help"],
]


def loaded(arguments: list[str], environ: dict[str, str]) -> set[str]:
    program = (
        "import sys; from callsheet.cli.main import run; code = run(sys.argv[1], sys.argv[2:]); "
        "print(code, *sys.modules, file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-I", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", STARTS, ids=" ".join)
def test_a_start_loads_nothing_slow(arguments: list[str], cache: Path) -> None:
    environ = {**os.environ, "CALLSHEET_CACHE": str(cache)}
    loaded([*arguments[:1], "version"], environ)  # compiles the catalog when that is still to be done
    slow = SLOW if "--help" in arguments else [*SLOW, "locale"]  # click translates the headings of a help page
    assert sorted(loaded(arguments, environ).intersection(slow)) == []


@pytest.mark.parametrize(
    ("arguments", "typed"), [(["suite", "op", "search", "sprint"], None), (["suite"], "suite sprints get --board 3 ")]
)
def test_a_start_compiles_no_regular_expression_that_it_may_not_need(
    arguments: list[str], typed: str | None, tmp_path: Path, cache: Path
) -> None:
    """Compiling them took a tenth of it. `patterns.lazy_pattern` compiles what is used."""
    asked = {"_SUITE_COMPLETE": "bash", "COMP_LINE": typed, "SUITE_COMPLETION": "off"} if typed else {}
    site = {"SUITE_BASE_URL": "http://127.0.0.1:9", "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "none"}
    environ = {**os.environ, **site, **asked, "CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
    loaded(arguments, environ)  # after a change of a definition the first start compiles the catalog, with more modules
    modules = loaded(arguments, environ)
    assert sorted(modules.intersection([*SLOW, "locale", "zipfile"])) == []
    early = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in MODULES
        if ".".join(("callsheet", *dotted(path))) in modules
        for statement in ast.parse(text(path)).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    ]
    assert early == []


def order() -> list[str]:
    """The packages in the order of docs/architecture.md."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Packages and their order")[2].partition("\n## ")[0]
    listed = next(block for block in section.split("\n\n") if " · " in block)
    return re.findall(r"[a-z_]+", listed)


def dotted(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


NAMES = {dotted(path): path for path in MODULES}


def imported(path: Path) -> set[tuple[str, ...]]:
    """The engine's own modules that a module imports, wherever in it the import stands, types too."""
    own = dotted(path)
    package = own if path.name == "__init__.py" else own[:-1]
    found: set[tuple[str, ...]] = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*package[: len(package) - node.level + 1], *(node.module or "").split(".")) if node.module else None
            base = base if base is not None else package[: len(package) - node.level + 1]
            for alias in node.names:
                full = (*base, alias.name)
                found.add(full if full in NAMES else base)
    return found - {own, ()}


@functools.cache
def imports() -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    return {dotted(path): imported(path) for path in MODULES}


def test_the_order_of_packages_names_each_of_them_once() -> None:
    there = {name[0] for name in NAMES if name} - {"__main__"}
    assert sorted(order()) == sorted(there)


def built_in_names_that_are_hidden(path: Path) -> list[str]:
    """Python 3.12.1 cannot tell them apart where a comprehension has the name of a function that is called."""
    found = []
    for function in nodes(path):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [*ast.walk(function)]
            targets = [each.target for each in inside if isinstance(each, ast.comprehension)]
            bound = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            called = {each.func.id for each in inside if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
            found += [f"{function.name}: {name}" for name in sorted(bound & called & set(dir(builtins)))]
    return found


def test_no_comprehension_hides_a_function_that_is_called_beside_it() -> None:
    assert of_each(built_in_names_that_are_hidden) == {}


def test_imports_point_one_way() -> None:
    places = {name: place for place, name in enumerate(order())}

    def upward(path: Path) -> list[tuple[str, ...]]:
        own = dotted(path)
        if own in {(), ("__main__",)}:
            return []
        return [name for name in imports()[own] if name[0] != own[0] and places[name[0]] >= places[own[0]]]

    assert of_each(upward) == {}


def parts_of(package: tuple[str, ...]) -> dict[str, set[str]]:
    """Which parts of a package import which other parts of it. `__init__` is the package's face: a part of its own."""
    depth = len(package)
    graph: dict[str, set[str]] = {}
    for own, others in imports().items():
        if own[:depth] != package:
            continue
        part = own[depth] if len(own) > depth else "__init__"
        named = {other[depth] if len(other) > depth else "__init__" for other in others if other[:depth] == package}
        graph.setdefault(part, set()).update(named - {part})
    return graph


PACKAGES = sorted({dotted(path) for path in MODULES if path.name == "__init__.py"})


def in_circles(package: tuple[str, ...]) -> dict[str, list[str]]:
    """The parts that import each other, and which of them each imports."""
    left = parts_of(package)
    while free := [part for part, others in left.items() if not others & left.keys()]:
        left = {part: others for part, others in left.items() if part not in free}
    return {part: sorted(others & left.keys()) for part, others in left.items()}


def test_no_package_has_a_circle_inside() -> None:
    assert {".".join(package): found for package in PACKAGES if (found := in_circles(package))} == {}


def test_no_two_classes_have_the_same_name() -> None:
    """One name, one meaning. What a module keeps to itself may be called as it likes."""
    named: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(text(path)).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}


def absolute_imports(path: Path) -> list[str]:
    return [
        ast.unparse(node)
        for node in nodes(path)
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "callsheet")
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "callsheet" for alias in node.names))
    ]


def test_the_own_package_is_imported_relatively() -> None:
    """So that it can be vendored under another name."""
    assert of_each(absolute_imports) == {}


def test_registries_name_the_engines_modules_relatively() -> None:
    named = {entry for entries in registry.REGISTRIES.values() for entry in entries.values()}
    assert {entry for entry in named if not entry.startswith(".")} == set()
    assert all(registry.resolve_entry(entry) for entry in named if "mcp" not in entry and "jetstream" not in entry)


def _is_message(node: ast.AST) -> bool:
    """`error.message`, also in other case or stripped, and `str(error)`."""
    match node:
        case ast.Attribute(attr="message" | "msg" | "args"):
            return True
        case ast.Call(func=ast.Attribute(value=inner)):
            return _is_message(inner)
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id="error")]):
            return True
        case _:
            return False


def _judges_a_message(node: ast.AST) -> bool:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()], comparators=[right]):
            return _is_message(left) or _is_message(right)
        case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith")):
            return _is_message(value)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re"), attr="search" | "match" | "fullmatch"), args=[_, text]
        ):
            return _is_message(text)
        case _:
            return False


def test_nothing_is_decided_by_the_words_of_an_error() -> None:
    """The class of an error, or an attribute of it, says what it is; its words may change."""
    deciding = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.expr) and _judges_a_message(node)
    ]
    assert deciding == []


UNUSUAL = re.compile(r"(?<!\bthere )\b(is|are) no (?!longer\b|more\b)[a-z(]|\bis none of\b|\bso many\b|\bleft away\b")


def unusual_messages(path: Path) -> list[str]:
    docstrings = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]
    return [each for each in texts if UNUSUAL.search(each)]


def test_messages_are_in_plain_english() -> None:
    """`x is not a valid address`, where a literal mind would write `x is no address`."""
    assert of_each(unusual_messages) == {}


def test_help_is_in_plain_english() -> None:
    unusual = [
        f"{path.name}: {each}"
        for path in sorted((ROOT / "definitions").rglob("*.toml"))
        if "operations" not in path.parts  # the facts of documents
        for each in re.findall(r'(?:help|fail|hint|about|title) *= *"([^"]*)"', path.read_text(encoding="utf-8"))
        if UNUSUAL.search(each)
    ]
    assert unusual == []
