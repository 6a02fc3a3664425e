"""The functions of expressions beyond JMESPath's own."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.language.template import TemplateError, evaluate

THINGS = [{"id": "1", "n": "a"}, {"id": "2", "n": "b"}, {"id": 3, "n": "c"}]


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("slug('Move Issues -- to Sprint!')", None, "move-issues-to-sprint"),
        ("lower('AbC')", None, "abc"),
        ("upper('AbC')", None, "ABC"),
        ("add(version, `1`)", {"version": 3}, 4),
        ("add(version, `1`)", {"version": None}, None),
        ("add(`1`, version)", {}, None),
        ("minus(`1`, version)", {"version": 3}, -2),
        ("minus(`1`, version)", {}, None),
        ("days('2026-02-27', '2026-03-01T12:00:00')", None, ["2026-02-27", "2026-02-28", "2026-03-01"]),
        ("days('2026-02-27', '2026-02-26')", None, []),
        ("days(@, '2026-02-26')", None, []),
        ("length(days('2000-01-01', '2026-01-01'))", None, 1000),
        ("running(@, 'n')[].n", [{"n": 2}, {"n": None}, 5, {"n": -3.5}], [2, 2, -1.5]),
        ("unwound(@, 'parts')", [{"k": 1, "parts": [{"p": 2}, {"k": 3}]}, {"k": 4}], [{"k": 1, "p": 2}, {"k": 3}]),
        ("unwound(@, 'parts')", None, []),
        (
            "unwound(@, 'parts')",
            [5, "a", {"k": 1, "parts": [2, {"p": 3}, None]}, {"parts": "text"}],
            [{"k": 1, "p": 3}],
        ),
        ("running(@, 'n')", None, []),
        (r"""quoted('a "b" \ c')""", None, r'''"a \"b\" \\ c"'''),
        ("split(' a, b ,,c ', ',')", None, ["a", "b", "c"]),
        ('joined(@, `[{"id": "2", "x": 1}, {"id": "2", "x": 5}, {"id": "9", "x": 7}]`, \'id\')[].x', THINGS, [5]),
        ("joined(@, `null`, 'id')[].n", THINGS, ["a", "b", "c"]),
        ('joined(@, `[{"id": []}, {"id": {}}]`, \'id\')[].n', THINGS, ["a", "b", "c"]),
        ("joined(@, `[{\"id\": 1}]`, 'id')", [{"id": []}, {"x": 1}], [{"id": []}, {"x": 1}]),
        ("join('-', @)", ["a", None, 5, True, {"b": 1}], 'a-5-true-{"b": 1}'),
        ("join('-', @)", [None], ""),
        ("filename(@)", None, "unnamed"),
        ("filename(@)", [1], "[1]"),
        ("chosen(@, `null`)", 5, []),
        ("joined(`null`, @, 'id')", THINGS, []),
        ("from_items(zip(@[].n, `[1, 2]`))", THINGS, {"a": 1, "b": 2}),
        ("from_items(zip(`null`, @))", THINGS, {}),
        ('chosen(@, `["2", "3"]`)[].n', THINGS, ["b", "c"]),
        ("chosen(@, `null`)[].n", THINGS, ["a", "b", "c"]),
        ('chosen(`null`, `["2"]`)', THINGS, []),
        ("filename('../etc/pass:wd. ')", None, "_etc_pass_wd"),
        ("filename('...')", None, "unnamed"),
        ("moment('2026-01-31', '%d.%m.')", None, "31.01."),
        ("narrowed('a = 1 ORDER BY b', `[\"c = 2\"]`, 'ORDER BY')", None, "(a = 1) AND c = 2 ORDER BY b"),
    ],
)
def test_what_it_makes(expression: str, value: Any, expected: Any) -> None:
    assert evaluate(expression, value) == expected


UNFIT = [
    "running('a', 'n')",
    "running(`{}`, 'n')",
    "days(`5`, `null`)",
    "minus(`1`, `true`)",
    "minus(`true`, `1`)",
    "add(`1`, `true`)",
]


@pytest.mark.parametrize("expression", ["slug(`1`)", "lower(`null`)", "split('a', `1`)", "upper(`[]`)", *UNFIT])
def test_another_type_is_refused(expression: str) -> None:
    with pytest.raises(TemplateError):
        evaluate(expression, None)


class Later(str):
    """What is not known yet, as in a dry run."""

    __slots__ = ()

    def get(self, key: str, default: Any = None) -> Any:
        return Later(f"{key} of {self}")

    def plus(self, other: Any) -> Any:
        return Later(f"{self} + {other}")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("lower(x)", Later("X")),
        ("split(x, ',')", Later("X")),
        ("join(', ', [`\"a\"`, x])", Later("X")),
        ("chosen(x, `null`)", Later("X")),
        ("add(x, `1`)", Later("X + 1")),
        ("not_null(n, x)", Later("X")),
        ("not_null('a', x)", "a"),
        ("to_array(x)", [Later("X")]),
        ("lower(x.y)", Later("y of X")),
    ],
)
def test_of_what_is_not_known_yet_most_functions_make_nothing_else(expression: str, expected: Any) -> None:
    assert evaluate(expression, {"x": Later("X"), "n": None}) == expected


def test_a_number_is_neither_above_nor_below_a_text_inside_lists_too() -> None:
    sizes = {"files": [{"size": 7}, {"size": "9"}]}
    assert [evaluate(f"files[?size {sign} '8'].size", sizes) for sign in ("<", ">", "<=", ">=")] == [
        [],
        ["9"],
        [],
        ["9"],
    ]
    assert evaluate("files[0].size > '5'", sizes) is None
