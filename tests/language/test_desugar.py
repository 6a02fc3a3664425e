"""What follows from a command's definition: its steps, and the options of a list."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.language.desugar import complete_commands
from callsheet.language.source_file import Definition, Definitions, SourceFile

ALL = {"name": "all", "type": "boolean"}
MOST = {"name": "max", "type": "integer"}


def completed(command: dict[str, Any], **operations: dict[str, Any]) -> dict[str, Any]:
    """The table of a command after it was completed, beside some operations."""
    file = SourceFile("x.toml", 0, 0, {})
    tables: dict[tuple[str, str], dict[str, Any]] = {
        ("program", "shop"): {"prefix": "SHOP", "paging": [ALL, MOST]},
        ("view", "thing"): {},
        ("command", "it"): command,
        **{("operation", name): table for name, table in operations.items()},
    }
    definitions: Definitions = {(kind, id): Definition(kind, id, table, file) for (kind, id), table in tables.items()}
    complete_commands(definitions)
    return definitions["command", "it"].table


PAGED = {"listItems": {"paginate": {"using": "offset"}}}
ELSEWHERE = {"listItems": {"on": {"datacenter": {"paginate": {"using": "offset"}}}}}


def test_a_call_is_one_step() -> None:
    table = completed({"call": "getItem", "args": {"id": "{id}"}, "help": "Show it"}, getItem={})
    assert table == {"step": [{"call": "getItem", "args": {"id": "{id}"}}], "help": "Show it", "on": {}}


def test_steps_stay_as_they_are() -> None:
    steps = [{"call": "getItem", "as": "item"}, {"call": "dropItem"}]
    assert completed({"step": steps}, getItem={}, dropItem={}) == {"step": steps, "on": {}}


def test_a_builtin_calls_nothing() -> None:
    assert completed({"builtin": "init"}) == {"builtin": "init"}


@pytest.mark.parametrize("operations", [PAGED, ELSEWHERE])
@pytest.mark.parametrize("called", ["listItems", "shop.listItems"])
def test_what_prints_pages_takes_the_options_of_a_list(operations: Any, called: str) -> None:
    table = completed({"call": called, "params": [{"name": "project"}]}, **operations)
    assert table["pages"] is True
    assert [param["name"] for param in table["params"]] == ["project", "all", "max"]


@pytest.mark.parametrize("taken", [{"name": "max"}, {"name": "most", "aliases": ["max"]}])
def test_an_option_of_its_own_takes_the_place_of_a_general_one(taken: dict[str, Any]) -> None:
    table = completed({"call": "listItems", "params": [taken]}, **PAGED)
    assert table["params"] == [taken, ALL]


@pytest.mark.parametrize(
    "command",
    [
        {"step": [{"call": "listItems", "as": "items"}]},
        {"step": [{"call": "listItems", "value": "@[0]"}]},
        {"step": [{"call": "listItems", "batch": 10}]},
        {"call": "listItems", "result": "items[0]"},
        {"call": "getItem"},
        {"call": "unknown"},
        {"step": [{"print": "done"}]},
    ],
)
def test_what_prints_no_list_takes_none(command: dict[str, Any]) -> None:
    table = completed(command, getItem={}, **PAGED)
    assert "pages" not in table
    assert "params" not in table


def test_a_list_out_of_one_answer_takes_them_too() -> None:
    assert completed({"call": "getItem", "items": "entries"}, getItem={})["pages"] is True


def test_another_call_on_a_deployment_becomes_its_steps() -> None:
    table = completed(
        {"call": "getItem", "args": {"id": "{id}"}, "help": "Show", "on": {"datacenter": {"call": "oldItem"}}},
        getItem={},
        oldItem={},
    )
    assert table["on"] == {"datacenter": {"step": [{"call": "oldItem"}]}}


def test_other_arguments_on_a_deployment_keep_the_call() -> None:
    table = completed(
        {"call": "getItem", "args": {"id": "{id}"}, "on": {"datacenter": {"args": {"id": "{key}"}}}}, getItem={}
    )
    assert table["on"] == {"datacenter": {"step": [{"call": "getItem", "args": {"id": "{key}"}}]}}


def test_what_is_no_call_differs_as_it_is_written() -> None:
    table = completed({"call": "getItem", "on": {"datacenter": {"view": "old"}}}, getItem={})
    assert table["on"] == {"datacenter": {"view": "old"}}
    assert completed({"call": "listItems", "on": {"cloud": {"call": "x"}}}, **PAGED)["pages"] is True
