"""TOML: whatever is laid out is read back the same, and lies within the width where it can."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.openapi.definition_files import WIDTH, definition_file_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    TEXTS | st.integers(-(2**62), 2**62) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=25,
)
TABLES = st.dictionaries(TEXTS, VALUES, max_size=5)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.dictionaries(TEXTS, st.dictionaries(TEXTS, TABLES, min_size=1, max_size=3), max_size=2))
def test_what_is_laid_out_is_read_back(kinds: dict[str, dict[str, dict[str, Any]]]) -> None:
    assert tomllib.loads(definition_file_text(kinds)) == kinds


def test_parameters_stand_one_a_line_and_long_lists_are_broken() -> None:
    words = [f"word-{number}" for number in range(30)]
    table = {"params": [{"name": "a"}, {"name": "b", "enum": words, "required": True}], "scopes": words}
    text = definition_file_text({"operation": {"x": table}})
    assert max(map(len, text.splitlines())) <= WIDTH
    assert '  { name = "a" },\n' in text
    assert '  { name = "b", required = true, enum = [\n    "word-0",' in text
    assert tomllib.loads(text) == {"operation": {"x": table}}


def test_tables_that_do_not_fit_become_sections_below_the_short_keys() -> None:
    wide = {f"property{number}": {"type": "string", "maxLength": number} for number in range(9)}
    table = {"properties": {"inner": {"type": "object", "properties": wide}}, "type": "object", "oneOf": [wide, {}]}
    text = definition_file_text({"schema": {"a.b": table}})
    assert max(map(len, text.splitlines())) <= WIDTH
    assert [line for line in text.splitlines() if line.startswith("[")] == [
        '[schema."a.b"]',
        '[schema."a.b".properties]',
        '[schema."a.b".properties.inner]',
        '[schema."a.b".properties.inner.properties]',
        '[[schema."a.b".oneOf]]',
        '[[schema."a.b".oneOf]]',
    ]
    assert tomllib.loads(text) == {"schema": {"a.b": table}}


def test_backslashes_are_left_alone_and_lone_surrogates_replaced() -> None:
    assert definition_file_text({"k": {"x": {"p": r"^\d+$"}}}) == "[k.x]\np = '^\\d+$'\n"
    assert definition_file_text({"k": {"x": {"p": "a\ud800"}}}) == '[k.x]\np = "a?"\n'
