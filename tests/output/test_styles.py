"""Colors: where they are shown, and which a definition gives a word."""

from __future__ import annotations

import io
from typing import Any

import pytest

from callsheet.output import Output
from callsheet.terminal import STYLES, escape_but_styles, painted_text, wants_color

CHOICES = [
    (None, {}, None),
    (None, {"NO_COLOR": "1"}, False),
    (None, {"NO_COLOR": ""}, None),
    (None, {"CLICOLOR": "0"}, False),
    (None, {"CLICOLOR": "1"}, None),
    (None, {"CLICOLOR_FORCE": "1"}, True),
    (None, {"CLICOLOR_FORCE": "0"}, None),
    (None, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
    ("always", {"NO_COLOR": "1"}, True),
    ("never", {"CLICOLOR_FORCE": "1"}, False),
    ("auto", {"NO_COLOR": "1"}, None),
]
VIEW: Any = {
    "columns": [
        {"name": "KEY", "value": "key", "style": "underline"},
        {"name": "STATE", "value": "state", "palette": "state", "shade": "kind"},
        {"name": "LEVEL", "value": "level", "palette": "level", "max": 4},
    ],
    "detail": [{"title": "Text", "text": "text", "format": "adf"}, {"title": "Parts", "items": "parts", "line": []}],
}
VIEW["detail"][1]["line"] = [{"name": "A", "value": "a"}, {"name": "B", "value": "b", "palette": "level"}]
PALETTES = {"state": {"done": "green"}, "level": {"high": "red"}}
THING = {"key": "K-1", "state": "Erledigt", "kind": "Done", "level": "High", "text": "# So\n\n`x`"}


@pytest.mark.parametrize(("option", "environ", "wanted"), CHOICES)
def test_an_option_wins_over_the_environment(option: str | None, environ: dict[str, str], wanted: bool | None) -> None:
    assert wants_color(option, environ) is wanted


def printed(thing: Any, *, color: bool | None = True, **options: Any) -> str:
    stream = io.StringIO()
    Output("table", stream=stream, view=VIEW, color=color, palette=PALETTES.__getitem__, **options).print_one(thing)
    return stream.getvalue()


def test_a_palette_colors_a_word_by_itself_or_by_what_it_belongs_to() -> None:
    _, row = printed([THING]).splitlines()
    assert row == "  ".join(
        [painted_text("K-1", "underline"), painted_text("Erledigt", "green"), painted_text("High", "red")]
    )
    _, row = printed([{**THING, "level": "high up"}], width=20).splitlines()
    assert row.endswith("  high…"), "no word of the palette"
    _, row = printed([{**THING, "kind": None}]).splitlines()
    assert row.split("  ")[1] == "Erledigt"


def test_padding_has_no_style() -> None:
    _, first, _ = printed([THING, {**THING, "key": "LONGER-1"}]).splitlines()
    assert first.startswith(painted_text("K-1", "underline") + " " * 5)


def test_one_thing_is_shown_with_its_markdown_as_it_reads() -> None:
    shown = printed(THING)
    assert f"{painted_text('STATE', 'dim')}  {painted_text('Erledigt', 'green')}" in shown
    assert (
        f"\n{painted_text('Text', 'bold')}\n  {painted_text('So', 'bold')}\n\n  {painted_text('x', 'cyan')}\n" in shown
    )


def test_raw_markdown_and_a_pipe_without_colors_have_it_as_it_is() -> None:
    assert "\n  # So\n\n  `x`\n" in printed(THING, raw=True)
    plain = printed(THING, color=None)
    assert "\n  # So\n\n  `x`\n" in plain
    assert "\x1b" not in plain


def test_lines_below_a_heading_are_aligned() -> None:
    parts = [{"a": "x", "b": "low"}, {"a": "longer", "b": "High"}]
    assert printed({**THING, "parts": parts}).endswith(f"  x       low\n  longer  {painted_text('High', 'red')}\n")


def test_text_of_others_brings_no_style() -> None:
    evil = {**THING, "key": "\x1b[31mK\x1b[0m", "text": "\x1b[5m\x1b]0;t\x07`x\x1b[31m`", "level": "\x1b[32mhigh"}
    assert all(style in (STYLES["dim"], STYLES["bold"], "\x1b[0m", *STYLES.values()) for style in _sequences(evil))
    assert "\x1b[5m" not in printed(evil)
    assert painted_text("K", "underline") in printed(evil)


def _sequences(thing: Any) -> list[str]:
    import re

    return re.findall(r"\x1b.[^m]*m?", printed(thing))


def test_only_the_programs_own_styles_pass_the_gate() -> None:
    own = "".join(f"{style}x\x1b[0m" for style in STYLES.values())
    assert escape_but_styles(own) == own
    assert (
        escape_but_styles("\x1b[5mx\x1b[41mx\x1b[38;5;1mx\x1b[2Jx") == r"\u001b[5mx\u001b[41mx\u001b[38;5;1mx\u001b[2Jx"
    )
