"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "engine" / "callsheet"
MODULES = sorted(PACKAGE.rglob("*.py"))

DATA_WORDS = re.compile(
    r"jira|confluence|atlassian|servicedesk|service desk|\bcanvas\b|instructure|github|stripe"
    r"|/rest/|/wiki/|x-lms|grade_change|submission_created|getIssue",
    re.IGNORECASE,
)
# What a start may not load: each costs more than the rest of it together.
SLOW = [
    "asyncio",
    "cryptography",
    "dataclasses",
    "httpx",
    "jmespath",
    "jq",
    "jsonschema",
    "jwt",
    "keyring",
    "markdown_it",
    "pathlib",
    "platformdirs",
    "pydantic",
    "pydantic_settings",
    "tomlkit",
    "tomllib",
    "typing_extensions",
    "uvicorn",
    "wcwidth",
    "yaml",
    "logging",
    "urllib.request",
]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_product_path_or_event_stands_in_engine_code(path: Path) -> None:
    found = [line for line in path.read_text(encoding="utf-8").splitlines() if DATA_WORDS.search(line)]
    assert found == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_has_one_subject_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 320
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {node.name: length for node in functions if (length := (node.end_lineno or 0) - node.lineno) > 50}
    assert long == {}


STARTS = [
    ["suite", "--help"],
    ["suite", "op", "--help"],
    ["suite", "op", "search", "sprint"],
    ["suite", "op", "describe", "getIssue"],
    ["suite", "op", "list"],
    ["suite", "completion", "bash"],
    ["lms", "--help"],
    ["lms", "version"],
]


def loaded(arguments: list[str], environ: dict[str, str] | None = None) -> set[str]:
    program = (
        "import sys; from callsheet.main import run; code = run(sys.argv[1], sys.argv[2:]); "
        "print(code, *sys.modules, file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-I", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", STARTS, ids=" ".join)
def test_a_start_loads_nothing_slow(arguments: list[str]) -> None:
    loaded([*arguments[:1], "version"])  # compiles the catalog when that is still to be done
    assert sorted(loaded(arguments).intersection(SLOW)) == []


def order() -> list[str]:
    """The modules in the order of docs/decisions.md."""
    text = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    section = text.partition("## Modules and their order")[2].partition("\n## ")[0]
    listed = next(block for block in section.split("\n\n") if " · " in block)
    return re.findall(r"[a-z_]+", listed)


def imported(path: Path) -> set[str]:
    """First parts of the engine's own modules that a module imports when it runs, wherever in it the import stands."""
    package = path.relative_to(PACKAGE).parts[:-1]
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checked = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    only_types = {id(node) for block in checked for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            above = package[: len(package) - node.level + 1]
            full = [*above, *(node.module or "").split(".")] if node.module else [*above]
            found |= {full[0]} if full else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("callsheet"):
            found.add((node.module or "").split(".")[1])
    return found - {"__version__"}


def test_the_order_of_modules_names_each_of_them_once() -> None:
    there = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} - {"__init__", "__main__"}
    assert sorted(order()) == sorted(there)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__main__":
        return
    places = {name: place for place, name in enumerate(order())}
    place = places.get(own, -1)
    assert [name for name in imported(path) if name != own and places[name] >= place] == []
