"""What a distribution of the source holds."""

from __future__ import annotations

import ast
import tomllib

from support.places import ROOT

BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
# Put into every source distribution by the build itself.
ALWAYS = {"pyproject.toml", "README.md", "LICENSE", ".gitignore", "PKG-INFO"}


def named_below_root() -> set[str]:
    """The first part of every path that the tests build from the project's directory."""
    found = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.BinOp(left=ast.Name(id="ROOT"), op=ast.Div(), right=ast.Constant(value=str(name))):
                    found.add(name.partition("/")[0])
                case _:
                    pass
    return found


def test_the_source_distribution_has_all_that_its_tests_read() -> None:
    included = {*BUILD["sdist"]["include"], *ALWAYS}
    needed = named_below_root()
    assert needed >= {"engine", "definitions", "docs", "scripts"}
    assert sorted(name for name in needed - included if (ROOT / name).exists()) == []


def test_what_it_includes_exists() -> None:
    assert [name for name in BUILD["sdist"]["include"] if not (ROOT / name).exists()] == []


def test_every_page_that_another_page_links_to_is_included() -> None:
    """CONTRIBUTING is linked from the README, and the pages link each other."""
    included = {*BUILD["sdist"]["include"], *ALWAYS}
    assert [page.name for page in ROOT.glob("*.md") if page.name not in included] == []
