"""A graph without circles as a picture (SVG): boxes in rows, with arrows that all point down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from math import fsum  # where `sum` adds up with another error in each version of Python
from typing import NamedTuple

from terminal_svg import FONT, PALETTES

BOX, HEIGHT, GAP, EDGE = 100, 30, 20, 16  # pixels, as all sizes here
ROW = 74  # from the top of one row to the top of the next
PASSAGE = 26  # what an arrow needs that passes through a row
HEAD = 6
ROUNDS = 24

Graph = Mapping[str, set[str]]


class Spot(NamedTuple):
    """A place in a row: the box `name`, or where the arrow from `name` to `end` passes."""

    row: int
    name: str
    end: str = ""

    @property
    def half(self) -> float:
        return (PASSAGE if self.end else BOX) / 2


Way = list[Spot]  # of one arrow, a spot in each row


def depths(graph: Graph) -> dict[str, int]:
    """The row of each box: below all that point at it."""

    def depth(name: str) -> int:
        return max((depth(other) + 1 for other in graph if name in graph[other]), default=0)

    return {name: depth(name) for name in graph}


def ways(graph: Graph) -> list[Way]:
    row = depths(graph)
    return [
        [Spot(row[name], name), *(Spot(at, name, end) for at in range(row[name] + 1, row[end])), Spot(row[end], end)]
        for name in sorted(graph)
        for end in sorted(graph[name])
    ]


def middles(graph: Graph) -> dict[Spot, float]:
    """Where the middle of each spot is. Rows are ordered by where their neighbours are, again and again."""
    row, routes = depths(graph), ways(graph)
    spots = {Spot(row[name], name) for name in graph} | {spot for way in routes for spot in way}
    rows = [sorted(spot for spot in spots if spot.row == number) for number in range(max(row.values()) + 1)]
    near: dict[Spot, list[Spot]] = {spot: [] for spot in spots}
    for one, other in (pair for way in routes for pair in pairwise(way)):
        near[one].append(other)
        near[other].append(one)
    found = {spot: place for each in rows for spot, place in _placed(each, dict.fromkeys(each, 0.0)).items()}
    for turn in range(ROUNDS):
        for each in rows if turn % 2 else reversed(rows):
            wanted = {spot: fsum(found[other] for other in near[spot]) / max(1, len(near[spot])) for spot in each}
            found |= _placed(sorted(each, key=lambda spot, wanted=wanted: (wanted[spot], spot)), wanted)  # type: ignore[misc]
    left = min(place - spot.half for spot, place in found.items())
    return {spot: place - left + EDGE for spot, place in found.items()}


def _placed(row: Sequence[Spot], wanted: Mapping[Spot, float]) -> dict[Spot, float]:
    """As near to where each wants to be as its neighbours in the row leave room for."""
    found: dict[Spot, float] = {}
    end = float("-inf")
    for spot in row:
        found[spot] = max(wanted[spot], end + spot.half)
        end = found[spot] + spot.half + GAP
    shift = fsum(found[spot] - wanted[spot] for spot in row) / len(row)
    return {spot: place - shift for spot, place in found.items()}


def svg(title: str, graph: Graph, palette: str) -> str:
    """The picture in the colors of `PALETTES[palette]`; its description names every arrow."""
    colors, middle = PALETTES[palette], middles(graph)
    width = max(place + spot.half for spot, place in middle.items()) + EDGE
    height = top(max(middle)) + HEIGHT + EDGE
    told = "\n".join(f"{name} --> {end}" for name in sorted(graph) for end in sorted(graph[name]))
    style = (
        f"text{{font:13px {FONT};fill:{colors['text']};text-anchor:middle}}"
        f".box{{fill:{colors['bar']};stroke:{colors['edge']}}}"
        f".way{{fill:none;stroke:{colors['2']};stroke-width:1.3}}.head{{fill:{colors['2']}}}"
    )
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(told)}</desc>",
        f"<style>{style}</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{colors["back"]}" stroke="{colors["edge"]}"/>',
        *(_arrow(way, middle) for way in ways(graph)),
        *(_box(spot, middle[spot]) for spot in sorted(middle) if not spot.end),
        "</svg>\n",
    ]
    return "\n".join(parts)


def top(spot: Spot) -> int:
    return EDGE + spot.row * ROW


def _box(spot: Spot, middle: float) -> str:
    x, y = middle - BOX / 2, top(spot)
    return (
        f'<rect class="box" x="{x:.1f}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="6"/>'
        f'<text x="{middle:.1f}" y="{y + 20}">{escape(spot.name)}</text>'
    )


def _arrow(way: Way, middle: Mapping[Spot, float]) -> str:
    """It bends between the rows, and goes straight through each."""
    path = f"M{middle[way[0]]:.1f} {top(way[0]) + HEIGHT}"
    for one, other in pairwise(way):
        start, end, below = middle[one], middle[other], top(other)
        bend = (top(one) + HEIGHT + below) / 2
        path += f"C{start:.1f} {bend:.1f} {end:.1f} {bend:.1f} {end:.1f} {below}"
        path += f"V{below + HEIGHT}" if other.end else ""
    tip = f"M{middle[way[-1]]:.1f} {top(way[-1])}l-{HEAD - 2} -{HEAD + 1}h{2 * (HEAD - 2)}z"
    return f'<path class="way" d="{path}"/><path class="head" d="{tip}"/>'
