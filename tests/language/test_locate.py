from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.language import source_file
from callsheet.language.source_file import holds_path, line_of

TEXT = '''\
# a comment with = and [brackets]
title = "one"

[view.order]
id = """
many
lines = here"""
columns = [
  { name = "ID", value = "id" },   # first ]
  { name = "N", value = "a[?x=='}']",
    max = 3 },
]

[[case]]
name = "first"
[[case.exchange]]
path = '/a'
[[case]]
"quoted key" = 1
name.dotted = true
'''

PLACES = [
    (("title",), 2),
    (("view",), 4),
    (("view", "order"), 4),
    (("view", "order", "id"), 5),
    (("view", "order", "columns"), 8),
    (("view", "order", "columns", 0, "value"), 9),
    (("view", "order", "columns", 1), 10),
    (("view", "order", "columns", 1, "max"), 11),
    (("case", 0, "exchange", 0, "path"), 17),
    (("case", 1, "quoted key"), 19),
    (("case", 1, "name", "dotted"), 20),
    (("view", "order", "nothing"), 4),
    (("nothing",), 1),
]


@pytest.mark.parametrize(("path", "line"), PLACES, ids=[".".join(map(str, path)) for path, _ in PLACES])
def test_line_of(path: tuple[str | int, ...], line: int) -> None:
    assert line_of(TEXT, path) == line


KEYS = st.text("ab.= []#\"'é", min_size=1, max_size=5)
VALUES = st.recursive(
    st.integers(0, 9) | st.text("x=[]{}#\"'\\\n,é", max_size=6) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def paths(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return [above]
    return [above, *(path for key, item in items for path in paths(item, (*above, key)))]


@pytest.mark.slow
@settings(max_examples=150)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_key_of_any_file_is_found_on_a_line_that_holds_it(tables: dict[str, Any]) -> None:
    text = tomlkit.dumps(tables)
    assert tomllib.loads(text) == tables
    lines = text.split("\n")
    for path in paths(tables):
        assert holds_path(tables, path)
        number = line_of(text, path)
        if path and isinstance(path[-1], str) and path[-1].isalpha():
            assert path[-1] in lines[number - 1]


def test_quotes_may_stand_before_the_end_of_a_long_string() -> None:
    text = "a = ['''say 'x'''', \"\"\"say \"y\"\"\"\"]\nb = 1\n"
    assert tomllib.loads(text)["a"] == ["say 'x'", 'say "y"']
    assert line_of(text, ("b",)) == 2


def test_a_file_is_walked_once_for_all_its_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with hundreds of them took longer than anybody waits."""
    walks: list[str] = []
    walk = source_file.keys_of

    def counted(text: str) -> Any:
        walks.append(text)
        return walk(text)

    monkeypatch.setattr(source_file, "keys_of", counted)
    text = "".join(f"[view.v{number}]\nid = 'id'\n" for number in range(50))
    assert [source_file.line_of(text, ("view", f"v{number}", "id")) for number in range(50)] == [*range(2, 101, 2)]
    assert walks == [text]
