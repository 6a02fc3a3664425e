"""The pictures and tables that are made from the code are those of the code as it is."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import architecture
from graph_svg import HEIGHT, Graph, Spot, middles, svg, top

PACKAGE = ROOT / "engine" / "callsheet"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.integers(0, 11).map(lambda number: f"part{number:02}")


@pytest.mark.slow
def test_the_page_and_its_pictures_are_current() -> None:
    old = [path.name for path, text in architecture.files().items() if path.read_text(encoding="utf-8") != text]
    assert old == [], "run python3 scripts/architecture.py"


def test_the_picture_has_every_package_and_only_real_imports() -> None:
    graph = architecture.rooms()
    picture = ET.fromstring(architecture.drawing("dark").read_text(encoding="utf-8"))
    arrows = re.findall(r"(\w+) --> (\w+)", picture.findtext(f"{SVG}desc") or "")
    assert all(other in graph[room] for room, other in arrows)
    assert {room for arrow in arrows for room in arrow} == {room for room in graph if (PACKAGE / room).is_dir()}
    assert {text.text for text in picture.iter(f"{SVG}text")} == {room for arrow in arrows for room in arrow}
    assert len(list(picture.iter(f"{SVG}path"))) == 2 * len(arrows)


@settings(max_examples=40)
@given(st.dictionaries(NAMES, st.sets(NAMES), min_size=1))
def test_nothing_in_a_picture_lies_on_something_else(drawn: dict[str, set[str]]) -> None:
    names = sorted(drawn.keys() | set().union(*drawn.values()))
    graph: Graph = {name: {other for other in drawn.get(name, ()) if other > name} for name in names}
    places = middles(graph)
    for one, other in combinations(sorted(places, key=lambda spot: (spot.row, places[spot])), 2):
        assert one.row != other.row or places[one] + one.half <= places[other] - other.half
    assert all(
        top(Spot(other.row, "")) >= top(one) + HEIGHT for one in places for other in places if other.row > one.row
    )
    picture = ET.fromstring(svg("It", graph, "light"))
    assert sorted(text.text or "" for text in picture.iter(f"{SVG}text")) == names
    right = float(picture.attrib["width"])
    assert all(0 <= float(box.attrib["x"]) <= right - 100 for box in picture.iter(f"{SVG}rect") if "x" in box.attrib)


def test_the_files_that_the_walks_name_exist() -> None:
    """By their path below the engine, or by a name beside the file that was named before."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## From the command line")[2]
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", page)
    assert len(named) > 30
    everywhere = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")} | {
        "tests/language/test_shapes.py"
    }
    assert [name for name in named if not any(path == name or path.endswith(f"/{name}") for path in everywhere)] == []
