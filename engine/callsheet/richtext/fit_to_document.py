"""Makes a tree fit the document format: what may not stand where it stands is hoisted or flattened, never dropped.

Each definition lists in `unfit` what becomes of its node where the parent does not hold it, best first: a kind to turn
into, `split` (the parent ends before it and goes on after it), or one of `FLATTEN`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Any

from .adf.document_forms import form_of
from .node_rules import Rules
from .plain_text import visible_text
from .tree import (
    NO_ATTRS,
    Losses,
    Mark,
    Node,
    Verbatim,
    bold_nodes,
    merge_runs,
    paragraph_nodes,
    spaces_out,
    text_node,
    trim_inline,
    walk_nodes,
)


def keep_content(node: Node, rules: Rules) -> list[Node]:
    return node.content or plain_inline(node, rules)


def plain_inline(node: Node, rules: Rules) -> list[Node]:
    words = visible_text(node, rules) or " ".join(
        filter(None, (visible_text(child, rules) for child in walk_nodes(node) if not child.content))
    )
    return [text_node(words, tuple(mark for mark in node.marks if mark.kind == "link"))] if words else []


def as_bold_paragraph(node: Node, _rules: Rules) -> list[Node]:
    return [Node("paragraph", content=bold_nodes(node.content))]


def with_title_above(node: Node, _rules: Rules) -> list[Node]:
    title = node.attrs.get("title")
    return [*([Node("paragraph", content=bold_nodes([text_node(title)]))] if title else []), *node.content]


def rows_as_paragraphs(node: Node, _rules: Rules) -> list[Node]:
    """Every row of a table as a paragraph, cells set apart by bars."""
    result = []
    for row in node.content:
        line: list[Node] = []
        for cell in row.content:
            line += [text_node(" | ")] if line else []
            for found in walk_nodes(cell):
                line += (
                    [found]
                    if not found.content
                    and found.kind in ("text", "break", "mention", "emoji", "date", "status", "card", "image")
                    else []
                )
        result.append(Node("paragraph", content=trim_inline(line)))
    return result


def images_as_links(node: Node, rules: Rules) -> list[Node]:
    """Images as linked text, by their file where they have no words, but none that only decorate; the rest as it is."""
    result: list[Node] = []
    for found in walk_nodes(node):
        if found.kind == "image" and found.attrs.get("alt") != "":
            url = found.attrs.get("url", "")
            linked = any(mark.kind == "link" for mark in found.marks)
            marks = found.marks if linked or not url else (*found.marks, Mark("link", {"href": url}))
            words = visible_text(found, rules) or url.rpartition("/")[2] or url
            result.append(text_node(words, tuple(m for m in marks if m.kind != "border")))
        elif found.kind == "text":
            result += [text_node(" "), found] if result else [found]
    return result


FLATTEN: dict[str, Callable[[Node, Rules], list[Node]]] = {
    "content": keep_content,
    "text": plain_inline,
    "strong": as_bold_paragraph,
    "titled": with_title_above,
    "rows": rows_as_paragraphs,
    "link": images_as_links,
}


@dataclass(slots=True)
class Up(Node):
    """A node on its way up to a parent that holds it."""

    held: Node | None = None


def fit_to_rules(root: Node, rules: Rules, losses: Losses) -> Node:
    return Fitter(rules, losses).root(root)


class Fitter:
    def __init__(self, rules: Rules, losses: Losses) -> None:
        self.rules = rules
        self.losses = losses
        self._rows = rules.rows_become
        self._marks: dict[tuple[Any, ...], tuple[bool, ...]] = {}

    def root(self, root: Node) -> Node:
        content = [
            node
            for child in _wrapped(root, self.rules)
            for node in self.place_child(child, root)
            if not isinstance(node, Up)
        ]
        return root.with_content(content or [Node(self.rules.definition_of(root.kind)["empty"])])

    def place_child(self, child: Node, parent: Node, *, raised: bool = False, last: bool = True) -> list[Node]:
        """The nodes that stand for `child` in `parent`; those that must go further up are `Up`.

        What is not the `last` in a parent that ends before it is text where it can be: the rest stays in the parent.
        """
        rules = self.rules
        if child.kind in rules.holds.get(parent.kind, ()) and (self._sayable(child) or self._hollow(child, parent)):
            if "title" in child.attrs and child.kind in self.rules.untitled and not child.kept:
                return self._under_title(child, parent)
            return self._settled(child, parent)
        if not raised and (wrapper := self._wrapper(child, parent)):
            return self.place_child(Node(wrapper, content=[child]), parent)
        for attempt in rules.definition_of(child.kind).get("unfit", ()):
            if attempt == "split":
                ends = rules.definition_of(parent.kind).get("ends")
                stays = ends and not last and "text" in rules.definition_of(child.kind).get("unfit", ())
                if (ends or rules.definition_of(parent.kind).get("splits")) and not stays:
                    return [_up(child)]
            elif attempt in FLATTEN:
                self._note(child, parent)
                return [node for part in FLATTEN[attempt](child, rules) for node in self.place_child(part, parent)]
            elif attempt in rules.holds.get(parent.kind, ()):
                return self.place_child(self._turned(child, attempt), parent)
        self._note(child, parent)
        return (
            [node for part in plain_inline(child, rules) for node in self.place_child(part, parent)]
            if child.kind != "text"
            else []
        )

    def _under_title(self, child: Node, parent: Node) -> list[Node]:
        """A block whose title the format has no attribute for: the title is its first paragraph, or one before it."""
        title = child.attrs["title"]
        words = [Node("paragraph", content=bold_nodes([text_node(title)]))] if title and isinstance(title, str) else []
        attrs = {name: value for name, value in child.attrs.items() if name != "title"}
        inside = "paragraph" in self.rules.holds[child.kind]
        bare = Node(child.kind, attrs, [*words, *child.content] if inside else child.content, "", child.marks)
        return [node for one in ([bare] if inside else [*words, bare]) for node in self.place_child(one, parent)]

    def _note(self, child: Node, parent: Node) -> None:
        if child.kind not in ("paragraph", "item", "cell", "header", "row", "text"):
            self.losses.note(f"{child.kind} is not possible in {parent.kind}: only its content is kept")

    def _sayable(self, node: Node) -> bool:
        if node.kind in self.rules.always_sayable:
            return node.kind != "text" or bool(node.text)
        found = form_of(self.rules, node.kind, node.attrs) if self.rules.forms[node.kind][0].fields else None
        form = found[0] if found else self.rules.forms[node.kind][0]
        if found is None and form.fields:
            return False
        if not form.least:
            return True
        counted = form.starts or self.rules.holds[node.kind]
        return form.least <= sum(child.kind in counted and self._sayable(child) for child in node.content)

    def _hollow(self, child: Node, parent: Node) -> bool:
        """Whether it is restored as it was found, empty, in a parent where that is allowed."""
        form = self.rules.forms[child.kind][0]
        return child.kept and not child.content and parent.kind in form.table.get("hollow_in", ())

    def _wrapper(self, child: Node, parent: Node) -> str | None:
        """The kind that `parent` is made of, when its definition says so and it can hold the child."""
        kind = self.rules.definition_of(parent.kind).get("empty")
        holds = self.rules.holds.get(kind or "", frozenset())
        if kind is None or kind in {parent.kind, child.kind}:
            return None
        structural = self.rules.group(kind) == "part" and self.rules.group(child.kind) != "part"
        return kind if child.kind in holds or structural else None

    def _turned(self, child: Node, kind: str) -> Node:
        """The node as another kind: around it where that kind holds it, in its place otherwise."""
        if child.kind in self.rules.holds.get(kind, ()):
            return Node(kind, NO_ATTRS, [child])
        sign = self.rules.sign_of_state(child.kind, child.attrs)
        return Node(
            kind, dict(child.attrs), [*([text_node(sign + " ")] if sign else []), *child.content], "", child.marks
        )

    # --- a node that may stand where it is ---

    def _settled(self, node: Node, parent: Node) -> list[Node]:
        fitted = self.with_marks(node, parent) if node.marks else node
        if fitted is node and isinstance(node, Verbatim):
            return [node]
        node = fitted
        if not self.rules.holds.get(node.kind):
            return [node.with_content([])] if node.content else [node]
        pieces = self._pieces(node)
        if len(pieces) == 1 and not isinstance(pieces[0], Up):
            return pieces
        result: list[Node] = []
        pieces.reverse()
        while pieces:
            piece = pieces.pop()  # what went up goes when it is placed: a paragraph may be nothing but images
            if isinstance(piece, Up):
                result.extend(self.place_child(piece.held or piece, parent, raised=True))
            else:
                result.append(piece)
        return result

    def _pieces(self, node: Node) -> list[Node]:
        """The node split around whatever must leave it."""
        children = node.content
        leaves = self.rules.leaves_in.get(node.kind)
        if leaves is None:
            children = _wrapped(node, self.rules)
        elif children:
            for child in children:
                if child.kind not in leaves or child.content:
                    children = self._row(node).content
                    break
            else:
                return [self._inline(node)]
        pieces: list[Node] = []
        current: list[Node] = []
        ended = False
        for place, child in enumerate(children, 1):
            for part in self.place_child(child, node, last=place == len(children)):
                if isinstance(part, Up) or ended:
                    if current:
                        pieces.append(self._finished(node.with_content(current), first=not pieces))
                        current = []
                    pieces.append(part if isinstance(part, Up) else _up(part))
                    ended = ended or bool(self.rules.definition_of(node.kind).get("ends"))
                else:
                    current.append(part)
        if current or not pieces:
            pieces.append(self._finished(_holding(node, current), first=not pieces))
        if len(pieces) == 1:
            return pieces
        edged = [self._edged(piece) for piece in pieces]
        return _renumbered([piece for piece in edged if isinstance(piece, Up) or piece.content])

    def _row(self, node: Node) -> Node:
        """A paragraph of nothing but linked images, such as badges, stays one paragraph."""
        if sum(child.kind in self._rows for child in node.content) < 2 or not all(
            self._badge(child) if child.kind in self._rows else _blank(child) for child in node.content
        ):
            return node
        words: list[Node] = []
        for child in node.content:
            words += FLATTEN[self._rows[child.kind]](child, self.rules) if child.kind in self._rows else [child]
        return node.with_content(words)

    def _badge(self, image: Node) -> bool:
        return any(mark.kind == "link" for mark in image.marks) and bool(visible_text(image, self.rules))

    def _edged(self, piece: Node) -> Node:
        """What stands beside something that was taken out starts and ends without white space."""
        if isinstance(piece, Up) or not piece.content or self.rules.group(piece.content[0].kind) != "inline":
            return piece
        return piece.with_content(trim_inline(piece.content))

    def _inline(self, node: Node) -> Node:
        form = self.rules.forms[node.kind][0]
        if node.kept:
            return node.with_content([self.with_marks(child, node) for child in node.content])
        if form.table.get("plain"):
            words = "".join(child.text for child in node.content)
            return node.with_content([text_node(words)] if words else [])
        if not [child for child in node.content if child.marks]:
            return _holding(node, merge_runs(node.content))
        content = [self.with_marks(child, node) if child.marks else child for child in node.content]
        changed = any(new is not old for new, old in zip(content, node.content, strict=True))
        return _holding(node, spaces_out(content) if changed else merge_runs(content))

    def _finished(self, node: Node, *, first: bool) -> Node:
        """A node with the children it must have."""
        form = self.rules.forms[node.kind][0]
        if node.content and node.content[0].kind in self.rules.inline:
            return node if node.kept else _holding(node, spaces_out(node.content))
        empty = None if node.kept and form.table.get("hollow") else self.rules.definition_of(node.kind).get("empty")
        missing = form.starts and not (node.content and node.content[0].kind in form.starts) and not node.kept
        if empty and (not node.content or missing) and (first or not node.content or missing):
            return node.with_content([*self._settled(Node(empty), node), *node.content])
        return node.with_content(node.content[: form.most]) if form.most else node

    # --- marks ---

    def _is_bare(self, mark: Mark) -> bool:
        """Whether a mark lacks what it must say."""
        if not mark.attrs and mark.kind in self.rules.wordless_marks:
            return False
        return form_of(self.rules, mark.kind, mark.attrs) is None

    def with_marks(self, node: Node, parent: Node) -> Node:
        if not node.marks:
            return node
        if any(map(self._is_bare, node.marks)):
            said = tuple(mark for mark in node.marks if form_of(self.rules, mark.kind, mark.attrs))
            for mark in node.marks:
                if mark not in said and mark.attrs:
                    self.losses.note(f"{mark.kind}: what it says has no form in a document")
            return self.with_marks(node.with_marks(said), parent)
        key = (node.kind, parent.kind, *[mark.kind for mark in node.marks])
        if key not in self._marks:
            self._marks[key] = self._allowed(node, parent)
        if all(self._marks[key]):
            return node
        kept = tuple(mark for mark, keep in zip(node.marks, self._marks[key], strict=True) if keep)
        dropped = [mark for mark, keep in zip(node.marks, self._marks[key], strict=True) if not keep]
        for mark in dropped:
            self.losses.note(f"{mark.kind} cannot stand on {node.kind} here")
            if node.kind in self.rules.definition_of(mark.kind).get("insists", ()):
                return self.with_marks(text_node(visible_text(node, self.rules), node.marks), parent)
        return node.with_marks(kept)

    def _allowed(self, node: Node, parent: Node) -> tuple[bool, ...]:
        rules = self.rules
        can = frozenset(kind for form in rules.forms[node.kind] for kind in form.marks)
        ruled_out = {other for mark in node.marks if mark.kind in can for other in rules.excluded_marks[mark.kind]}
        result: list[bool] = []
        seen: set[str] = set()
        for mark in node.marks:
            keep = mark.kind in can and mark.kind not in seen and self._placed(mark, node, parent)
            if keep and mark.kind in ruled_out:
                keep = mark.kind not in {o for s in seen for o in rules.excluded_marks[s]} and not _weaker(
                    mark, node, rules
                )
            result.append(keep)
            if keep:
                seen.add(mark.kind)
        return tuple(result)

    def _placed(self, mark: Mark, node: Node, parent: Node) -> bool:
        form = self.rules.forms[mark.kind][0]
        within = form.table.get("within")
        if parent.kind in form.table.get("beyond", ()):
            return False
        return within is None or parent.kind in within or f"{node.kind}>{parent.kind}" in within


def _weaker(mark: Mark, node: Node, rules: Rules) -> bool:
    """Whether a later mark rules this one out without being ruled out by it."""
    return any(
        mark.kind in rules.excluded_marks[other.kind] and other.kind not in rules.excluded_marks[mark.kind]
        for other in node.marks
    )


def _holding(node: Node, content: list[Node]) -> Node:
    """The node around this content: itself where that is its own, so that a tree that fits is not made twice."""
    same = content is node.content or (len(content) == len(node.content) and all(map(is_, content, node.content)))
    return node if same else node.with_content(content)


def _blank(node: Node) -> bool:
    return node.kind == "break" or (node.kind == "text" and not node.text.strip())


def _up(node: Node) -> Up:
    return Up(node.kind, node.attrs, node.content, node.text, node.marks, node.kept, node)


def _wrapped(node: Node, rules: Rules) -> list[Node]:
    """The children, with runs of inline ones in a paragraph where only blocks may stand."""
    holds = rules.holds.get(node.kind, frozenset())
    if "text" in holds or "paragraph" not in holds or rules.inline.isdisjoint([child.kind for child in node.content]):
        return node.content
    result: list[Node] = []
    run: list[Node] = []
    for child in node.content:
        if child.kind in rules.inline and child.kind not in holds:
            run.append(child)
            continue
        result.extend(paragraph_nodes(run))
        run = []
        result.append(child)
    return result + paragraph_nodes(run)


def _renumbered(pieces: list[Node]) -> list[Node]:
    """The later parts of a numbered list go on counting."""
    start = 1
    for piece in pieces:
        if piece.kind == "numbers" and not isinstance(piece, Up):
            first = piece.attrs.get("start", 1)
            if start > 1 and piece is not pieces[0]:
                piece.attrs = {**piece.attrs, "start": start}
            start = (start if start > 1 else first) + len(piece.content)
    return pieces
