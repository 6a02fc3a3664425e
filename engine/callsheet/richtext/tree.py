"""The neutral tree every format is read into and written from.

Kinds of nodes are the ids of `node` definitions. Inline text is flat: a run of text carries all its marks, so that
crossing and nesting styles need no case of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as slot
from itertools import chain
from typing import Any, NamedTuple

Attrs = dict[str, Any]  # neutral name -> a JSON value; it may come from anybody, so nothing is sure of the value
MAX_DEPTH = 100  # nodes above one another; what is deeper is read as content of the deepest


class Mark(NamedTuple):
    kind: str
    attrs: Attrs


@dataclass(slots=True)
class Node:
    kind: str
    attrs: Attrs = slot(default_factory=dict)
    content: list[Node] = slot(default_factory=list)
    text: str = ""
    marks: tuple[Mark, ...] = ()
    kept: bool = slot(default=False, compare=False)  # restored as it was found: nothing is put into it

    def with_content(self, content: list[Node]) -> Node:
        """The same node around other content."""
        return Node(self.kind, self.attrs, content, self.text, self.marks, self.kept)

    def with_marks(self, marks: tuple[Mark, ...]) -> Node:
        """The same node with other marks."""
        return Node(self.kind, self.attrs, self.content, self.text, marks, self.kept)


def leads_somewhere(mark: Mark) -> bool:
    """Whether a mark is a link: one without an address, as in `<a name="x">`, is none."""
    return mark.kind == "link" and "href" in mark.attrs


@dataclass(slots=True)
class Verbatim(Node):
    """A node that is written as it stands in its source, where it may stand at all."""

    kept: bool = slot(default=True, compare=False)
    source: Any = slot(default=None, compare=False)


NO_ATTRS: Attrs = {}  # of texts, which there are most of: one for all saves half of their memory, so nobody fills them
NO_CONTENT: list[Node] = []


def text_node(value: str, marks: tuple[Mark, ...] = ()) -> Node:
    return Node("text", NO_ATTRS, NO_CONTENT, value, marks)


def walk_nodes(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        if found.content:
            pending += found.content[::-1]


def merge_runs(nodes: list[Node]) -> list[Node]:
    """Neighbouring runs of text with the same marks as one, without empty ones; the same list where there are none."""
    before: Node | None = None
    for node in nodes:
        if node.kind == "text" and (not node.text or (before is not None and before.marks == node.marks)):
            break
        before = node if node.kind == "text" else None
    else:
        return nodes
    result: list[Node] = []
    run: list[str] = []  # the words of the last node where they are several: joined once, not one by one
    for node in nodes:
        if node.kind == "text" and result and result[-1].kind == "text" and result[-1].marks == node.marks:
            run = run or [result[-1].text]
            run.append(node.text)
            continue
        if run:
            result[-1] = text_node("".join(run), result[-1].marks)
            run = []
        if node.kind != "text" or node.text:
            result.append(node)
    if run:
        result[-1] = text_node("".join(run), result[-1].marks)
    return result


def trim_inline(nodes: list[Node]) -> list[Node]:
    """Inline content without white space and line breaks at its edges."""
    result = merge_runs(nodes).copy()
    while result and _blank(result[0]):
        result.pop(0)
    while result and _blank(result[-1]):
        result.pop()
    if result and result[0].kind == "text":
        result[0] = text_node(result[0].text.lstrip(" \t\n"), result[0].marks)
    if result and result[-1].kind == "text":
        result[-1] = text_node(result[-1].text.rstrip(" \t\n"), result[-1].marks)
    return result


def paragraph_nodes(nodes: list[Node]) -> list[Node]:
    """A paragraph of inline content, or nothing where that says nothing."""
    content = trim_inline(nodes)
    return [Node("paragraph", content=content)] if content else []


BOLD = (Mark("strong", NO_ATTRS),)


def bold_nodes(nodes: list[Node]) -> list[Node]:
    return [node.with_marks((*BOLD, *node.marks) if node.marks else BOLD) for node in nodes]


def _blank(node: Node) -> bool:
    return node.kind == "break" or (node.kind == "text" and not node.text.strip(" \t\n"))


def spaces_out(nodes: list[Node]) -> list[Node]:
    """White space at the edges of marked text left out of the marks that start or end there; runs are merged."""
    nodes = merge_runs(nodes)
    if not [1 for node in nodes if node.marks and node.kind == "text" and node.text.strip() != node.text]:
        return nodes
    result: list[Node] = []
    for index, node in enumerate(nodes):
        if node.kind != "text" or not node.marks or any(mark.kind == "codespan" for mark in node.marks):
            result.append(node)
            continue
        before = _shared(node, nodes[index - 1] if index else None)
        after = _shared(node, nodes[index + 1] if index + 1 < len(nodes) else None)
        core = node.text.strip()
        if not core:
            result.append(text_node(node.text, tuple(mark for mark in before if mark in after)))
            continue
        start = node.text[: len(node.text) - len(node.text.lstrip())]
        result += [
            text_node(start, before),
            text_node(core, node.marks),
            text_node(node.text[len(start) + len(core) :], after),
        ]
    return merge_runs(result)


def _shared(node: Node, other: Node | None) -> tuple[Mark, ...]:
    """The marks that go on from a node to its neighbour."""
    if other is None:
        return ()
    return node.marks[: shared_length(node.marks, other.marks)]


def shared_length(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many of the things that two sequences begin with are equal."""
    differing = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def write_nested(pieces: Iterable[tuple[Sequence[Any], str]], tag: Callable[[Any, bool], str]) -> str:
    """Words with what is around them, outermost first; what goes on from one to the next is opened once.

    `tag` writes the start of one of these (True), or its end.
    """
    parts: list[str] = []
    opened: Sequence[Any] = ()
    for stack, words in chain(pieces, [((), "")]):
        same = shared_length(opened, stack)
        parts += [tag(one, False) for one in reversed(opened[same:])]  # noqa: FBT003 -- as a tag is told
        parts += [*(tag(one, True) for one in stack[same:]), words]  # noqa: FBT003
        opened = stack
    return "".join(parts)


class Losses:
    """What a conversion could not say, each once, in the order met."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def note(self, what: str) -> None:
        self._found[what] = None

    def notes(self) -> list[str]:
        return list(self._found)
