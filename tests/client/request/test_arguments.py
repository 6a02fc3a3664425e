from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.client.request.build import Builder
from callsheet.client.request.http_request import Placeholder
from callsheet.errors import UsageError
from support.fakes import Definitions, FakeSite
from support.places import CASES

FILE = tomllib.loads((CASES / "http/arguments.toml").read_text(encoding="utf-8"))
BUILDER = Builder(Definitions(FILE["definitions"]), FakeSite("https://h.example/ctx"), "suite")


@pytest.mark.parametrize("case", FILE["case"], ids=lambda case: case["name"])
def test_arguments(case: dict[str, Any]) -> None:
    operation, strict = case.get("op", "op"), case.get("strict", True)
    if "error" in case:
        with pytest.raises(UsageError) as caught:
            BUILDER.build_request(operation, case.get("args", {}), strict=strict)
        assert caught.value.message == case["error"]
        assert caught.value.exit_code == 2
        assert caught.value.hint == case.get("hint", caught.value.hint)
        return
    request = BUILDER.build_request(operation, case.get("args", {}), strict=strict)
    if "url" in case:
        assert request.url == "https://h.example/ctx" + case["url"]
    if "query" in case:
        assert sorted(f"{name}={text}" for name, text in request.query) == sorted(case["query"])
    if "headers" in case:
        assert [f"{name}: {text}" for name, text in request.headers] == case["headers"]


def test_null_and_empty_lists_are_not_sent() -> None:
    assert BUILDER.build_request("op", {"thing": "x", "part": 7, "text": None, "many": []}).query == ()


def test_undecodable_text_is_refused() -> None:
    with pytest.raises(UsageError, match="'text' is not valid UTF-8"):
        BUILDER.build_request("op", {"thing": "x", "part": 7, "text": "a\udcff"})


def test_a_placeholder_passes_every_check_and_stays_readable() -> None:
    given = {
        "thing": Placeholder("<id of x>"),
        "part": Placeholder("<n + 1>"),
        "kinds": [Placeholder("<kind>")],
        "mark": Placeholder("<é>"),
    }
    request = BUILDER.build_request("op", given)
    assert request.url == "https://h.example/ctx/api/thing/<id of x>/part/<n + 1>?kinds=<kind>"


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text not in {".", ".."}))
def test_any_path_value_fills_exactly_one_segment(text: str) -> None:
    path = BUILDER.build_request("op", {"thing": text, "part": 7}).path
    assert path.count("/") == 5
    assert path.isascii()
    assert not set(path) & set("?# \r\n")
