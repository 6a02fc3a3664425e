"""The built-in views: each is what something is printed with."""

from __future__ import annotations

import ast
import os
from typing import Any

import pytest

from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.merge import deployment_variants
from callsheet.registry import BUILTINS
from support.places import ROOT

ENGINE = ROOT / "engine"


def named_by_builtins() -> set[str]:
    """Every text of the packages with builtin commands: what they print has a view of that name, or not."""
    modules = {entry.partition(":")[0].removeprefix(".").replace(".", "/") for entry in BUILTINS.values()}
    return {
        node.value
        for package in {(ENGINE / "callsheet" / f"{module}.py").parent for module in modules}
        for path in package.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("program", ["suite", "lms"])
def test_every_view_is_used(program: str) -> None:
    definitions = load_definitions(definition_layers(program, {"CALLSHEET_HOME": os.devnull}, own=False))
    tables: list[dict[str, Any]] = []
    for (kind, _), definition in definitions.items():
        if kind in ("command", "operation", "resource"):
            tables += [definition.table, *deployment_variants(definition.table).values()]
    used = {table["view"] for table in tables if "view" in table} | named_by_builtins()
    views = {id for kind, id in definitions if kind == "view"}
    assert views
    assert sorted(views - used) == []
