"""Editing JSON with comments: the wanted member changes, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from callsheet.jsonc import JsoncError, parse_jsonc, with_member, without_member
from support import places
from support.cases import load_cases

CASES = load_cases(places.CASES / "jsonc")
ENTRY = {"command": "run", "args": ["a", "ü"]}


@pytest.mark.parametrize("case", CASES)
def test_a_member_is_set(case: dict[str, Any]) -> None:
    assert with_member(case["before"], ["s", "x"], {"run": ["a"]}) == case["after"]


@pytest.mark.parametrize("case", CASES)
def test_it_is_removed_again(case: dict[str, Any]) -> None:
    assert without_member(case["after"], ["s", "x"]) == case.get("removed", case["before"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1', "line 1, column 8: expected a comma or }"),
        ('{\n  "a" 1}', "line 2, column 7: expected a colon"),
        ("{'a': 1}", "line 1, column 2: expected a key in double quotes, or }"),
        ('{"a": tru}', "line 1, column 7: expected a value"),
        ('{"a": 1} x', "line 1, column 10: expected the end of the file"),
        ('{"a": 1} /* x', "line 1, column 10: the comment has no end"),
        ('{"a": "x\ny"}', "line 1, column 7: expected a value"),
        ('{"a":', "line 1, column 6: the file ends too early"),
        ("[1]", "line 1, column 1: expected an object here, to hold 's'"),
        ('{"s": [1]}', "line 1, column 7: expected an object here, to hold 'x'"),
        ('{"s": {}, "s": {}}', "line 1, column 16: 's' stands here a second time"),
        ("[" * 300, "line 1, column 202: nested deeper than 200"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_its_place(text: str, said: str) -> None:
    for edit in (lambda: with_member(text, ["s", "x"], 1), lambda: without_member(text, ["s", "x"])):
        with pytest.raises(JsoncError) as caught:
            edit()
        assert str(caught.value) == said


KEYS = st.sampled_from(["s", "x", "a", "b", "é", 'q"', "//", "/*"])
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "// no comment", "/*", '"', "},", "\n", "ü"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, DATA, max_size=4)
BLANKS = st.sampled_from(["", " ", "\n", "\r\n\t", " // c1\n", "/* c2 */", "\n  // c3\r\n  ", " /* c4\n */ "])
COMMENT = re.compile(r"c\d")


@st.composite
def written(draw: st.DrawFn, data: Any) -> str:
    """The data as text, with blanks, comments and trailing commas anywhere they may stand."""
    if not isinstance(data, dict | list) or not data:
        return str(draw(BLANKS)) + json.dumps(data, ensure_ascii=draw(st.booleans())) + str(draw(BLANKS))
    is_object = isinstance(data, dict)
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    parts = []
    for key, value in pairs:
        name = f"{draw(BLANKS)}{json.dumps(key)}{draw(BLANKS)}:" if is_object else ""
        parts.append(name + draw(written(value)))
    last = draw(st.sampled_from(["", ","])) + str(draw(BLANKS))
    opening, closing = "{}" if is_object else "[]"
    return str(draw(BLANKS)) + opening + ",".join(parts) + last + closing + str(draw(BLANKS))


def comments(text: str) -> list[str]:
    return COMMENT.findall(text)


@settings(max_examples=50)
@given(OBJECTS.flatmap(lambda data: st.tuples(st.just(data), written(data))), st.sampled_from(["", "\ufeff"]))
def test_a_set_and_a_removal_change_one_member_and_lose_no_comment(drawn: tuple[Any, str], mark: str) -> None:
    data, text = drawn[0], mark + drawn[1]
    assert parse_jsonc(text) == data
    assume(isinstance(data.get("s", {}), dict))
    new = with_member(text, ["s", "x"], ENTRY)
    assert parse_jsonc(new) == {**data, "s": {**data.get("s", {}), "x": ENTRY}}
    assert list(parse_jsonc(new)) == list(data | {"s": 0})
    old = comments(json.dumps(data))
    if "x" not in data.get("s", {}):
        assert comments(new) == comments(text) or sorted(comments(new)) == sorted(comments(text)), old
    gone = without_member(new, ["s", "x"])
    assert parse_jsonc(gone)["s"] == {key: value for key, value in data.get("s", {}).items() if key != "x"}
    assert gone.startswith(mark)
    if data.get("s") and "x" not in data["s"]:
        assert parse_jsonc(gone) == data
        assert sorted(comments(gone)) == sorted(comments(text))
    assert without_member(gone, ["s", "x"]) == gone
