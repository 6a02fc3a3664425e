"""A step that looks into a list of an answer refuses one without it, unless its definition says it may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.client.listed import part_of
from callsheet.errors import CallsheetError
from callsheet.language.functions import first_list
from support.cases import nobody

NO_LIST = {"message": "please sign in"}


@pytest.fixture(scope="module")
def looked_into(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, str]]]:
    """Command → what it takes of an answer by an expression that looks into a list."""
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    yield [(id, text) for id, table in catalog.commands.all().items() for text in taken(table)]
    catalog.close()


def taken(table: Any) -> Iterator[str]:
    if isinstance(table, list):
        for part in table:
            yield from taken(part)
    if not isinstance(table, dict):
        return
    if isinstance(table.get("call"), str):
        named = table.get("as")
        texts = [table.get("value"), *(named.values() if isinstance(named, dict) else ())]
        yield from (text for text in texts if isinstance(text, str) and "[" in text and first_list(text))
    for part in table.values():
        yield from taken(part)


def test_what_is_no_list_is_refused(looked_into: list[tuple[str, str]]) -> None:
    for id, text in looked_into:
        if "|| `[]`" in text:
            continue
        with pytest.raises(CallsheetError, match="the site answered without the list that was expected"):
            pytest.fail(f"{id}: {text}: {part_of(text, NO_LIST, {})}")
    assert len(looked_into) > 10


@pytest.mark.parametrize(
    ("expression", "answer", "told"),
    [
        ("[?a == 'b'].id", NO_LIST, "was expected"),
        ("[].key", None, "was expected"),
        ("fields.issuelinks[].id", {"fields": {"issuelinks": "x"}}, "was expected under 'fields.issuelinks'"),
        ("values[0].id", {"values": {}}, "was expected under 'values'"),
        ("a[?b].c | [0]", {"a": 1}, "was expected under 'a'"),
        ("a[].b[].c", {}, "was expected under 'a'"),
        ("a[1:3]", {}, "was expected under 'a'"),
    ],
)
def test_the_list_that_is_missing_is_named(expression: str, answer: Any, told: str) -> None:
    with pytest.raises(CallsheetError, match=told):
        part_of(expression, answer, {})


@pytest.mark.parametrize(
    ("expression", "answer", "value"),
    [
        ("(a || `[]`)[].b", {}, []),
        ("[?a == $b].id", [{"a": 1, "id": 2}], [2]),
        ("a[0].b", {"a": []}, None),
        ("a[].b[].c", {"a": [{"b": None}, {"b": [{"c": 1}]}]}, [1]),
        ("[a, b]", {"a": 1}, [1, None]),
        ("results", {}, None),
        ("length(a || '')", {}, 0),
    ],
)
def test_what_may_be_missing_is(expression: str, answer: Any, value: Any) -> None:
    assert part_of(expression, answer, {"b": 1}) == value
