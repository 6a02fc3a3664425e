"""The JSON Schema of the language, as an editor would use it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from callsheet import registry
from callsheet.language.json_schema import json_schema
from callsheet.language.shape import KINDS
from support.places import ROOT

FILES = sorted((ROOT / "definitions").rglob("*.toml"))
BROKEN = ROOT / "tests" / "cases" / "broken"
# What a schema can say of one file; references, expressions and the tree of commands need all files.
SEEN_BY_A_SCHEMA = (
    "unknown-key",
    "unknown-kind",
    "wrong-type",
    "unknown-word",
    "bad-http",
    "not-a-table",
    "two-problems",
    "unknown-name-of-the-engine",
)


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def tables(path: Path) -> Any:
    return tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "definitions")))
def test_every_definition_file_is_valid(validator: Draft202012Validator, path: Path) -> None:
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(tables(path))] == []


@pytest.mark.parametrize("name", SEEN_BY_A_SCHEMA)
def test_broken_definitions_are_not(validator: Draft202012Validator, name: str) -> None:
    assert list(validator.iter_errors(tables(BROKEN / f"{name}.toml")))


def test_an_overlay_may_say_little_and_remove(validator: Draft202012Validator) -> None:
    overlay = {"operation": {"getIssue": {"remove": True}}, "view": {"issue": {"columns": [{"name": "X"}]}}}
    assert list(validator.iter_errors(overlay)) == []


@pytest.mark.parametrize(
    "overlay",
    [
        {"view": {"mine": {"like": "issue", "columns": [{"name": "TYPE", "remove": True}]}}},
        {"extend": {"command": {"issues list": {"params": [{"name": "mine", "remove": True}]}}}},
        {"extend": {"product": {"jira": {"probe": {"remove": True}}}}},
        {"extend": {"resource": {"user": {"find": {"keywords": {"me": {"remove": True}}}}}}},
    ],
)
def test_a_part_can_be_taken_away(validator: Draft202012Validator, overlay: dict[str, Any]) -> None:
    assert list(validator.iter_errors({"language": 2, **overlay})) == []


def test_what_the_pages_show_is_valid(validator: Draft202012Validator) -> None:
    pages = [
        (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("definitions", "recipes", "listener")
    ]
    blocks = [text for page in pages for text in re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)]
    assert len(blocks) > 20
    for text in blocks:
        assert [error.message for error in validator.iter_errors(tomllib.loads(text))] == [], text


@pytest.mark.slow
def test_of_one_file_nothing_is_required_but_the_names_in_lists() -> None:
    """The rest may stand in another file that is laid under it."""
    parts: list[Any] = [{key: part for key, part in json_schema().items() if key != "allOf"}]
    named = 0
    while parts:
        part = parts.pop()
        inner = [value for key, value in part.items() if key != "if"] if isinstance(part, dict) else part
        parts += inner if isinstance(inner, list) else []
        if isinstance(part, dict) and isinstance(part.get("required"), list):
            assert part["required"] in (["name"], ["like"]), part  # which gives a name too
            named += 1
    assert named > 3


@pytest.mark.slow
def test_it_speaks_of_every_kind() -> None:
    assert set(json_schema()["properties"]) == {*KINDS, "defaults", "extend", "language"}


def test_where_the_engine_is_named_it_lists_what_there_is() -> None:
    shapes = json_schema()["$defs"]
    assert shapes["kind.auth"]["properties"]["scheme"]["enum"] == sorted(registry.AUTH_SCHEMES)
    assert shapes["kind.paginator"]["properties"]["kind"]["enum"] == sorted(registry.PAGINATION)
    assert shapes["Param"]["properties"]["choices_of"]["enum"] == sorted(registry.REGISTRIES)


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("command", {"params": [{"name": "loud", "kind": "flag", "lookup": "x"}]}),
        ("command", {"params": [{"name": "note", "convert": "txt"}]}),
        ("command", {"builtin": "version", "confirm": "sure?"}),
        ("route", {"do": [{"handler": "exec", "run": ["x"], "url": "https://h"}]}),
        ("route", {"do": [{"handler": "exce", "run": ["x"]}]}),
        ("product", {"headers": {"X Trace": "on"}}),
        ("view", {"columns": [{"name": "A", "value": "a", "format": "agee"}]}),
    ],
)
def test_what_the_check_refuses_an_editor_marks_too(validator: Draft202012Validator, kind: str, table: Any) -> None:
    assert list(validator.iter_errors({kind: {"x": table}}))


NEW = {"columns": [{"name": "A", "value": "a"}]}


@pytest.mark.parametrize(
    ("file", "is_marked"),
    [
        ({"language": 2, "view": {"a": {"id": "id"}}}, True),
        ({"language": 2, "view": {"a": NEW}}, False),
        ({"language": 2, "view": {"a": {"like": "b"}}}, False),
        ({"language": 2, "view": {"a": {"remove": True}}}, False),
        ({"language": 2, "extend": {"view": {"a": {"id": "id"}}}}, False),
        ({"language": 2, "extend": {"view": {"a": {"idd": "id"}}}}, True),
        ({"language": 2, "defaults": {"view": NEW}, "view": {"a": {"id": "id"}}}, False),
        ({"language": 2, "defaults": {"group": {"help": "x"}}, "view": {"a": {"id": "id"}}}, True),
        ({"view": {"a": {"id": "id"}}}, False),
        ({"language": 1, "view": {"a": {"id": "id"}}}, False),
        ({"language": 3}, True),
    ],
)
def test_a_new_definition_needs_its_keys_where_the_file_tells_it_from_an_overlay(
    validator: Draft202012Validator, file: Any, is_marked: bool
) -> None:
    assert bool(list(validator.iter_errors(file))) == is_marked


def test_a_template_for_a_converter_is_none_of_a_schemas_business(validator: Draft202012Validator) -> None:
    table = {"params": [{"name": "note", "convert": "{from}"}]}
    assert list(validator.iter_errors({"command": {"x": table}})) == []


def test_no_two_shapes_have_one_name() -> None:
    """All shapes stand side by side in the schema, by their names."""
    seen: dict[str, Any] = {}
    for kind, shape in KINDS.items():
        for name, part in TypeAdapter(shape).json_schema().get("$defs", {}).items():
            assert seen.setdefault(name, part) == part, (kind, name)
