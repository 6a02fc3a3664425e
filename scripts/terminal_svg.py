"""A terminal session as an animated SVG: all of it, drawn by rich, moves up behind a window as a terminal scrolls.

Styles alone move it, so it plays inside an image of a Markdown page. Who asked for less motion sees its end.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from rich.color import parse_rgb_hex
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from callsheet.output.picture import COLORS, FONT

COLUMNS, ROWS = 92, 26
CELL, LINE = 12.2, 24.4  # the size of a character as rich draws it
BAR, EDGE = 40, 18  # the bar on top, and the space around the text
BEFORE, PER_LINE, LONGEST, LAST = 0.9, 0.14, 2.8, 4.0  # seconds

# Ground, text, edge and dots, then the eight colours of a terminal: black, and those of the programs' own pictures.
PALETTES = {
    "light": ["#ffffff", "#1f2328", "#d1d9e0", "#c3cad2", "#1f2328", *(light for light, _ in COLORS.values())],
    "dark": ["#0d1117", "#e6edf3", "#3d444d", "#3d444d", "#0d1117", *(dark for _, dark in COLORS.values())],
}


class Moment(NamedTuple):
    """What a session did next: `typed` with its prompt, `shown` below, or a `screen` that replaces all.

    All may hold escapes.
    """

    kind: str
    text: str
    prompt: str = ""


class Stop(NamedTuple):
    """From when to when (seconds) the session has this many lines."""

    start: float
    end: float
    lines: int


def timeline(moments: Sequence[Moment]) -> tuple[list[Text], list[Stop]]:
    """All lines of a session one below the other, and when the window stands where."""
    lines: list[Text] = []
    stops: list[Stop] = []
    now = 0.0
    for moment in moments:
        prompt = f"\x1b[32m{moment.prompt}\x1b[0;1m" if moment.kind == "typed" else ""
        shown = f"{prompt}{moment.text}\x1b[0m".replace("\r\n", "\n").replace("\x1b[2m", "\x1b[37m")
        text = Text.from_ansi(shown)  # its own dim text is too pale to read
        fresh = [line for each in text.split() for line in (each.wrap(Console(), COLUMNS) if each else [each])]
        if moment.kind == "screen":
            fresh = [*fresh, *[Text()] * ROWS][:ROWS]
            lines += [Text()] * (-len(lines) % ROWS)
        lines += fresh
        pause = min(BEFORE + PER_LINE * len(fresh), LONGEST)
        stops.append(Stop(now, now := now + pause, len(lines)))
    stops[-1] = stops[-1]._replace(end=stops[-1].start + LAST)
    return lines, stops


def svg(title: str, told: str, moments: Sequence[Moment], palette: str) -> str:
    """The picture. `told` is for readers who do not see it."""
    back, text, edge, dot, *colours = PALETTES[palette]
    lines, stops = timeline(moments)
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False
    )
    for line in lines:
        console.print(line, no_wrap=True, crop=True)
    rows, whole = min(ROWS, len(lines)), stops[-1][1]
    wide, high = round(COLUMNS * CELL) + 2 * EDGE, round(rows * LINE) + BAR + 2 * EDGE
    moves = "".join(
        f"{100 * start / whole:.2f}%{{transform:translateY({(rows - end) * LINE:.1f}px)}}" for start, _, end in stops
    )
    last = f"transform:translateY({(rows - len(lines)) * LINE:.1f}px)"
    dots = "".join(
        f'<circle cx="{EDGE + 6 + 20 * number}" cy="{BAR / 2:g}" r="6" fill="{dot}"/>' for number in range(3)
    )
    frame = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" aria-labelledby="t d">
<title id="t">{escape(title)}</title>
<desc id="d">{escape(told)}</desc>
<style>text{{font:20px {FONT};white-space:pre}}{{styles}}
.moving{{{last};animation:m {whole:.2f}s step-end infinite}}@keyframes m{{{moves}}}
@media(prefers-reduced-motion:reduce){{.moving{{animation:none}}}}</style>
<rect x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="9" fill="{back}" stroke="{edge}"/>
<path d="M1 {BAR}H{wide - 1}" stroke="{edge}"/>{dots}
<text x="{wide / 2:g}" y="{BAR / 2 + 6:g}" text-anchor="middle" fill="{text}">{escape(title)}</text>
<svg x="{EDGE}" y="{BAR + EDGE}" width="{wide - 2 * EDGE}" height="{rows * LINE:.1f}"><g class="moving">MARK</g></svg>
</svg>
"""
    ground, ink, *inks = [parse_rgb_hex(colour[1:]) for colour in (back, text, *colours)]
    theme = TerminalTheme(ground, ink, [(each.red, each.green, each.blue) for each in inks])
    drawn = console.export_svg(theme=theme, code_format="{styles}\0{backgrounds}{matrix}", unique_id="r")
    styles, _, body = re.sub(r' clip-path="[^"]*"|<text [^>]*>\s*</text>', "", drawn).partition("\0")
    return frame.replace("{styles}", styles).replace("MARK", body)
