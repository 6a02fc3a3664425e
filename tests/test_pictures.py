"""The pictures of the documentation: what they show is the demonstration of today, and nothing leaves them."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import pictures
import tour
from terminal_svg import PALETTES, Moment, Piece, lines, states, svg

SCRIPT = tour.read()
NAMES = [each.picture for each in (*SCRIPT.parts, *SCRIPT.screens) if each.picture]
SPACE = "{http://www.w3.org/2000/svg}"


def typed(part: tour.Part) -> list[str]:
    """The commands that a picture of this part has to show; what earlier steps keep is a pattern."""
    found = []
    for step in part.steps:
        if step.file and not step.file.get("private"):
            found.append(f"$ cat {step.file['name']}")
        if step.run:
            variables = "".join(f"{name}={value} " for name, value in step.env.items())
            found.append(f"{step.person}$ {variables}{step.run}{' &' if step.ready else ''}")
    return [re.sub(r"\\{\w+\\}", r"\\S+", re.escape(line)) for line in found]


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("part", [part for part in SCRIPT.parts if part.picture], ids=lambda part: part.picture)
def test_a_picture_shows_the_demonstration_of_today(part: tour.Part, palette: str) -> None:
    path = pictures.FOLDER / f"{part.picture}-{palette}.svg"
    text = path.read_text(encoding="utf-8")
    picture = ET.fromstring(text)
    assert len(text.encode()) < pictures.LARGEST
    assert picture.findtext(f"{SPACE}title") == part.title
    shown = (picture.findtext(f"{SPACE}desc") or "").splitlines()
    again = "run scripts/pictures.py"
    assert len(shown) == len(typed(part)), again
    assert [line for line, wanted in zip(shown, typed(part), strict=True) if not re.fullmatch(wanted, line)] == [], (
        again
    )
    assert "url(" not in text
    assert {value[0] for tag in picture.iter() for key, value in tag.attrib.items() if key.endswith("href")} <= {"#"}
    assert not re.search(r"/(home|root|tmp|Users|work)\b", text)


@pytest.mark.parametrize("screen", SCRIPT.screens, ids=lambda screen: screen.picture)
def test_a_picture_of_a_screen_has_a_frame_for_each_key(screen: tour.Screen) -> None:
    for palette in PALETTES:
        text = (pictures.FOLDER / f"{screen.picture}-{palette}.svg").read_text(encoding="utf-8")
        picture = ET.fromstring(text)
        again = "run scripts/pictures.py"
        assert len(text.encode()) < pictures.LARGEST
        assert picture.findtext(f"{SPACE}title") == screen.title, again
        assert picture.findtext(f"{SPACE}desc") == f"$ {screen.run}", again
        assert len(re.findall(r'<g class="s"', text)) == len(screen.keys) + 2, again
        assert not re.search(r"/(home|root|tmp|Users|work)\b", text)


def paths_of_readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_no_picture_is_left_over() -> None:
    names = NAMES
    stills = {f"{name}.svg" for name in pictures.STILLS}
    moving = {f"{n}-{p}.svg" for n in names for p in PALETTES}
    assert {path.name for path in pictures.FOLDER.iterdir()} == moving | stills
    assert all(f"docs/pictures/{name}" in paths_of_readme() for name in stills)
    paths = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    pages = [
        re.findall(r'src="(?:docs/|\.\./)?pictures/(\w+)-light', path.read_text(encoding="utf-8")) for path in paths
    ]
    assert set(names) == {name for page in pages for name in page}
    assert [page for page in pages if len(page) != len(set(page))] == [], "the same picture twice on a page"


def test_text_keeps_its_styles_and_wraps_at_the_edge() -> None:
    bold, red = frozenset("1"), frozenset({"31"})
    assert lines("a\x1b[1mb\x1b[0mc\nd") == [
        (Piece("a", frozenset()), Piece("b", bold), Piece("c", frozenset())),
        (Piece("d", frozenset()),),
    ]
    assert lines("\x1b[32m\x1b[31mab\x1b[39mc", 2) == [(Piece("ab", red),), (Piece("c", frozenset()),)]
    assert lines("\x1b[91ma") == [(Piece("a", red),)]
    with pytest.raises(ValueError, match="no picture can be made"):
        lines("a\x1b[2Kb")


def test_a_screen_replaces_what_was_shown_and_its_marked_row_has_a_ground() -> None:
    found = states([Moment("typed", "x", "$ "), Moment("screen", "one\n\x1b[7mtwo\x1b[27m"), Moment("screen", "three")])
    assert [len(state.rows) for state in found] == [1, 2, 1]
    assert 'class="g7"' in svg("t", "d", found, "light")


def test_the_screen_scrolls_and_letters_come_one_by_one() -> None:
    session = [Moment("typed", "one", "$ "), Moment("shown", "1\n2\n3\n"), Moment("typed", "two", "$ ")]
    found = states(session, rows=3)
    assert ["".join(piece.text for piece in line) for line in found[-1].rows] == ["2", "3", "$ two"]
    assert found[0].typed == [(0, 2, 3)]
    assert found[2].typed == [(2, 2, 3)]
    assert all(before.end == after.start for before, after in pairwise(found))
    picture = svg("T & <t>", "told", found, "dark", 3)
    assert len(list(ET.fromstring(picture).iter(f"{SPACE}g"))) == len(found) + 2


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", PALETTES)
def test_every_ink_can_be_read(palette: str) -> None:
    colours = PALETTES[palette]
    inks = {name: value for name, value in colours.items() if name.isdigit() or name == "text"}
    assert len(inks) == 8
    for value in inks.values():
        dark, light = sorted((luminance(value), luminance(colours["back"])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, value


def test_what_names_this_machine_is_found() -> None:
    home = Path("/tmp/callsheet-pictures-a1")
    assert pictures.private(f"saved in {home}/x", home) == [str(home)]
    assert pictures.private("nothing of it", home) == []
