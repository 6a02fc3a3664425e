"""Lists that are more than lists: tasks with lists below them, boxes to tick, terms with what they mean."""

from __future__ import annotations

import re

from ..tree import NO_ATTRS, Node, bold_nodes, text_node

BOX = re.compile(
    r"<input\b(?=[^<>]*\stype\s*=\s*[\"']?checkbox\b)(?P<checked>[^<>]*\schecked(?=[\s=/>]))?[^<>]*>", re.IGNORECASE
)


def checkbox_sign(tag: str) -> str:
    """The box as Markdown writes it, before what it is for; empty for any other tag."""
    match = BOX.fullmatch(tag)
    return "" if match is None else "[x] " if match["checked"] else "[ ] "


def as_marker(words: str) -> str:
    """The words of an item, with a box that they begin with as Markdown writes it."""
    if not words.startswith("<"):
        return words
    match = BOX.match(words)
    return words if match is None else checkbox_sign(match[0]) + words[match.end() :].lstrip()


BULLETS = ("\u2022", "\u25e6")
ITEM_LINE = re.compile(rf"(?:{BULLETS[0]}|(?P<inner>{BULLETS[1]})|(?P<number>\d{{1,9}})\.) (?=\S|$)")


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
        rest = line[0].text[match.end() :] if match else ""
        if match is None or (match["inner"] and not lists) or not (rest or line[1:]):
            end += [Node("break"), *line]
            continue
        end = [*([text_node(rest)] if rest else []), *line[1:]]
        item = Node("item", content=[Node("paragraph", content=end)])
        beside = lists[-1].content[-1].content if match["inner"] else lists
        kind, number = ("numbers", int(match["number"])) if match["number"] else ("bullets", 1)
        last = beside[-1] if beside else item
        if last.kind != kind or (match["number"] and last.attrs.get("start", 1) + len(last.content) != number):
            last = Node(kind, {"start": number} if number != 1 else {})
            beside.append(last)
        last.content.append(item)
    return lines[0], lists


def definition_list(parts: list[Node]) -> list[Node]:
    """Terms and what they mean as a list: an item for each term, its words in bold.

    The parts are used up: a term becomes its item, so that a long list is not there twice.
    """
    items: list[Node] = []
    open_term = False
    parts.reverse()
    while parts:
        part = parts.pop()
        if part.kind == "dt":
            words = [n for block in part.content for n in (block.content if block.kind == "paragraph" else [block])]
            if open_term and items:
                items[-1].content[-1].content += [Node("break"), *bold_nodes(words)]
            else:
                items.append(Node("item", NO_ATTRS, [Node("paragraph", NO_ATTRS, bold_nodes(words))]))
            open_term = True
        else:
            if not items:
                items.append(Node("item"))
            items[-1].content += part.content if part.kind == "dd" else [part]
            open_term = False
    return [Node("bullets", content=items)] if items else []
