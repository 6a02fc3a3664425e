"""The documentation's example of a construct of one's own, and what definitions promise."""

from __future__ import annotations

import re
import tomllib

import pytest

from callsheet.richtext import convert_rich_text
from callsheet.richtext.editing import Editing
from callsheet.richtext.fit_to_document import FLATTEN
from support.places import ROOT
from support.richtext import nodes

PAGE = ROOT / "docs" / "rich-text.md"


INLINE, BLOCK = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:2]


def test_the_example_of_the_documentation_works() -> None:
    more = {**nodes(), **tomllib.loads(INLINE)["node"]}
    document = convert_rich_text("{kbd:Ctrl+C}", "markdown", "adf", nodes=more).value
    assert document["content"][0]["content"] == [
        {"type": "status", "attrs": {"style": "key", "text": "Ctrl+C", "color": "neutral"}}
    ]
    storage = convert_rich_text("{kbd:Ctrl+C}", "markdown", "storage", nodes=more).value
    assert 'ac:name="keycap"' in storage
    for source, kind in ((document, "adf"), (storage, "storage"), ("{keycap:keys=Ctrl+C}", "wiki")):
        assert convert_rich_text(source, kind, "markdown", nodes=more) == ("{kbd:Ctrl+C}\n", [])


@pytest.mark.parametrize("format", ["adf", "storage", "wiki"])
def test_a_block_of_a_definition_goes_there_and_back(format: str) -> None:
    more = {**nodes(), **tomllib.loads(BLOCK)["node"]}
    text = "# T\n\n<aside>\n\nsome *words*\n\n- a\n\n</aside>\n\nend\n"
    there = convert_rich_text(text, "markdown", format, nodes=more)
    assert there.losses == []
    assert convert_rich_text(there.value, format, "markdown", nodes=more).value == text
    if format != "wiki":
        edit = Editing(there.value, format, more)
        assert edit.markdown() == text.removesuffix("\n")
        changed = convert_rich_text(text.replace("some", "any"), "markdown", format, nodes=more).value
        assert edit.edited(text.replace("some", "any")) == changed


def test_a_further_alert_is_one_line() -> None:
    panel = nodes()["panel"]
    more = {**nodes(), "panel": {**panel, "alerts": {**panel["alerts"], "QUESTION": {"type": "note"}}}}
    document = convert_rich_text("> [!QUESTION]\n> why", "markdown", "adf", nodes=more).value
    assert document["content"][0]["attrs"] == {"panelType": "note"}


def test_every_name_in_a_definition_is_a_kind_or_a_known_way() -> None:
    for kind, table in nodes().items():
        unknown = set(table.get("unfit", ())) - set(nodes()) - set(FLATTEN) - {"split"}
        assert unknown == set(), kind
        forms = table.get("adf", [])
        for form in forms if isinstance(forms, list) else [forms]:
            named = {*form.get("holds", ()), *form.get("starts", ()), *form.get("marks", ())}
            assert named - set(nodes()) - {"inline"} == set(), kind
