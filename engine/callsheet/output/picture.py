"""What a terminal would show, as a picture (SVG) for a page or a report: it needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from ..patterns import lazy_pattern
from .table import display_width

_CELL, _LINE, _EDGE = 8.4, 19, 16  # pixels
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
_ESCAPE = lazy_pattern("\x1b\\[([0-9;]*)m")
# The colors of a terminal on a light and on a dark ground; contrast with the ground is 4.5 to 1 or more.
COLORS = {
    "31": ("#cf222e", "#ff7b72"),
    "32": ("#1a7f37", "#7ee787"),
    "33": ("#9a6700", "#e3b341"),
    "34": ("#0969da", "#79c0ff"),
    "35": ("#8250df", "#d2a8ff"),
    "36": ("#1b7c83", "#76e3ea"),
    "2": ("#59636e", "#9198a1"),
}
_STYLE = (
    "svg{background:%s}text{fill:%s;white-space:pre;font:14px %s}.s1{font-weight:bold}.s4{text-decoration:underline}"
)


def svg_picture(chunks: Iterable[str]) -> Iterator[str]:
    """One picture of all the text; its styles are escapes."""
    lines = "".join(chunks).splitlines()
    width = max((display_width(_ESCAPE.sub("", line)) for line in lines), default=0) * _CELL + 2 * _EDGE
    height = len(lines) * _LINE + 2 * _EDGE
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n'
    light, dark = ("".join(f".s{code}{{fill:{pair[ground]}}}" for code, pair in COLORS.items()) for ground in (0, 1))
    yield f"<style>{_STYLE % ('#fff', '#1f2328', FONT)}{light}"
    yield f"@media(prefers-color-scheme:dark){{svg{{background:#0d1117}}text{{fill:#e6edf3}}{dark}}}</style>\n"
    for place, line in enumerate(lines):
        yield f'<text x="{_EDGE}" y="{_EDGE + (place + 0.75) * _LINE:.0f}">{"".join(_styled_spans(line))}</text>\n'
    yield "</svg>\n"


def _styled_spans(line: str) -> Iterator[str]:
    pieces = _ESCAPE.split(line)
    yield escape(pieces[0])
    for codes, text in zip(pieces[1::2], pieces[2::2], strict=True):
        names = " ".join(f"s{code}" for code in codes.split(";") if code not in ("", "0"))
        yield f'<tspan class="{names}">{escape(text)}</tspan>' if names and text else escape(text)
