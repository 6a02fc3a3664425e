"""A terminal session as an animated SVG: commands are typed, what they print appears, and the screen scrolls.

Styles alone move it, so it plays inside an image of a Markdown page. Who asked for less motion sees its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

COLUMNS, ROWS = 92, 26
CELL, LINE = 9.0, 20  # the size of a character
BAR, EDGE = 34, 16  # the bar on top, and the space around the text
TYPING, BEFORE, AFTER, PER_LINE, LONGEST, LAST = 0.035, 0.4, 0.8, 0.14, 2.8, 4.0  # seconds
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

# The sixteen colours of a terminal by the numbers of their escapes; contrast with the background is 4.5 to 1 or more.
PALETTES = {
    "light": {
        "back": "#ffffff", "text": "#1f2328", "edge": "#d1d9e0", "bar": "#f6f8fa", "dot": "#c3cad2", "2": "#59636e",
        "31": "#cf222e", "32": "#1a7f37", "33": "#9a6700", "34": "#0969da", "35": "#8250df", "36": "#1b7c83",
    },
    "dark": {
        "back": "#0d1117", "text": "#e6edf3", "edge": "#3d444d", "bar": "#151b23", "dot": "#3d444d", "2": "#9198a1",
        "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea",
    },
}  # fmt: skip
ESCAPE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


class Piece(NamedTuple):
    """Text of one style: numbers of escapes, such as 1 for bold and 36 for cyan."""

    text: str
    style: frozenset[str]


Line = tuple[Piece, ...]


class Moment(NamedTuple):
    """What a session did next: `typed` with its prompt, `shown` below, or a `screen` in place of all that was shown.

    All may hold escapes.
    """

    kind: str
    text: str
    prompt: str = ""


@dataclass
class State:
    """The screen from one time to another; `typed` rows come letter by letter, from the column behind the prompt."""

    start: float
    end: float
    rows: Sequence[Line]
    typed: list[tuple[int, int, int]] = field(default_factory=list)
    cursor: tuple[int, int] | None = None


class Timing(NamedTuple):
    """How long all of it takes, and where it begins when a page is opened: nobody looks at an empty screen for long."""

    whole: float
    begin: float

    def __str__(self) -> str:
        return f"{self.whole:.2f}s -{self.begin:.2f}s"

    def percent(self, time: float) -> str:
        return f"{100 * time / self.whole:.3f}".rstrip("0").rstrip(".") + "%"


def lines(text: str, columns: int = COLUMNS) -> list[Line]:
    """The rows that a text takes on the screen. Raises `ValueError` for an escape that moves the cursor."""
    found: list[list[Piece]] = [[]]
    style: frozenset[str] = frozenset()
    width = 0
    for plain, codes in _styled(text):
        for character in plain:
            if character == "\n" or width == columns:
                found.append([])
                width = 0
            if character != "\n":
                found[-1].append(Piece(character, style))
                width += 1
        style = _changed(style, codes)
    return [tuple(_joined(row)) for row in found]


def _styled(text: str) -> Iterator[tuple[str, str]]:
    """Each stretch of plain text with the codes that follow it."""
    text, at = text.replace("\r\n", "\n"), 0
    for found in ESCAPE.finditer(text):
        if found[2] != "m":
            raise ValueError(f"no picture can be made of {found[0]!r}")
        yield text[at : found.start()], found[1] or "0"
        at = found.end()
    yield text[at:], ""


def _changed(style: frozenset[str], codes: str) -> frozenset[str]:
    colours = {str(number) for number in (*range(30, 38), *range(90, 98))}
    for code in filter(None, codes.split(";")):
        if code == "0":
            style = frozenset()
        elif code == "39":
            style -= colours
        elif code == "27":
            style -= {"7"}
        elif code == "49":  # there is no other ground than the terminal's
            continue
        elif code == "22":
            style -= {"1", "2"}
        else:
            bright = str(int(code) - 60) if code in colours and int(code) >= 90 else code
            style = (style - colours if bright in colours else style) | {bright}
    return style


def _joined(row: Sequence[Piece]) -> Iterator[Piece]:
    text, style = "", frozenset[str]()
    for piece in row:
        if piece.style != style and text:
            yield Piece(text, style)
            text = ""
        style = piece.style
        text += piece.text
    if text:
        yield Piece(text, style)


def states(moments: Sequence[Moment], rows: int = ROWS) -> list[State]:
    """The screens of a session, one after another."""
    screen: list[Line] = []
    found: list[State] = []
    now = 0.0
    for number, moment in enumerate(moments):
        if moment.kind == "typed":
            before = len(screen)
            screen = [*screen, *lines(f"\x1b[32m{moment.prompt}\x1b[0;1m{moment.text}\x1b[0m")]
            length = TYPING * len(moment.text)
            shift = max(0, len(screen) - rows)
            typed = _typed(screen[before:], len(moment.prompt), before - shift)
            found.append(State(now, now + BEFORE + length, screen[-rows:], typed))
            now += BEFORE + length
            continue
        fresh = lines(moment.text.removesuffix("\n"))
        screen = fresh if moment.kind == "screen" else [*screen, *fresh]
        last = number == len(moments) - 1
        pause = LAST if last else min(AFTER + PER_LINE * len(fresh), LONGEST) if moment.text.strip() else 0.1
        if moment.kind == "screen":
            pause = LAST if last else AFTER * 1.5
        found.append(State(now, now + pause, screen[-rows:]))
        now += pause
    return found


def _typed(fresh: Sequence[Line], prompt: int, first: int) -> list[tuple[int, int, int]]:
    """Row, column and number of the letters of each row that is typed."""
    found = []
    for number, line in enumerate(fresh):
        start = 0 if number else prompt
        found.append((first + number, start, sum(len(piece.text) for piece in line) - start))
    return found


def svg(title: str, told: str, found: Sequence[State], palette: str, rows: int = ROWS) -> str:
    """The picture. `told` is for readers who do not see it."""
    colours = PALETTES[palette]
    width, height = round(COLUMNS * CELL) + 2 * EDGE, rows * LINE + BAR + 2 * EDGE
    timing = Timing(found[-1].end, next((state.start for state in found if len(state.rows) >= rows / 3), 0.0))
    numbers: dict[Line, int] = {}
    rules, groups = [], []
    for number, state in enumerate(found):
        rules.append(_visible(number, state, timing, last=number == len(found) - 1))
        covers, moves = _covers(number, state, timing)
        rules.extend(moves)
        uses = "".join(
            f'<use href="#l{numbers.setdefault(line, len(numbers))}" y="{row * LINE}"/>'
            for row, line in enumerate(state.rows)
            if line
        )
        groups.append(f'<g class="s" id="s{number}">{uses}{covers}</g>')
    texts = "\n".join(_text(line, number) for line, number in numbers.items())
    dots = "".join(f'<circle cx="{EDGE + 4 + 18 * n}" cy="{BAR / 2:g}" r="5.5" class="dot"/>' for n in range(3))
    middle, inner, corner = width / 2, width - 2 * EDGE, width - 8.5
    bar = f"M1 {BAR}V8.5A7.5 7.5 0 0 1 8.5 1H{corner}A7.5 7.5 0 0 1 {width - 1} 8.5V{BAR}Z"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="t d">\n<title id="t">{escape(title)}</title>\n'
        f'<desc id="d">{escape(told)}</desc>\n'
        f"<style>\n{_styles(colours)}\n{''.join(rules)}"
        "@media(prefers-reduced-motion:reduce){*{animation:none!important}.c{display:none}}\n</style>\n"
        f'<defs>{texts}</defs>\n<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8" class="frame"/>'
        f'<path d="{bar}" class="bar"/>{dots}'
        f'<text x="{middle:g}" y="{BAR / 2 + 5:g}" class="title">{escape(title)}</text>\n'
        f'<svg x="{EDGE}" y="{BAR + EDGE - 4}" width="{inner}" height="{rows * LINE + 4}">\n'
        + "\n".join(groups)
        + "\n</svg>\n</svg>\n"
    )


def _styles(colours: dict[str, str]) -> str:
    inks = "".join(f".k{name}{{fill:{value}}}" for name, value in colours.items() if name.isdigit())
    return (
        f"text{{font:15px {FONT};fill:{colours['text']};white-space:pre}}.k1{{font-weight:700}}{inks}"
        f".g7{{fill:{colours['text']}}}.k7{{fill:{colours['back']}}}"
        f".frame{{fill:{colours['back']};stroke:{colours['edge']}}}.bar{{fill:{colours['bar']}}}"
        f".dot{{fill:{colours['dot']}}}.title{{fill:{colours['2']};font-size:13px;text-anchor:middle}}"
        f".c rect{{fill:{colours['back']}}}.c .b{{fill:{colours['text']}}}.s{{visibility:hidden}}"
    )


def _visible(number: int, state: State, timing: Timing, *, last: bool) -> str:
    start, end = timing.percent(state.start), timing.percent(state.end)
    before = "" if start == "0%" else "0%{visibility:hidden}"
    after = "" if last else f"{end}{{visibility:hidden}}"
    shown = f"#s{number}{{visibility:visible}}" if last else ""
    return (
        f"{shown}@keyframes s{number}{{{before}{start}{{visibility:visible}}{after}}}"
        f"#s{number}{{animation:s{number} {timing} step-end infinite}}\n"
    )


def _covers(number: int, state: State, timing: Timing) -> tuple[str, list[str]]:
    """What hides the letters that are not typed yet, with the cursor at its left edge, and how it moves."""
    shapes, rules = "", []
    now = state.start + BEFORE
    for at, (row, column, count) in enumerate(state.typed):
        name, end = f"c{number}-{at}", now + TYPING * count
        rules.append(
            f"@keyframes {name}{{0%,{timing.percent(now)}{{transform:none;animation-timing-function:steps({count})}}"
            f"{timing.percent(end)},to{{transform:translateX({count * CELL:g}px)}}}}"
            f"#{name}{{animation:{name} {timing} linear infinite}}\n"
        )
        x, y = column * CELL, row * LINE
        cursor = f'<rect class="b" x="{x:g}" y="{y + 3}" width="8" height="17"/>'
        cover = f'<rect x="{x:g}" y="{y}" width="{COLUMNS * CELL:g}" height="{LINE + 3}"/>'
        shapes += f'<g class="c" id="{name}">{cover}{cursor}</g>'
        now = end
    return shapes, rules


def _text(line: Line, number: int) -> str:
    """A row; the width of each piece is told, so columns stand below each other in every font."""
    pieces, ground, column = "", "", 0
    for piece in line:
        if "7" in piece.style:
            x, length = column * CELL, len(piece.text) * CELL
            ground += f'<rect class="g7" x="{x:g}" y="1" width="{length:g}" height="{LINE}"/>'
        for word in re.finditer(r"\S+(?: \S+)*", piece.text):
            names = " ".join(f"k{code}" for code in sorted(piece.style))
            style = f' class="{names}"' if names else ""
            x, length, text = (column + word.start()) * CELL, len(word[0]) * CELL, escape(word[0], quote=False)
            place = f'x="{x:g}" textLength="{length:g}" lengthAdjust="spacingAndGlyphs"'
            pieces += f"<tspan {place}{style}>{text}</tspan>"
        column += len(piece.text)
    if ground:
        return f'<g id="l{number}">{ground}<text y="17">{pieces}</text></g>'
    return f'<text id="l{number}" y="17">{pieces}</text>'
