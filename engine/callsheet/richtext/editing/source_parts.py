"""A document as parts, each with what Markdown says of it and what its source is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..tree import Attrs, Mark, Node, merge_runs, text_node

TOKEN = re.compile(r"[ \t\r\n]+|[^\W_]+|.", re.DOTALL)
WORD = re.compile(r"[^\W_]+")
SPACE = frozenset(" \t\r\n")
Shape = tuple[Any, ...]
UNMARKED: frozenset[Shape] = frozenset()


@dataclass(slots=True, eq=False)
class Wrapper:
    """An element or mark around words: the mark that Markdown can say, if any, and the source."""

    mark: Mark | None
    source: Any
    plain: bool = False  # holds nothing but text
    base: Wrapper | None = None  # what it is an edit of: the same with another address


def marks_of(stack: tuple[Wrapper, ...]) -> tuple[Mark, ...]:
    """The marks that Markdown says, each kind once."""
    found: dict[str, Mark] = {}
    for mark in (wrapper.mark for wrapper in stack if wrapper.mark is not None):
        found.setdefault(mark.kind, mark)
    return tuple(found.values())


@dataclass(slots=True)
class Piece:
    """Source of inline content, and what is around it."""

    source: Any
    stack: tuple[Wrapper, ...] = ()
    text: str = ""


@dataclass(slots=True, eq=False)
class EditToken:
    """A word, a space, a sign or an inline node; `after` is source that nobody sees."""

    text: str = ""
    node: Node | None = None
    marks: tuple[Mark, ...] = ()
    pieces: list[Piece] = field(default_factory=list)
    after: list[Piece] = field(default_factory=list)
    whole: list[EditToken] | None = None  # the tokens that together stand for one piece of source
    label: Label | None = None  # the words inside of a node

    @property
    def blank(self) -> bool:
        return self.node is None and self.text[:1] in SPACE

    @property
    def airy(self) -> bool:
        """Whether it is white space of any sort, on which marks do not show."""
        return self.node is None and self.text.isspace()

    @property
    def key(self) -> Shape:
        """What must be equal for it to be the same word or node."""
        if self.node is not None:
            attrs = {**self.node.attrs, **(self.node.content[0].attrs if self.node.kind == "figure" else {})}
            # Words for what something else names: an emoji of another name is another one, a mention is not.
            hidden = LABELS if self.node.kind != "inlinereference" and attrs.keys() - LABELS else frozenset()
            kind = FRAMED[0] if self.node.kind in FRAMED else self.node.kind  # with a caption or without
            return (kind, *sorted((k, repr(v)) for k, v in attrs.items() if k not in hidden))
        return ("", " " if self.blank else self.text)

    @property
    def shape(self) -> Shape:
        if self.node is not None:
            return shape_of_node(self.node)
        if not self.marks:
            return ("", " " if self.blank else self.text, UNMARKED)
        kinds = {_said(mark) for mark in self.marks if not self.airy or mark.kind == "codespan"}
        return (*self.key, frozenset(kinds))


@dataclass(slots=True, eq=False)
class Label:
    """The words inside of a node, the source before them that nobody sees, and where in the node's source they are."""

    lead: list[Piece]
    line: list[EditToken]
    start: int = 0
    end: int = 0

    @property
    def words(self) -> str:
        return "".join(" " if token.blank else token.text for token in self.line)


LABELS = frozenset({"label", "name", "text", "alt"})


def _said(mark: Mark) -> Shape:
    return (mark.kind, *sorted((k, v) for k, v in mark.attrs.items() if isinstance(v, str)))


@dataclass(slots=True, eq=False)
class Part:
    """A block: `parts` where it holds blocks, `line` where it holds words, `words` where it is plain text."""

    kind: str
    attrs: Attrs
    source: Any
    parts: list[Part] | None = None
    line: list[EditToken] | None = None
    words: str = ""
    lead: list[Piece] = field(default_factory=list)  # source before the words that nobody sees
    label: str = ""  # the name it has in the text where Markdown has no construct for it
    opaque: bool = False  # Markdown says nothing of what is in it

    fixed: bool = False  # it has no source of its own, so it cannot stand anywhere else
    _shape: Shape | None = None

    @property
    def inner(self) -> list[Part]:
        """The blocks in it that Markdown shows."""
        return [] if self.opaque else self.parts or []

    def shell(self) -> Node:
        """What Markdown says of it, without the blocks in it."""
        if self.opaque or self.label:
            return Node("reference", {"label": self.label})
        if self.parts is None and self.line is not None:
            return Node(self.kind, dict(self.attrs), nodes_of(self.line))
        return Node(self.kind, dict(self.attrs), [text_node(self.words)] if self.words else [])

    def shape(self) -> Shape:
        """The same as `shape` of what Markdown says of it."""
        if inner := [part.shape() for part in self.inner]:
            return shape_around(self.shell(), inner)
        if self._shape is None:
            self._shape = shape_of_node(self.shell())
        return self._shape

    def changed(self) -> None:
        """Markdown says something else of it now."""
        self._shape = None

    def said(self) -> Node:
        """What Markdown says of it."""
        inner = [part.said() for part in self.inner]
        return self.shell().with_content(inner) if inner else self.shell()


def tokens_of(nodes: list[Node]) -> list[EditToken]:
    """Inline content as it was read, in tokens."""
    found: list[EditToken] = []
    for node in nodes:
        if node.kind == "text":
            found += [EditToken(words, marks=node.marks) for words in TOKEN.findall(node.text)]
        else:
            marks = tuple(mark for mark in node.marks if mark.kind == "link") if node.kind in FRAMED else ()
            found.append(EditToken(node=Node(node.kind, node.attrs, node.content, node.text, marks), marks=marks))
    return seen_tokens(found)[1]


