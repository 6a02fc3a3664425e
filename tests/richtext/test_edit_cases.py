"""Edits as data: `cases/edit/*.toml`. What the edit does not touch stays byte for byte."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.richtext.editing import Editing
from support.places import CASES
from support.richtext import nodes

KEYS = {"name", "source", "text", "edit", "result"}


def cases() -> Iterator[Any]:
    for path in sorted((CASES / "edit").glob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            assert set(case) <= KEYS, f"{path.name}: {case['name']}: {set(case) - KEYS}"
            yield pytest.param(path.stem, case, id=f"{path.stem}: {case['name']}")


@pytest.mark.parametrize(("form", "case"), list(cases()))
def test_an_edit(form: str, case: dict[str, Any]) -> None:
    """Without a `result`, it is the source with the same words in the place of the same words."""
    old, new = case["edit"]
    source, text = case["source"].removesuffix("\n"), case["text"].removesuffix("\n")
    wanted = case.get("result", source.replace(old, new, 1)).removesuffix("\n")
    value = json.loads(source) if form == "adf" else source
    edit = Editing(value, form, nodes())
    assert edit.markdown() == text
    assert edit.edited(text) == value
    assert Editing(value, form, nodes()).edited(text.replace(old, new, 1)) == (
        json.loads(wanted) if form == "adf" else wanted
    )
