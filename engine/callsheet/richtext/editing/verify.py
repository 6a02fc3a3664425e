"""Makes sure that the text of a document reads back as what it says; what would not has a place of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..lossless_markers import marker_label
from ..markdown.front_matter import without_front_matter
from ..storage.xml import NOT_XML
from ..tree import Node
from .sayable import Sayable
from .source_parts import LINES, WORD, Part, Shape, shape_of_node, tokens_of

ROUNDS = 20
Own = Callable[[Part], str]


def readable_blocks(nodes: list[Node]) -> list[Node]:
    """Blocks as they were read, without those that say nothing."""
    result: list[Node] = []
    for node in nodes:
        if node.kind in ("paragraph", "heading", "task", "decision", "code") or not node.content:
            if node.kind not in ("paragraph", "heading") or tokens_of(node.content):
                result.append(node)
            continue
        result.append(node.with_content(readable_blocks(node.content)))
    return result


def settle_text(root: Part, sayable: Sayable, own: Own) -> str:
    """The text of a document, after all that would read back otherwise has become a place in it.

    `own` is the source of a part.
    """
    for _round in range(ROUNDS):
        words = sayable.write_blocks([part.said() for part in root.parts or ()])
        wrong = _differing(root.parts or [], _read(words, sayable))
        if not wrong:
            return words
        for part in wrong:
            _reduced(part, sayable, own)
    for part in root.parts or ():
        _seal(part, own)
    return sayable.write_blocks([part.said() for part in root.parts or ()])


def lost_words(wanted: list[Node], written: Part) -> list[str]:
    """The words of blocks that are not in what was written."""
    there: Counter[str] = Counter()
    pending = [written]
    while pending:
        part = pending.pop()
        there.update(WORD.findall("".join([token.text or " " for token in part.line or ()]) or part.words))
        pending += part.inner
    return list((_words(wanted) - there).elements())


def _words(nodes: list[Node]) -> Counter[str]:
    found: Counter[str] = Counter()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node.kind in LINES or node.kind == "code":
            found.update(WORD.findall(NOT_XML.sub("", "".join([child.text or " " for child in node.content]))))
        else:
            pending += node.content
    return found


def _read(words: str, sayable: Sayable) -> list[Shape]:
    return [
        shape_of_node(node)
        for node in readable_blocks(
            sayable.reader.read_blocks(without_front_matter(words.replace("\0", "\ufffd"))).content
        )
    ]


def _differing(parts: list[Part], back: list[Shape]) -> list[Part]:
    wanted = [part.shape() for part in parts]
    if wanted == back:
        return []
    if len(wanted) == len(back):
        return [part for part, one, other in zip(parts, wanted, back, strict=True) if one != other]
    place = next((n for n, (one, other) in enumerate(zip(wanted, back, strict=False)) if one != other), len(wanted) - 1)
    return [part for part in parts[max(place - 1, 0) : place + 1] if not part.opaque]


def _faithful(part: Part, sayable: Sayable) -> bool:
    node = part.said()
    frame = FRAMES.get(node.kind, ())
    for kind in frame:
        node = Node(kind, {}, [node])
    return _read(sayable.write_blocks([node]), sayable) == [shape_of_node(node)]


FRAMES = {
    "item": ("bullets",),
    "task": ("tasks",),
    "decision": ("decisions",),
    "cell": ("row", "table"),
    "header": ("row", "table"),
    "row": ("table",),
}


def _reduced(part: Part, sayable: Sayable, own: Own) -> None:
    """Seals the smallest parts that do not read back, and the whole where its parts do and it does not."""
    if part.opaque or _faithful(part, sayable):
        return
    for inner in part.parts or ():
        _reduced(inner, sayable, own)
    if part.line is not None:
        _place_odd_spaces(part)
    if not _faithful(part, sayable):
        _seal(part, own)


def _place_odd_spaces(part: Part) -> None:
    """Gives white space that Markdown takes off, such as a vertical tab, places of its own, so that the words stay."""
    for token in part.line or ():
        if token.airy and not token.blank:
            token.node = Node("inlinereference", {"label": marker_label("space", repr(token.text))})
            token.text, token.marks = "", ()
    part.changed()


def _seal(part: Part, own: Own) -> None:
    if part.kind in FRAMES:
        for inner in part.parts or ():
            _seal(inner, own)
        return
    if not part.opaque:
        part.opaque = True
        part.changed()
        words = " ".join(part.label.split()[:-1]) if part.label else part.kind
        part.label = marker_label(words, own(part))
