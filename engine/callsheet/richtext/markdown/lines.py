"""Plain lists inside of what holds words alone: lines that start with a bullet or a number, and lists in Markdown."""

from __future__ import annotations

import re

from ..tree import Node, text_node

BULLETS = ("\u2022", "\u25e6")
ITEM_LINE = re.compile(rf"(?:{BULLETS[0]}|(?P<inner>{BULLETS[1]})|(?P<number>\d{{1,9}})\.) (?=\S)")


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


def lists_of_lines(content: list[Node]) -> tuple[list[Node], list[Node]]:
    """The words before the first line that is an item, and the lists that `as_lines` makes these lines of again."""
    lines: list[list[Node]] = [[]]
    for node in content:
        if node.kind == "break" and not node.attrs:
            lines.append([])
        else:
            lines[-1].append(node)
    end, lists = lines[0], list[Node]()  # the words that a further line belongs to
    for line in lines[1:]:
        match = ITEM_LINE.match(line[0].text) if line and not line[0].marks else None
        if match is None or (match["inner"] and not lists):
            end += [Node("break"), *line]
            continue
        end = [text_node(line[0].text[match.end() :]), *line[1:]]
        item = Node("item", content=[Node("paragraph", content=end)])
        beside = lists[-1].content[-1].content if match["inner"] else lists
        kind, number = ("numbers", int(match["number"])) if match["number"] else ("bullets", 1)
        last = beside[-1] if beside else item
        if last.kind != kind or (match["number"] and last.attrs.get("start", 1) + len(last.content) != number):
            last = Node(kind, {"start": number} if number != 1 else {})
            beside.append(last)
        last.content.append(item)
    return lines[0], lists
