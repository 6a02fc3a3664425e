"""What the documentation shows works: definitions are sound, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from callsheet import registry
from callsheet.catalog.compile import qualified_names
from callsheet.language.check import check
from callsheet.language.layers import Layer
from callsheet.language.load import load
from callsheet.language.programs import layers
from support.places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks(path: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(path.read_text(encoding="utf-8")) if name == language]


def test_every_definition_in_the_language_page_is_sound(tmp_path: Path) -> None:
    shown = blocks(ROOT / "docs" / "definitions.md", "toml")
    assert len(shown) >= 5
    for number, text in enumerate(shown):
        (tmp_path / f"{number}.toml").write_text(text, encoding="utf-8")
    found = [*layers("suite", {"CALLSHEET_HOME": str(tmp_path / "home")}), Layer(str(tmp_path))]
    definitions = load(found)
    check(definitions, {"operation": qualified_names(definitions)}, registry.names())
    assert [column["name"] for column in definitions["view", "operation"].table["columns"]].count("EXPERIMENTAL") == 1
    assert definitions["parameter", "cataloguePart"].table == {"help": "Which page of the catalogue"}


def test_every_definition_in_the_listener_page_is_sound(tmp_path: Path) -> None:
    shown = blocks(ROOT / "docs" / "listener.md", "toml")
    assert len(shown) >= 3
    for number, text in enumerate(shown):
        (tmp_path / f"{number}.toml").write_text(text, encoding="utf-8")
    definitions = load([*layers("lms", {"CALLSHEET_HOME": str(tmp_path / "home")}), Layer(str(tmp_path))])
    check(definitions, {"operation": qualified_names(definitions)}, registry.names())
    assert {name for kind, name in definitions if kind == "route"} == {"low-grades"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
