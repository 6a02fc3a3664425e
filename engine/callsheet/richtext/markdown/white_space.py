"""White space that tags and comments leave behind, and that a browser does not show."""

from __future__ import annotations

from ..tree import Node, merge_runs, text_node


def tidy_white_space(nodes: list[Node]) -> list[Node]:
    """Inline content without the white space that tags leave: at the edges, beside breaks, and twice in a row."""
    result: list[Node] = []
    for node in merge_runs(nodes):
        found = node
        if (
            node.kind == "text"
            and node.text.startswith(" ")
            and not _is_code(node)
            and (not result or _ends(result[-1]))
        ):
            found = text_node(node.text.lstrip(" "), node.marks)
        elif node.kind == "break" and result and result[-1].kind == "text":
            result[-1] = text_node(result[-1].text.rstrip(" "), result[-1].marks)
        result.append(found)
    if result and result[-1].kind == "text" and not _is_code(result[-1]):
        result[-1] = text_node(result[-1].text.rstrip(" "), result[-1].marks)
    return merge_runs(result)


def _is_code(node: Node) -> bool:
    return any(mark.kind == "codespan" for mark in node.marks)


def ends_blank(nodes: list[Node]) -> bool:
    """Whether the last of them ends with a space, so that another one beside it would show twice."""
    return bool(nodes) and nodes[-1].text.endswith(" ") and not _is_code(nodes[-1])


def _ends(node: Node) -> bool:
    return node.kind == "break" or (node.kind == "text" and node.text.endswith(" "))
