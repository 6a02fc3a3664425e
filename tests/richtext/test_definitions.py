"""The documentation's example of a construct of one's own, and what definitions promise."""

from __future__ import annotations

import re
import tomllib

from callsheet.richtext import convert
from callsheet.richtext.flatten import FLATTEN
from support.places import ROOT
from support.richtext import nodes

PAGE = ROOT / "docs" / "rich-text.md"


def test_the_example_of_the_documentation_works() -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    more = {**nodes(), **tomllib.loads(example[1])["node"]}
    document = convert("{kbd:Ctrl+C}", "markdown", "adf", nodes=more).value
    assert document["content"][0]["content"] == [
        {"type": "status", "attrs": {"style": "key", "text": "Ctrl+C", "color": "neutral"}}
    ]
    storage = convert("{kbd:Ctrl+C}", "markdown", "storage", nodes=more).value
    assert 'ac:name="keycap"' in storage
    for source, kind in ((document, "adf"), (storage, "storage"), ("{keycap:keys=Ctrl+C}", "wiki")):
        assert convert(source, kind, "markdown", nodes=more).value == "{kbd:Ctrl+C}\n"


def test_a_further_alert_is_one_line() -> None:
    panel = nodes()["panel"]
    more = {**nodes(), "panel": {**panel, "alerts": {**panel["alerts"], "QUESTION": {"type": "note"}}}}
    document = convert("> [!QUESTION]\n> why", "markdown", "adf", nodes=more).value
    assert document["content"][0]["attrs"] == {"panelType": "note"}


def test_every_name_in_a_definition_is_a_kind_or_a_known_way() -> None:
    for kind, table in nodes().items():
        unknown = set(table.get("unfit", ())) - set(nodes()) - set(FLATTEN) - {"split"}
        assert unknown == set(), kind
        forms = table.get("adf", [])
        for form in forms if isinstance(forms, list) else [forms]:
            named = {*form.get("holds", ()), *form.get("starts", ()), *form.get("marks", ())}
            assert named - set(nodes()) - {"inline"} == set(), kind
