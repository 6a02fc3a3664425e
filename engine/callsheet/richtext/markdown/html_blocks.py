"""Blocks of Markdown put together with the HTML that stands among them and in their lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

from .. import lossless_markers
from ..node_rules import Rules
from ..plain_text import plain_text
from ..tree import Mark, Node, text_node, trim_inline
from .inline_reader import ends_blank, tidy_white_space
from .special_lists import checkbox_sign, definition_list
from .tags import (
    CARRY,
    CLOSES,
    GROUPS,
    HIDDEN,
    SCOPES,
    SHOWN_BY_ADDRESS,
    STOPS,
    VOID,
    Given,
    HtmlElement,
    Tags,
    mark_block,
)


def with_details(nodes: list[Node]) -> list[Node]:
    """Carried details put onto the block that follows them."""
    result: list[Node] = []
    details: Node | None = None
    for node in nodes:
        if node.kind == "doc" and node.kept:
            details = node
        elif details is not None:
            result.append(_detailed(node, details))
            details = None
        else:
            result.append(node)
    return result


def _detailed(node: Node, details: Node) -> Node:
    marks = details.marks or node.marks
    return Node(node.kind, node.attrs | details.attrs, node.content, node.text, marks, kept=True)


def beside_rows(table: Node, rules: Rules) -> list[Node]:
    """A table after the blocks that stood in it and in no row, as a browser shows them: it may have been left open."""
    strays = [part for part in table.content if rules.group(part.kind) != "part"]
    table.content = [part for part in table.content if rules.group(part.kind) == "part"]
    return [*strays, table] if table.content else strays


def in_lists(nodes: list[Node], rules: Rules) -> list[Node]:
    """Blocks with the parts of lists and tables among them, which have lost what they are parts of, put into lists."""
    if not any(rules.group(node.kind) == "part" for node in nodes):
        return nodes
    result: list[Node] = []
    made: Node | None = None
    for node in nodes:
        if rules.group(node.kind) != "part":
            result.append(node)
        elif node.kind != "item":
            result += in_lists(node.content, rules)
        elif made is not None and result[-1] is made:
            made.content.append(node)
        else:
            made = Node("bullets", {}, [node])
            result.append(made)
    return result


GROUP = "group"  # what stands in the tree for one while it is open
MOST = 30  # elements in one another; what is deeper has no element of its own
SPACE = re.compile(r"[ \t\n\r\f]+")
BARE_TAG = re.compile(r"<(/?)(table|thead|tbody|tr|td|th|div|details)>\s*")
BARE_TAGS = re.compile(f"(?:{BARE_TAG.pattern})+")
LANGUAGE_CLASS = re.compile(r"(?:^|\s)(?:language|lang|highlight-source)-([\w+#-]+)")


def without_open_tags(words: str) -> str:
    """HTML in which a comment and a tag that never end are words.

    The parser looks for the end of each from its start on, which takes the square of their number; and versions of
    Python differ in whether what follows is shown.
    """
    for opening, closing in (("<!--", "-->"), ("<", ">")):
        end = words.rfind(closing) + 1
        words = words[:end] + words[end:].replace(opening, opening.replace("<", "&lt;"))
    return words


class HtmlBuilder(HTMLParser):
    """What is open, and the blocks so far; `inner` reads Markdown that stands right beside tags."""

    def __init__(self, rules: Rules, tags: Tags, inner: Callable[[str], list[Node]]) -> None:
        super().__init__(convert_charrefs=True)
        self.rules = rules
        self.tags = tags
        self.inner = inner
        self.stack = [HtmlElement("", Node("doc"))]
        self.hidden: list[str] = []
        self.carried: list[str] = []  # comments that wait for their end

    # --- input ---

    def take_block(self, node: Node) -> None:
        if node.kind != "html":
            if not self.hidden:
                self._block(node)
            return
        words = node.text.strip()
        if not self.rules.literal and lossless_markers.OURS.match(words):
            self._ours(words)
        elif re.fullmatch(r"<br\s*/?>", words, re.IGNORECASE):
            self._block(Node("paragraph"))
        elif BARE_TAGS.fullmatch(words) and not self.hidden:  # as of every table in HTML: faster than the parser
            for closing, tag in BARE_TAG.findall(words):
                if closing:
                    self.handle_endtag(tag)
                else:
                    self.handle_starttag(tag, [])
        else:
            self.feed(without_open_tags(node.text))
            self.close()
            self.reset()
            self.hidden = []

    def take_inline(self, node: Node) -> None:
        if node.kind == "html":
            self.feed(without_open_tags(node.text))
            return
        words = SPACE.sub(" ", node.text) if node.kind == "text" and ends_blank(self._holder().content) else ""
        self._holder().content.append(text_node(words.lstrip(" "), node.marks) if words else node)

    def _ours(self, words: str) -> None:
        """A comment that carries something, stands for something, or ends one of these."""
        found = lossless_markers.marker_meaning(words, self.rules)
        if words == lossless_markers.END and self.carried:
            self.carried.pop()
            self.handle_endtag(CARRY)
        elif found is None:
            raise lossless_markers.DamagedError(words)
        elif found[1]:
            self.carried.append(words)
            self._open(HtmlElement(CARRY, found[0]))
        else:
            self._block(found[0])

    def finish_blocks(self) -> list[Node]:
        if self.carried:
            raise lossless_markers.DamagedError(self.carried[0])
        while len(self.stack) > 1:
            self._close_last()
        return in_lists(self._blocks(self.stack[0]), self.rules)

    # --- what the parser calls ---

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN:
            self.hidden.append(tag)
        if self.hidden:
            return
        self._close_before(tag)
        given: Given = dict(attrs)
        kind = self.tags.kind(tag)
        if tag in SHOWN_BY_ADDRESS:
            self._by_address(given)
        elif tag == "input" and (box := checkbox_sign(self.get_starttag_text() or "")):
            self._holder().content.append(text_node(box, self._marks()))
        elif kind in self.rules.inline or tag in VOID:
            self._leaf(tag, kind, given)
        else:
            self._open(self._element(tag, kind, given))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in HIDDEN:
            self.handle_starttag(tag, attrs)
            if tag not in VOID:
                self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.hidden:
            if tag == self.hidden[-1]:
                self.hidden.pop()
            return
        if tag == "br":
            self._holder().content.append(Node("break"))
        for index in range(len(self.stack) - 1, 0, -1):
            found = self.stack[index]
            if found.name == tag:
                if found.node is None and found.marks:
                    del self.stack[index]  # marks may cross: the others go on
                else:
                    while len(self.stack) > index:
                        self._close_last()
                return
            if found.name in SCOPES and tag not in SCOPES[found.name]:
                return

    def handle_data(self, data: str) -> None:
        if self.hidden:
            return
        holder = self._holder()
        if holder.node and holder.node.kind == "code":
            holder.content.append(text_node(data))
        elif holder.name == "details" and self.stack[-1] is holder and data.strip():
            self._markdown(data)
        else:
            words = SPACE.sub(" ", data)
            words = words.lstrip(" ") if ends_blank(holder.content) else words
            fresh = not holder.content or holder.content[-1].kind not in self.rules.inline
            if words.strip() or (words and not fresh):
                holder.content.append(text_node(words, self._marks()))

    def _markdown(self, words: str) -> None:
        """Words right inside of a block that Markdown writes with tags: they are Markdown too."""
        for node in self.inner(words.strip("\n")):
            self._block(node)

    # --- the tree ---

    def _holder(self) -> HtmlElement:
        """The innermost open element that has content of its own."""
        return next(element for element in reversed(self.stack) if element.node is not None)

    def _marks(self) -> tuple[Mark, ...]:
        found: dict[str, Mark] = {}
        for element in self.stack:
            for mark in element.marks:
                found.setdefault(mark.kind, mark)
        return tuple(found.values())

    def _element(self, tag: str, kind: str | None, given: Given) -> HtmlElement:
        marks = self.tags.of_marks(tag, given)
        block = {mark.kind for mark in marks if self.tags.on_blocks(mark)}
        around = tuple(mark for mark in marks if mark.kind in block)
        inside = tuple(mark for mark in marks if mark.kind not in block)
        node = None
        if kind is not None and kind not in self.rules.marks:
            attrs = self.tags.known[tag].attrs(given) or {}
            node = Node(kind, attrs)
        elif tag in ("dl", "dt", "dd", "summary", "caption", "figcaption"):
            node = Node(tag)
        elif tag in GROUPS:
            node = Node(GROUP)
        elif tag == "code" and (holder := self._holder()).node and holder.node and holder.node.kind == "code":
            language = LANGUAGE_CLASS.search(given.get("class") or "")
            if language:
                holder.node.attrs.setdefault("language", language[1])
        return HtmlElement(tag, node, inside, around)

    def _open(self, element: HtmlElement) -> None:
        if len(self.stack) < MOST:
            self.stack.append(element)

    def _leaf(self, tag: str, kind: str | None, given: Given) -> None:
        if kind is None:
            return
        attrs = self.tags.known[tag].attrs(given)
        if attrs is None:
            return
        if kind in self.rules.inline:
            self._holder().content.append(Node(kind, attrs, marks=() if kind == "break" else self._marks()))
        else:
            self._block(Node(kind, attrs))

    def _by_address(self, given: Given) -> None:
        address = (given.get("src") or "").strip()
        if address.startswith(("http://", "https://")):
            self._holder().content.append(text_node(address, (*self._marks(), Mark("link", {"href": address}))))

    def _block(self, node: Node) -> None:
        holder = self._holder()
        if holder.node and holder.node.kind == "code":
            holder.content.append(text_node(plain_text(node, self.rules) + "\n"))
            return
        mark_block(node, self.stack)
        holder.content.append(node)

    def _close_before(self, tag: str) -> None:
        """Ends what a start tag ends without an end tag of its own."""
        closing = CLOSES.get(tag)
        if closing is None:
            return
        for index in range(len(self.stack) - 1, 0, -1):
            name = self.stack[index].name
            if name in closing:
                while len(self.stack) > index:
                    self._close_last()
                if name == tag or tag not in ("tr", "td", "th", "dt", "dd"):
                    return
            elif name in STOPS or (name in SCOPES and tag != "tr"):
                return

    def _close_last(self) -> None:
        element = self.stack.pop()
        if element.node is None:
            return
        for node in self._closed(element):
            self._block(node)

    def _closed(self, element: HtmlElement) -> list[Node]:
        node = element.node
        if node is None:
            return []
        holds = self.rules.holds.get(node.kind, frozenset())
        if node.kind == "summary":
            return self._titled(element)
        if node.kind == GROUP:
            return self._blocks(element)
        if element.name == CARRY:
            node.content = with_details(self._carried(element, holds))
            return [node]
        if node.kind == "code":
            words = "".join(part.text for part in element.content).removeprefix("\n").rstrip("\n")
            node.content = [text_node(words)] if words else []
            return [node]
        if node.kind in ("paragraph", "heading"):
            return self._lines(node, element)
        node.content = self._parts(node, element, holds)
        if node.kind == "dl":
            return definition_list(node.content)
        if node.kind in ("caption", "figcaption"):
            return node.content
        if element.name == "table":
            return beside_rows(node, self.rules)
        return [node] if node.content or node.kind not in ("bullets", "numbers", "quote") else []

    def _carried(self, element: HtmlElement, holds: frozenset[str]) -> list[Node]:
        content = self._blocks(element)
        if "text" in holds and len(content) == 1 and content[0].kind == "paragraph":
            return content[0].content
        return content

    def _titled(self, element: HtmlElement) -> list[Node]:
        """The words of a summary become the title of its block."""
        content = self._blocks(element)
        title = " ".join(" ".join(plain_text(part, self.rules) for part in content).split())
        parent = self._holder().node
        if parent is not None and self.stack[-1].name == "details" and "title" not in parent.attrs:
            parent.attrs["title"] = title
            return []
        return content

    def _lines(self, node: Node, element: HtmlElement) -> list[Node]:
        """A paragraph or heading: its words; blocks that came into it stay blocks."""
        return [
            Node(node.kind, dict(node.attrs), part.content, marks=element.around or part.marks)
            if part.kind == "paragraph" and not part.kept
            else part
            for part in self._blocks(element, around=False)
        ]

    def _parts(self, node: Node, element: HtmlElement, holds: frozenset[str]) -> list[Node]:
        """The children of a list or table: its parts, and whatever else says something."""
        content = self._blocks(element)
        if self.rules.group(self.rules.definition_of(node.kind).get("empty") or "") != "part":
            return in_lists(content, self.rules)
        said = [part for part in content if part.kind in holds or part.kind != "paragraph" or part.content]
        if "item" not in holds:
            return said
        return [part if part.kind in holds else Node("item", {}, [part]) for part in said]

    def _blocks(self, element: HtmlElement, *, around: bool = True) -> list[Node]:
        """What an element holds, its runs of inline content as paragraphs."""
        result: list[Node] = []
        run: list[Node] = []
        for part in [*element.content, None]:
            if part is not None and part.kind in self.rules.inline and part.kind != "figure":
                run.append(part)
                continue
            if content := trim_inline(tidy_white_space(run)):
                paragraph = Node("paragraph", content=content)
                mark_block(paragraph, [*self.stack, *([element] if around else [])])
                result.append(paragraph)
            run = []
            if part is not None:
                result.append(part)
        return result


class Assembler:
    """Puts the blocks of one container together; `inner` reads Markdown that stands right beside tags."""

    def __init__(self, rules: Rules, tags: Tags, inner: Callable[[str], list[Node]]) -> None:
        self.rules = rules
        self.tags = tags
        self.inner = inner

    def assemble_blocks(self, nodes: list[Node]) -> list[Node]:
        """The nodes with every HTML block read."""
        if "html" not in [node.kind for node in nodes]:
            return nodes
        builder = HtmlBuilder(self.rules, self.tags, self.inner)
        for node in nodes:
            builder.take_block(node)
        return with_details(builder.finish_blocks())

    def blocks_of_line(self, content: list[Node]) -> list[Node]:
        """The blocks that a line is, which has tags of blocks in it."""
        builder = HtmlBuilder(self.rules, self.tags, self.inner)
        for node in content:
            builder.take_inline(node)
        return with_details(builder.finish_blocks())

    def literal_paragraph(self, source: str) -> list[Node]:
        words = " ".join(source.split())
        return [Node("paragraph", content=[text_node(words)])] if words else []
