"""Definition lists, which no format has, as lists of terms in bold."""

from __future__ import annotations

from ..tree import NO_ATTRS, Node, bold_nodes


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
