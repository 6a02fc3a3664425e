"""Hand corrections of imported operations say something, about something that exists."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.places import DEFINITIONS

OPERATIONS = DEFINITIONS / "suite" / "operations"
PRODUCTS = sorted(path.stem for path in OPERATIONS.glob("*.toml"))
OF_PRODUCT = pytest.mark.parametrize("product", PRODUCTS)


def kinds(path: Path) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return tables


def generated(product: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in (OPERATIONS / product).glob("*.toml"):
        found |= kinds(path).get(kind, {})
    return found


def corrections(product: str, kind: str) -> dict[str, Any]:
    return kinds(OPERATIONS / f"{product}.toml").get(kind, {})


def names(table: dict[str, Any]) -> set[str]:
    path = {piece.partition("}")[0] for piece in table["http"].split("{")[1:]}
    return path | {param["name"] for param in table.get("params", ())}


@OF_PRODUCT
def test_corrected_operations_exist(product: str) -> None:
    assert set(corrections(product, "operation")) - set(generated(product, "operation")) == set()


@OF_PRODUCT
def test_what_is_removed_is_there(product: str) -> None:
    operations = generated(product, "operation")
    for id, table in corrections(product, "operation").items():
        for part in (table, *table.get("on", {}).values()):
            removed = {param["name"] for param in part.get("params", ()) if param.get("remove")}
            assert removed - names(operations[id]) == set(), id


@OF_PRODUCT
def test_every_placeholder_of_another_path_is_a_parameter(product: str) -> None:
    operations = generated(product, "operation")
    for id, table in corrections(product, "operation").items():
        for part in table.get("on", {}).values():
            holes = {piece.partition("}")[0] for piece in part.get("http", "").split("{")[1:]}
            own = {param["name"] for param in part.get("params", ())}
            assert holes - names(operations[id]) - own == set(), id


@OF_PRODUCT
def test_corrected_schemas_exist_or_are_whole_and_used(product: str) -> None:
    used = str(corrections(product, "operation"))
    for id, table in corrections(product, "schema").items():
        assert id in generated(product, "schema") or ("type" in table and f"'{id}'" in used), id


@OF_PRODUCT
def test_no_correction_repeats_what_is_imported(product: str) -> None:
    operations = generated(product, "operation")
    for id, table in corrections(product, "operation").items():
        for key in set(table) - {"on"}:
            assert table[key] != operations[id].get(key), f"{id}.{key}"


@OF_PRODUCT
def test_every_schema_that_is_named_exists(product: str) -> None:
    schemas = {**generated(product, "schema"), **corrections(product, "schema")}

    def named(node: Any) -> Any:
        if isinstance(node, dict):
            if isinstance(node.get("ref"), str):
                yield node["ref"]
            for value in node.values():
                yield from named(value)
        elif isinstance(node, list):
            for value in node:
                yield from named(value)

    assert set(named(list(schemas.values()))) - set(schemas) == set()
    bodies = {table["body"].get("schema") for table in generated(product, "operation").values() if "body" in table}
    assert bodies - {None} - set(schemas) == set()
