"""What a definition is on a deployment: one rule, for every kind and wherever it is read."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from callsheet.errors import UsageError
from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.merge import CALLS, check_available, deployment_variants, on_deployment
from callsheet.language.shape import KINDS, PARTS
from callsheet.language.source_file import Definition
from support.cases import run_case
from support.places import ROOT

# A route's `on` is a list of event types, which is another thing.
SHAPES = {**KINDS, **PARTS}
DEPLOYED = {kind for kind, shape in SHAPES.items() if "on" in getattr(shape, "__annotations__", {})} - {"route"}
MARK = "laid over"


@pytest.fixture(scope="module")
def definitions() -> list[Definition]:
    return [
        definition
        for program in ("suite", "lms")
        for definition in load_definitions(
            definition_layers(program, {"CALLSHEET_HOME": os.devnull}, own=False)
        ).values()
    ]


@pytest.mark.slow
def test_every_definition_is_sound_on_every_deployment_it_names(definitions: list[Definition]) -> None:
    """What is laid over the rest may leave no table that its own shape would refuse."""
    checked = set()
    for definition in definitions:
        if definition.kind in DEPLOYED:
            for there in deployment_variants(definition.table).values():
                there.pop("unavailable", None)
                if there.get("paginate") is False:
                    del there["paginate"]
                TypeAdapter(SHAPES[definition.kind]).validate_python(there)
                checked.add(definition.kind)
    assert checked >= DEPLOYED


def leaves(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in table.items():
        if key == "on":
            continue
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    return {path[0]: nested(path[1:], value) if path[1:] else value}


@pytest.mark.slow
def test_a_change_of_one_key_changes_this_key_alone_in_every_definition_of_every_kind(
    definitions: list[Definition],
) -> None:
    seen = set()
    for definition in definitions:
        if definition.kind not in DEPLOYED:
            continue
        plain = {key: value for key, value in definition.table.items() if key != "on"}
        for path in leaves(plain):
            if path[-1] in ("call", "step"):
                continue
            changed = {**plain}
            below = changed
            for each in path[:-1]:
                below[each] = {**below[each]}
                below = below[each]
            below[path[-1]] = MARK
            result = on_deployment({**plain, "on": {"stage": nested(path, MARK)}}, "stage")
            assert result == changed, (definition.kind, definition.id, path)
            seen.add(definition.kind)
    assert seen == DEPLOYED


def test_another_call_takes_nothing_of_the_call_below_along() -> None:
    table = {
        "title": "thing",
        "call": "findThings",
        "args": {"query": "{word}"},
        "value": "id",
        "match": ["name"],
        "keywords": {"me": {"call": "getMe", "args": {"expand": "all"}, "value": "id"}, "none": {}},
        "on": {"stage": {"call": "listThings", "keywords": {"me": {"call": "whoAmI"}}}},
    }
    assert on_deployment(table, "stage") == {
        "title": "thing",
        "call": "listThings",
        "match": ["name"],
        "keywords": {"me": {"call": "whoAmI"}, "none": {}},
    }
    steps = on_deployment({**table, "on": {"stage": {"step": [{"fail": "no"}]}}}, "stage")
    assert set(steps) & set(CALLS) == {"step"}


def test_a_value_for_the_service_may_be_named_like_a_key_of_ours() -> None:
    table = {"call": "ring", "args": {"call": "a", "value": "b"}, "on": {"stage": {"args": {"call": "c"}}}}
    assert on_deployment(table, "stage") == {"call": "ring", "args": {"call": "c", "value": "b"}}


def test_named_parts_are_changed_and_removed_by_name() -> None:
    table = {
        "facts": [{"name": "server", "call": "a", "value": "b"}, {"name": "licenses", "call": "c"}],
        "on": {"stage": {"facts": [{"name": "licenses", "remove": True}, {"name": "server", "value": "d"}]}},
    }
    assert on_deployment(table, "stage") == {"facts": [{"name": "server", "call": "a", "value": "d"}]}


def test_nothing_different_is_the_definition_itself() -> None:
    table = {"call": "ring", "on": {"stage": {}}}
    assert on_deployment(table, "stage") is table
    assert on_deployment(table, "elsewhere") is table
    assert deployment_variants({"call": "ring"}) == {}


def test_what_is_not_there_is_said_with_its_reason() -> None:
    table = on_deployment({"http": "GET /a", "on": {"stage": {"unavailable": "closed"}}}, "stage")
    with pytest.raises(UsageError, match=r"^ring does not exist on stage: closed$"):
        check_available(table, "ring", "stage")
    check_available({"unavailable": ""}, "ring", "stage")


@pytest.mark.slow
def test_one_module_reads_what_differs_on_a_deployment() -> None:
    """Elsewhere `on` is only written (desugar) or listed (describe); in a route it is a list of types."""
    engine = ROOT / "engine" / "callsheet"
    reading = {
        path.relative_to(engine).as_posix()
        for path in engine.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "on")
        or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(".get")
            and "'on'" in map(ast.unparse, node.args)
        )
    }
    of_routes = ("listener", "webhook", "routes")
    assert {name for name in reading if not any(word in name for word in of_routes)} == {
        "language/desugar.py",
        "cli/builtin/operations.py",
    }


@pytest.mark.slow
def test_an_overlay_of_one_keyword_leaves_the_other_words_what_they_mean(tmp_path: Path) -> None:
    """Were the table of keywords replaced, `none` would be looked for among the users."""
    (tmp_path / "mine").mkdir()
    case = {
        "argv": ["issues", "assign", "DEMO-1", "--to", "none"],
        "on": "datacenter",
        "files": {"mine/words.toml": "[lookup.account.on.datacenter.keywords]\nnobody = {}\n"},
        "env": {"SUITE_DEFINITIONS": "mine"},
        "exchange": [
            {
                "request": {
                    "method": "PUT",
                    "path": "/tracker/rest/api/2/issue/DEMO-1/assignee",
                    "json": {"name": None},
                },
                "response": {"status": 204},
            }
        ],
    }
    done = run_case(case, tmp_path)
    assert len(done.requests) == 1
