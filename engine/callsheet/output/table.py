"""Aligned columns of text on a terminal or in a pipe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..terminal import BOLD, PLAIN

_GAP = "  "
_LEAST = 8  # a column is not squeezed below this width
# A joiner with nothing to join would reach into the padding beside it.
_JOINS_NOTHING = re.compile("\u200d(?=[\x00-\x7f\u200d]|\\Z)|(?<![^\x00-\x7f])\u200d")


def table(
    header: Sequence[str] | None,
    rows: Iterable[Sequence[str]],
    *,
    limits: Sequence[int | None] = (),
    whole: Sequence[bool] = (),
    width: int | None = None,
    bold: bool = False,
) -> Iterator[str]:
    """The lines of a table, each with its line break. All cells are held, as the widths depend on them.

    Cells must be single lines without control characters. `width` is the terminal's; without one nothing is
    cut. `limits` are the widest the columns get on a terminal; `whole` columns are cut only where the others cannot
    make room.
    """
    cells = [[_joined(text) for text in row] for row in rows]
    if header is not None:
        cells.insert(0, [_joined(text) for text in header])
    if width is not None:
        _cut(cells, limits, whole, width)
    widths = _widths(cells)
    for index, row in enumerate(cells):
        line = _GAP.join(_padded(row, widths)).rstrip()
        yield f"{BOLD}{line}{PLAIN}\n" if bold and header is not None and index == 0 else f"{line}\n"


def display_width(text: str) -> int:
    """How many terminal cells the text takes: wide characters two, combining ones and joined emoji as a whole."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def shortened(text: str, width: int) -> str:
    """The text cut to `width` cells between whole characters, `…` at its end."""
    if display_width(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + "…"
    from wcwidth import iter_graphemes

    kept = ""
    for grapheme in iter_graphemes(text):
        if display_width(kept + grapheme) >= width:
            break
        kept += grapheme
    return kept + "…"


def _joined(text: str) -> str:
    return _JOINS_NOTHING.sub("", text) if "\u200d" in text else text


def _widths(cells: list[list[str]]) -> list[int]:
    return [max(map(display_width, column)) for column in zip(*cells, strict=True)]


def _padded(row: list[str], widths: list[int]) -> Iterator[str]:
    return (text + " " * (width - display_width(text)) for text, width in zip(row, widths, strict=True))


def _cut(cells: list[list[str]], limits: Sequence[int | None], whole: Sequence[bool], width: int) -> None:
    natural = _widths(cells)
    for index, limit in enumerate(limits):
        if limit is not None:
            natural[index] = min(natural[index], max(limit, 1))
    room = width - len(_GAP) * (len(natural) - 1)
    fitted = _fit_widths(natural, whole, room)
    for row in cells:
        row[:] = [shortened(text, most) for text, most in zip(row, fitted, strict=True)]


def _fit_widths(widths: list[int], whole: Sequence[bool], room: int) -> list[int]:
    """What may be cut gives way to what may not, if that leaves each `_LEAST`; else all give way."""
    kept = {place for place, keep in enumerate(whole) if keep}
    others = [width for place, width in enumerate(widths) if place not in kept]
    rest = room - sum(widths[place] for place in kept)
    if rest < sum(min(width, _LEAST) for width in others):
        return _shrink(widths, room)
    fitted = iter(_shrink(others, rest))
    return [width if place in kept else next(fitted) for place, width in enumerate(widths)]


def _shrink(widths: list[int], room: int) -> list[int]:
    """The widest columns give way first, all to the same width, none below `_LEAST`."""
    cap = max(widths, default=0)
    while cap > _LEAST and sum(min(width, cap) for width in widths) > room:
        cap -= 1
    return [min(width, cap) for width in widths]
