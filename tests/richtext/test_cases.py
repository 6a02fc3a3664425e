"""Conversions as data: `cases/convert/*.toml`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.errors import UsageError
from support import document_schema
from support.places import CASES
from support.richtext import converted

FILES = sorted((CASES / "convert").glob("*.toml"))
KEYS = {"name", "from", "to", "input", "output", "content", "losses", "error", "lossless", "options", "back"}


def cases() -> Iterator[Any]:
    for path in FILES:
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            assert set(case) <= KEYS, f"{path.name}: {case['name']}: {set(case) - KEYS}"
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


@pytest.mark.parametrize("case", list(cases()))
def test_conversion(case: dict[str, Any]) -> None:
    settings = {"lossless": case.get("lossless", False), "options": case.get("options", {})}
    if "error" in case:
        with pytest.raises(UsageError) as caught:
            converted(case["input"], case["from"], case["to"], **settings)
        assert caught.value.message == case["error"]
        return
    done = converted(case["input"], case["from"], case["to"], **settings)
    if "content" in case:
        assert done.value["content"] == json.loads(case["content"])
    if "output" in case:
        assert done.value.rstrip("\n") == case["output"].rstrip("\n")
    assert done.losses == case.get("losses", [])
    if case["to"] == "adf" and document_schema.present():
        assert document_schema.problems(done.value) == []
    if case.get("back"):
        back = converted(done.value, case["to"], case["from"], **settings).value
        same = back == json.loads(case["input"]) if case["from"] == "adf" else back.strip() == case["input"].strip()
        assert same, back
