"""Aligned columns of text on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from ..patterns import lazy_pattern
from ..terminal import painted_text

_GAP = "  "
_CIRCLE = "\u25cc"  # what Unicode shows a mark on that has no letter
_LEAST = 8  # a column is not squeezed below this width
LEFT_OUT = -1  # the width of a column for which there is no room
# A joiner with nothing to join would reach into the padding beside it.
_JOINS_NOTHING = lazy_pattern("\u200d(?=[\x00-\x7f\u200d]|\\Z)|(?<![^\x00-\x7f])\u200d")


class Cell(str):
    """One line of text, and the style that it has on a terminal."""

    __slots__ = ("style",)
    style: str

    def __new__(cls, text: str, style: str = "") -> Self:
        self = super().__new__(cls, text)
        self.style = style
        return self


def table_lines(
    header: Sequence[str] | None,
    rows: Iterable[Sequence[str]],
    *,
    limits: Sequence[int | None] = (),
    whole: Sequence[bool] = (),
    wrapped: Sequence[bool] = (),
    width: int | None = None,
    styles: bool = False,
) -> Iterator[str]:
    """The lines of a table, each with its line break. All cells are held, as the widths depend on them.

    Cells must be single lines without control characters. `width` is the terminal's; without one nothing is
    cut. `limits` are the widest that columns get where not all fit; `whole` columns are never cut, and the last of the
    others are left out where they would be too narrow; the text of `wrapped` ones goes on in the next line.
    """
    cells = [[settle_marks(text) for text in row] for row in rows]
    if header is not None:
        cells.insert(0, [Cell(settle_marks(text), "bold") for text in header])
    widths = _column_widths(cells)
    if width is not None:
        widths = fit_columns(widths, limits, whole, width)
    shown = [place for place, wide in enumerate(widths) if wide != LEFT_OUT]
    widths, wrapped = [widths[place] for place in shown], [place < len(wrapped) and wrapped[place] for place in shown]
    for row in ([line[place] for place in shown] for line in cells):
        paints = [text.style if styles and isinstance(text, Cell) else "" for text in row]
        for part in _row_lines(row, widths, wrapped):
            yield _padded_row(part, widths, paints) + "\n"


def side_by_side(cells: Sequence[str], width: int, *, styles: bool) -> Iterator[str]:
    """The lines of one row whose cells are all as wide, each going on in the next line where it does not fit."""
    texts = [settle_marks(text) for text in cells]
    paints = [text.style if styles and isinstance(text, Cell) else "" for text in texts]
    widths = [width] * len(texts)
    return (_padded_row(part, widths, paints) for part in _row_lines(texts, widths, [True] * len(texts)))


def _row_lines(row: Sequence[str], widths: Sequence[int], wrapped: Sequence[bool]) -> Iterator[list[str]]:
    """The row as it fits: cut, or over several lines."""
    cells = [
        broken_lines(text, most) if place < len(wrapped) and wrapped[place] else [shortened_cell(text, most)]
        for place, (text, most) in enumerate(zip(row, widths, strict=True))
    ]
    for number in range(max(map(len, cells))):
        yield [parts[number] if number < len(parts) else "" for parts in cells]


def broken_lines(text: str, width: int) -> list[str]:
    """The text in lines no wider than `width`, broken between words; a longer word stands alone and is cut."""
    if display_width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if display_width(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return [piece for line in lines for piece in _word_pieces(line, width)]


def _word_pieces(word: str, width: int) -> Iterator[str]:
    """A word that is too long, in parts that fit: an address must not lose its end."""
    while display_width(word) > width:
        part = shortened_cell(word, width + 1)[:-1] or word[0]
        yield part
        word = word[len(part) :]
    yield word


def display_width(text: str) -> int:
    """How many terminal cells the text takes: wide characters two, combining ones and joined emoji as a whole."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def shortened_cell(text: str, width: int) -> str:
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


def settle_marks(text: str) -> str:
    """A mark that begins a cell would join the padding before it, so it gets a circle to stand on."""
    if text.isascii():
        return text
    from unicodedata import category

    joined = _JOINS_NOTHING.sub("", text) if "\u200d" in text else text
    if category(joined[:1] or " ").startswith("M"):
        joined = _CIRCLE + joined
    return joined if joined is text else Cell(joined, text.style if isinstance(text, Cell) else "")


def _column_widths(cells: list[list[str]]) -> list[int]:
    return [max(map(display_width, column)) for column in zip(*cells, strict=True)]


def _padded_row(parts: Sequence[str], widths: Sequence[int], paints: Sequence[str]) -> str:
    """The parts padded to their widths; styles end before the padding, and the last part has none."""
    last = max((place for place, text in enumerate(parts) if text.strip()), default=-1)
    line = ""
    for place in range(last + 1):
        text = parts[place].rstrip() if place == last else parts[place]
        line += painted_text(text, paints[place])
        if place < last:
            line += " " * (widths[place] - display_width(text)) + _GAP
    return line


def fit_columns(natural: list[int], limits: Sequence[int | None], whole: Sequence[bool], width: int) -> list[int]:
    """The widths of columns on a terminal: a limit holds only where room is short, and what is left goes to such."""
    room = width - len(_GAP) * (len(natural) - 1)
    if sum(natural) <= room:
        return natural
    most = [limits[place] if place < len(limits) else None for place in range(len(natural))]
    limited = [wide if limit is None else min(wide, max(limit, 1)) for wide, limit in zip(natural, most, strict=True)]
    spare = room - sum(limited)
    if spare < 0:
        return _fit_widths(limited, whole, room)
    for place, wide in enumerate(natural):
        more = min(spare, wide - limited[place])
        limited[place] += more
        spare -= more
    return limited


def _fit_widths(widths: list[int], whole: Sequence[bool], room: int) -> list[int]:
    """What may be cut gives way to what may not; the last are left out where less than `_LEAST` is left."""
    kept = {place for place, keep in enumerate(whole) if keep}
    if not kept:
        return _shrink_widths(widths, room)
    rest = room - sum(widths[place] for place in kept)
    others = [place for place in range(len(widths)) if place not in kept]
    while others and rest < sum(min(widths[place], _LEAST) for place in others):
        others.pop()
        rest += len(_GAP)
    fitted = dict(zip(others, _shrink_widths([widths[place] for place in others], rest), strict=True))
    return [width if place in kept else fitted.get(place, LEFT_OUT) for place, width in enumerate(widths)]


def _shrink_widths(widths: list[int], room: int) -> list[int]:
    """The widest columns give way first, all to the same width, none below `_LEAST`."""
    cap = max(widths, default=0)
    while cap > _LEAST and sum(min(width, cap) for width in widths) > room:
        cap -= 1
    return [min(width, cap) for width in widths]