FRAMED = ("image", "figure")  # an image alone and with its caption; nodes that can be a link


def seen_tokens(tokens: list[EditToken]) -> tuple[list[Piece], list[EditToken]]:
    """Tokens that are seen, and the source before them. No space stands at an edge, a line break or a space."""
    lead: list[Piece] = []
    result: list[EditToken] = []
    last: EditToken | None = None
    ended = True  # whether what is seen ends with nothing, a space or a line break
    for token in tokens:
        words, node = token.text, token.node
        if node is None:
            blank = words[:1] in SPACE or not words
            if blank and (ended or not words):
                (last.after if last else lead).extend([*token.pieces, *token.after])
                continue
            if last and not ended and words[0].isalnum() and last.text[:1].isalnum() and _joins(last, token):
                last.text += words
                last.pieces += [*last.after, *token.pieces]
                last.after = token.after
                continue
            ended = blank
        elif node.kind == "break":
            if last is None:
                lead.extend([*token.pieces, *token.after])
                continue
            if last.blank:
                _dropped(result, lead)
            ended = True
        else:
            ended = False
        result.append(token)
        last = token
    while result and (result[-1].blank or _breaks(result[-1])):
        _dropped(result, lead)
    return lead, result


def _dropped(result: list[EditToken], lead: list[Piece]) -> None:
    last = result.pop()
    (result[-1].after if result else lead).extend([*last.pieces, *last.after])


def _breaks(token: EditToken) -> bool:
    return token.node is not None and token.node.kind == "break"


def _joins(one: EditToken, other: EditToken) -> bool:
    return one.whole is None is other.whole and marked_alike(one, other)


def marked_alike(one: EditToken, other: EditToken) -> bool:
    return one.marks == other.marks or {*map(_said, one.marks)} == {*map(_said, other.marks)}


def nodes_of(tokens: list[EditToken]) -> list[Node]:
    """Tokens as runs of text and nodes; spaces carry the marks that go on over them."""
    if not any(token.marks or token.node for token in tokens):
        return [text_node("".join([" " if token.blank else token.text for token in tokens]))] if tokens else []
    result: list[Node] = []
    before, after = _marks_before(tokens), _marks_before(tokens[::-1])[::-1]
    for token, left, right in zip(tokens, before, after, strict=True):
        if token.node is not None:
            result.append(token.node)
            continue
        marks = token.marks
        if token.airy and not any(mark.kind == "codespan" for mark in marks):
            marks = tuple(mark for mark in marks if mark in left and mark in right)
        result.append(text_node(" " if token.blank else token.text, marks))
    return merge_runs(result)


def _marks_before(tokens: list[EditToken]) -> list[tuple[Mark, ...]]:
    """For each token the marks of the last one before it that is seen."""
    found: list[tuple[Mark, ...]] = []
    marks: tuple[Mark, ...] = ()
    for token in tokens:
        found.append(marks)
        marks = marks if token.airy else token.marks
    return found


def shape_of_node(node: Node) -> Shape:
    """What is compared: everything that Markdown says, and nothing that it says by chance."""
    if node.kind == "code":
        words = "".join(child.text for child in node.content).replace("\r\n", "\n")
        return (node.kind, _attrs(node), words)
    if node.kind in LINES and not any(child.kind in HOLDERS for child in node.content):
        if any(child.marks or child.kind != "text" for child in node.content):
            return (node.kind, _attrs(node), *(token.shape for token in tokens_of(node.content)))
        found = TOKEN.findall("".join([child.text for child in node.content]).strip(" \t\r\n"))
        return (node.kind, _attrs(node), *[("", " " if word[0] in SPACE else word, UNMARKED) for word in found])
    return shape_around(node, [shape_of_node(child) for child in node.content])


LINES = frozenset({"paragraph", "heading", "task", "decision"})
HOLDERS = frozenset({"paragraph", "item", "row", "cell", "header"})


def shape_around(node: Node, inner: list[Shape]) -> Shape:
    """The shape of a node that holds what has these shapes."""
    return (node.kind, _attrs(node), node.text, frozenset(_said(mark) for mark in node.marks), *inner)


def _attrs(node: Node) -> Shape:
    return tuple(sorted((name, repr(value)) for name, value in node.attrs.items())) if node.attrs else ()


def label_tokens(token: EditToken, says: Callable[[Piece], str]) -> list[EditToken]:
    """A token as a label has it: without marks, white space of any sort as a space, a node as what it `says`."""
    token.marks = ()
    if token.node is not None:
        return word_tokens(says(token.pieces[0]), token.pieces[0])
    if token.airy:
        token.text = " "
    return [token]


def word_tokens(said: str, piece: Piece) -> list[EditToken]:
    """The words that a node says: together they stand for its source."""
    found = [EditToken(" " if words.isspace() else words) for words in TOKEN.findall(said)]
    seen = [place for place, token in enumerate(found) if not token.blank]
    if not seen:
        return [*found, EditToken(pieces=[piece])]
    whole = found[seen[0] : seen[-1] + 1]
    whole[0].pieces = [piece]
    for token in whole:
        token.whole = whole
    return found


def caption_of(node: Node) -> str:
    """The caption of an image as Markdown has it."""
    return "".join(child.text for part in node.content if part.kind == "caption" for child in part.content)
