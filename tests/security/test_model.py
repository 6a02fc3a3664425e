"""Each line of docs/security.md names a test that holds it, and that test exists."""

from __future__ import annotations

import ast
import re

import pytest

from support.places import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_that_holds_it_exists(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert name in functions


def test_each_line_names_a_test() -> None:
    lines = re.findall(r"^- .*?(?=\n- |\n\n|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert len(lines) > 20
    assert [line for line in lines if not re.search(r"`tests/[\w/]+\.py::\w+`", line)] == []
