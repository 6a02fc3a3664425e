"""`--template`: a text for each item."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from callsheet.errors import CallsheetError, UsageError
from callsheet.output import Output
from support.terminal import Screen

ITEMS = [{"key": "A-1", "n": 1, "to": {"name": "Done"}}, {"key": "A-2", "to": None}]


def printed(template: str, value: Any = ITEMS, stream: io.StringIO | None = None) -> str:
    stream = stream or io.StringIO()
    Output("table", stream=stream, template=template).print_one(value)
    return stream.getvalue()


def test_each_item_is_a_line() -> None:
    assert printed("{key}: {to.name}") == "A-1: Done\nA-2: \n"
    assert printed("{n}") == "1\n\n"
    assert printed("{key}", ITEMS[0]) == "A-1\n"
    assert printed("{{x}} {upper(key)}", ITEMS[0]) == "{x} A-1\n"


def test_line_breaks_and_tabs_can_be_typed() -> None:
    assert printed(r"{key}\t{n}\n", ITEMS[0]) == "A-1\t1\n\n"


@pytest.mark.parametrize("template", ["{key", "{a b}", "}"])
def test_a_wrong_template_is_refused_before_anything_is_printed(template: str) -> None:
    with pytest.raises(UsageError, match="--template: "):
        Output("table", stream=None, template=template)


def test_it_stands_alone() -> None:
    with pytest.raises(UsageError, match="--jq and --template cannot be used together"):
        Output("table", stream=None, template="{key}", jq=".")


def test_what_does_not_suit_an_item_is_an_error() -> None:
    with pytest.raises(CallsheetError, match="--template: "):
        printed("{length(n)}")


@pytest.mark.parametrize("name", ["nope", "$nope", "$nope.key"])
def test_a_name_that_nothing_has_leaves_no_empty_lines(name: str) -> None:
    stream = io.StringIO()
    with pytest.raises(CallsheetError, match=re.escape(f"--template: nothing has {name!r}")):
        printed(f"{{{name}}}", stream=stream)
    assert stream.getvalue() == ""


def test_what_only_a_later_item_has_leaves_the_lines_of_those_before() -> None:
    assert printed("{n}", [{"key": "A-0"}, {"key": "A-1", "n": 1}, {"key": "A-2"}]) == "\n1\n\n"


def test_values_do_not_act_on_a_terminal() -> None:
    assert "\x1b" not in printed("{key}", [{"key": "\x1b[2Jx"}], Screen())
