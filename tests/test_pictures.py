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
from terminal_svg import LINE, PALETTES, ROWS, Moment, svg, timeline

SCRIPT = tour.read()
PARTS: list[tour.Part | tour.Screen] = [*SCRIPT.parts, *SCRIPT.screens]
NAMES = [each.picture for each in PARTS if each.picture]
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
        assert len(re.findall(r"%\{transform", text)) == len(screen.keys) + 2, again
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


def plain(moments: list[Moment]) -> list[str]:
    return [line.plain for line in timeline(moments)[0]]


def test_lines_come_one_below_the_other_and_long_ones_are_wrapped() -> None:
    session = [
        Moment("typed", "one", "$ "),
        Moment("shown", "\x1b[1mb\x1b[0m\r\n2\r\n"),
        Moment("typed", "word " * 20, "$ "),
    ]
    assert plain(session)[:3] == ["$ one", "b", "2"]
    assert len(plain(session)) == 5
    assert [stop.lines for stop in timeline(session)[1]] == [1, 3, 5]


def test_a_screen_stands_in_a_window_of_its_own() -> None:
    lines, stops = timeline(
        [Moment("typed", "x", "$ "), Moment("screen", "one\n\x1b[7mtwo\x1b[27m"), Moment("screen", "three")]
    )
    assert [stop.lines % ROWS for stop in stops] == [1, 0, 0]
    assert [lines[at].plain for at in (0, ROWS, 2 * ROWS)] == ["$ x", "one", "three"]


def test_the_window_ends_at_the_last_line_and_stands_there_without_motion() -> None:
    session = [Moment("shown", "\n".join("abc")), Moment("shown", "\n".join(str(number) for number in range(ROWS)))]
    stops = timeline(session)[1]
    assert all(before.end == after.start for before, after in pairwise(stops))
    picture = svg("T & <t>", "told", session, "dark")
    ET.fromstring(picture)
    places = [float(place) for place in re.findall(r"translateY\((-?[\d.]+)px\)", picture)]
    assert places[0] == places[-1] == pytest.approx(-3 * LINE, abs=0.05)
    assert places[1] == pytest.approx((ROWS - 3) * LINE, abs=0.05)


def test_a_link_is_its_text_and_nothing_that_acts_is_drawn() -> None:
    shown = "a\x1b]8;;https://example.org\x1b\\b\x1b]8;;\x1b\\ \x1b[2Kc <&>"
    picture = svg("T", "told", [Moment("shown", shown)], "light")
    assert "abc\xa0<&>" in "".join(ET.fromstring(picture).itertext())
    assert "example.org" not in picture


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", PALETTES)
def test_every_ink_can_be_read(palette: str) -> None:
    back, text, _edge, _dots, _black, *colours = PALETTES[palette]
    assert len(colours) == 7
    for value in (text, *colours):
        dark, light = sorted((luminance(value), luminance(back)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, value


def test_what_names_this_machine_is_found() -> None:
    home = Path("/tmp/callsheet-pictures-a1")
    assert pictures.private(f"saved in {home}/x", home) == [str(home)]
    assert pictures.private("nothing of it", home) == []
