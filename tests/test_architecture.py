"""The picture and the table that are made from the code are those of the code as it is."""

from __future__ import annotations

import re
import sys

import pytest

from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import architecture

PACKAGE = ROOT / "engine" / "callsheet"


@pytest.mark.slow
def test_the_picture_has_every_package_and_only_real_imports() -> None:
    graph = architecture.rooms()
    arrows = re.findall(r"(\w+) --> (\w+)", architecture.picture())
    assert all(other in graph[room] for room, other in arrows)
    assert {room for arrow in arrows for room in arrow} == {room for room in graph if (PACKAGE / room).is_dir()}
    assert architecture.current() == architecture.PAGE.read_text("utf-8"), "run python3 scripts/architecture.py"


def test_the_files_that_the_walks_name_exist() -> None:
    """By their path below the engine, or by a name beside the file that was named before."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## From the command line")[2]
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", page)
    assert len(named) > 30
    everywhere = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")} | {
        "tests/language/test_shapes.py"
    }
    assert [name for name in named if not any(path == name or path.endswith(f"/{name}") for path in everywhere)] == []
