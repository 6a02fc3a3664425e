"""Plain lists inside of what holds words alone: as lines that start with a bullet or a number."""

from __future__ import annotations

from ..tree import Node, text_node

BULLETS = ("\u2022", "\u25e6")


def is_lines(part: Node) -> bool:
    """Whether a list says nothing that lines cannot: paragraphs, and further such lists."""
    return part.kind in ("bullets", "numbers") and all(
        item.content and item.content[0].kind == "paragraph" and all(is_lines(inner) for inner in item.content[1:])
        for item in part.content
    )


def as_lines(part: Node, level: int = 0) -> list[Node]:
    result: list[Node] = []
    start = part.attrs.get("start", 1)
    for place, item in enumerate(part.content):
        sign = BULLETS[min(level, 1)] if part.kind == "bullets" else f"{start + place}."
        result += [Node("break"), text_node(f"{sign} "), *item.content[0].content]
        for inner in item.content[1:]:
            result += as_lines(inner, level + 1)
    return result
