"""An entry in the file of another program: set, removed, and nothing else touched."""

from __future__ import annotations

from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.hosts import Unreadable, data_of, entry_snippet, with_entry, without_entry
from support import places
from support.cases import load_cases

CASES = load_cases(places.CASES / "hosts")
ENTRY = {"command": "run", "args": ["a", "b"]}


@pytest.mark.parametrize("case", CASES)
def test_an_entry_is_set_and_removed(case: dict[str, Any]) -> None:
    text = with_entry(case["before"], case["format"], case["path"], ENTRY)
    assert text == case["after"]
    assert with_entry(text, case["format"], case["path"], ENTRY) == text
    assert without_entry(text, case["format"], case["path"]) == case.get("removed", case["before"])
    assert without_entry(case.get("removed", ""), case["format"], case["path"]) == case.get("removed", "")


@pytest.mark.parametrize(
    ("text", "format", "said"),
    [
        ("{", "json", "line 1, column 2"),
        ("[]", "json", "expected a table to hold 'servers'"),
        ('{"servers": 1}', "json", "expected a table to hold 'x'"),
        ('{"servers": {"x": 1}}', "json", "servers.x is not a table"),
        ('{"servers": {}, "servers": {"y": {}}}', "json", "a second time"),
        ("servers = 1", "toml", "expected a table to hold 'x'"),
        ("a = ", "toml", "line 1"),
        ("[servers.x]\n[servers.x]\n", "toml", "x"),
        ("[[servers]]\na = 1\n", "toml", "expected a table"),
    ],
)
def test_what_cannot_be_changed_is_refused(text: str, format: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        with_entry(text, format, ["servers", "x"], ENTRY)


@pytest.mark.parametrize("format", ["json", "toml"])
def test_a_snippet_is_a_file_of_its_own(format: str) -> None:
    assert data_of(entry_snippet(format, ["servers", "x"], ENTRY), format) == {"servers": {"x": ENTRY}}


VALUES = st.text(max_size=4) | st.integers(-9, 9) | st.booleans() | st.lists(st.integers(0, 9), max_size=2)
TABLES = st.dictionaries(st.sampled_from(["servers", "x", "a", "b c", "é"]), VALUES, max_size=3)
DOCUMENTS = st.dictionaries(
    st.sampled_from(["servers", "x", "a", "last"]),
    VALUES | TABLES | st.dictionaries(st.sampled_from(["x", "y", "z"]), TABLES, max_size=3),
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=50)
@given(DOCUMENTS)
def test_any_document_gets_the_entry_or_is_refused(document: dict[str, Any]) -> None:
    text = tomlkit.dumps(document)
    try:
        changed = with_entry(text, "toml", ["servers", "x"], ENTRY)
    except Unreadable:
        there = document.get("servers", {})
        assert not isinstance(there, dict) or not isinstance(there.get("x", {}), dict)
        return
    there = document.get("servers", {})
    expected = {**document, "servers": {**there, "x": {**there.get("x", {}), **ENTRY}}}
    assert data_of(changed, "toml") == expected
    assert "x" not in data_of(without_entry(changed, "toml", ["servers", "x"]), "toml").get("servers", {})
