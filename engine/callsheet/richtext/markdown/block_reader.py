"""Markdown read into the neutral tree: block structure.

First the parser's tokens become a rough tree, one by one as they come; paragraphs keep their Markdown in `text`. When
all of it is there, and with it what links and footnotes refer to, the tree is finished from the leaves up.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from ..lossless_markers import DamagedError, damaged_marker_error
from ..node_rules import Rules
from ..shared_keys import share_keys
from ..tree import NO_ATTRS, Attrs, Losses, Node, bold_nodes, text_node
from .addresses import Beside, replace_relative_addresses
from .front_matter import without_front_matter
from .html_blocks import Assembler
from .inline_reader import InlineReader
from .parser import Parser
from .special_lists import as_lines, as_marker, definition_list, is_lines
from .tags import alignment_marks
from .text_patterns import at_end, patterns_of

OPEN = {
    "paragraph_open": "paragraph",
    "blockquote_open": "quote",
    "bullet_list_open": "bullets",
    "ordered_list_open": "numbers",
    "list_item_open": "item",
    "table_open": "table",
    "tr_open": "row",
    "th_open": "header",
    "td_open": "cell",
    "heading_open": "heading",
    "dl_open": "dl",
    "dt_open": "dt",
    "dd_open": "dd",
    "box_open": "box",
    "container_container_open": "container",
    "footnote_reference_open": "note",
}
DESCRIBED: dict[str, Callable[[Token], Attrs]] = {
    "heading_open": lambda token: share_keys({"level": int(token.tag[1])}),
    "ordered_list_open": lambda token: {"start": int(token.attrs["start"])} if "start" in token.attrs else {},
    "box_open": lambda token: dict(token.meta),
    "container_container_open": lambda token: {"info": token.info},
    "footnote_reference_open": lambda token: {"label": token.meta["label"]},
    "th_open": lambda token: {"style": token.attrs["style"]} if token.attrs else NO_ATTRS,
    "td_open": lambda token: {"style": token.attrs["style"]} if token.attrs else NO_ATTRS,
}
CLOSE = frozenset(name.replace("_open", "_close") for name in OPEN)


def add_blocks(root: Node, source: str, parser: Parser) -> None:
    """Puts the blocks of a text below `root`; what is inline is still Markdown, in the `text` of its block."""
    stack = [root]

    def take(token: Token) -> None:
        kind = token.type
        if kind == "inline":
            if token.meta:
                stack[-1].content.append(text_node(token.content))
            else:
                stack[-1].text = token.content
        elif token.nesting == 1:
            if kind in OPEN:
                node = Node(OPEN[kind], DESCRIBED[kind](token) if kind in DESCRIBED else NO_ATTRS)
                stack[-1].content.append(node)
                stack.append(node)
        elif token.nesting == 0:
            stack[-1].content.append(_leaf(token))
        elif kind in CLOSE:
            stack.pop()

    parser.read_tokens(source, take)


def _leaf(token: Token) -> Node:
    kind = token.type
    if kind in ("fence", "code_block"):
        words = unescapeAll(token.info).split(maxsplit=1)
        code = token.content.removesuffix("\n")
        language = _language(words[0]) if words else ""
        return Node("code", {"language": language} if language else {}, [text_node(code)] if code else [])
    if kind == "math_block":
        code = token.content.strip("\n")
        return Node("code", {"language": "latex"}, [text_node(code)] if code.strip() else [])
    return Node("rule") if kind == "hr" else Node("html", text=token.content)


def _language(word: str) -> str:
    """The language of a fence: `js`, `{.js}`, `js{1,3}`, `js:title` and `js,ignore` all are js, `lines="3"` is none."""
    match = re.match(r"\{?\.?([^\s{},:=`~]+)(=?)", word)
    return match[1] if match and not match[2] else ""


ALERT = re.compile(r"\[!([A-Za-z]+)\][+-]?[ \t]*(?:(?P<title>[^\n]+))?(?:\n|$)")
CONTAINER = re.compile(r"\s*\{?\.?([\w-]+)\}?\s*(?:\[(?P<bracketed>[^\]]*)\]|\"(?P<quoted>[^\"]*)\"|(?P<words>[^{]*))")


def read_markdown(
    source: str,
    rules: Rules,
    losses: Losses,
    *,
    soft_break: str = "space",
    cards: bool = False,
    target: str | None = None,
    own: bool = False,
    beside: Beside | None = None,
) -> Node:
    """The tree of a text for the `target` format, with what is `beside` the file it comes from.

    With `own`, images that are bare file names belong to the page or issue that the text is for.
    Raises UsageError with the line where what a comment of ours carries is damaged.
    """
    reader = BlockReader(rules, losses, soft_break=soft_break, cards=cards)
    try:
        root = reader.read_blocks(without_front_matter(source.replace("\0", "\ufffd")))
    except DamagedError as error:
        raise damaged_marker_error(str(error), source) from None
    replace_relative_addresses(root, rules, losses, target=target, own=own, beside=beside)
    return root


class BlockReader:
    def __init__(self, rules: Rules, losses: Losses, *, soft_break: str = "space", cards: bool = False) -> None:
        self.rules = rules
        self.losses = losses
        self.parser = Parser()
        self.inline = InlineReader(self.parser, rules, patterns_of(rules, cards=cards), soft_break=soft_break)
        self.assembler = Assembler(rules, self.inline.tags, self.read_inner)
        self.alerts = rules.alert_words
        self.collapsible = self.inline.tags.kind("details") or "quote"
        self.markers = rules.item_signs
        self._marker = rules.item_sign_pattern
        self.lists = rules.lists_of_items
        self._nested = 0
        self._notes: dict[str, Node] = {}
        self._finishers: dict[str, Callable[[Node], list[Node]]] = {
            "paragraph": self._paragraph,
            "heading": self._heading,
            "item": self._item,
            "quote": self._quote,
            "bullets": self._list,
            "numbers": self._list,
            "header": self._cell,
            "cell": self._cell,
            "dl": self._definitions,
            "dt": self._cell,
            "box": self._box,
            "container": self._container,
            "note": self._note,
        }

    def read_blocks(self, source: str) -> Node:
        self.parser.forget_references()
        self._notes = {}
        root = Node("doc")
        add_blocks(root, source, self.parser)
        root.content = [*self._finished(root), *self._all_notes()]
        for words in self.parser.cut_cells:
            self.losses.note(f"{words!r} is left out: its row of a table has more cells than the header")
        return root

    def read_inner(self, source: str) -> list[Node]:
        """Blocks of Markdown that stands between HTML tags."""
        if self._nested >= 10 or not source.strip():
            return self.assembler.literal_paragraph(source)
        self._nested += 1
        try:
            root = Node("doc")
            add_blocks(root, source, self.parser)
            return self._finished(root)
        finally:
            self._nested -= 1

    # --- the rough tree finished ---

    def _finished(self, node: Node) -> list[Node]:
        """The children of a node, each finished, with the HTML among them read."""
        result: list[Node] = []
        for child in node.content:
            finish = self._finishers.get(child.kind)
            if finish is not None:
                result.extend(finish(child))
            else:
                if child.content and child.kind in ("table", "row", "dd"):
                    child.content = self._finished(child)
                result.append(child)
        return self.assembler.assemble_blocks(result)

    def _words(self, node: Node, *, blocks: bool = False) -> None:
        """The node's Markdown as inline content, with `blocks` also the tags of blocks in it."""
        if node.text:
            node.content = self.inline.read_inline(node.text, blocks=blocks)
            node.text = ""

    def _paragraph(self, node: Node) -> list[Node]:
        """A paragraph of nothing but line breaks has one less than is written: `<br>` alone is an empty one."""
        if node.text[:1] in ("[", "{") or node.text[-1:] == "}":
            kind = self.rules.kinds_by_words.get(node.text.strip().lower())
            if kind is not None:
                return [Node(kind)]
            node.text, _name = at_end(node.text, whole=True)
        shown = bool(node.text or node.content)
        self._words(node, blocks=True)
        content = node.content
        if any(part.kind == "html" for part in content):
            return self.assembler.blocks_of_line(content)
        if not content:
            return []
        if content[0].kind == "break" and all(part.kind == "break" for part in content):
            node.content = content[1:]
            return [node]
        if len(content) == 1 and content[0].kind == "card":
            return [Node("blockcard", content[0].attrs)]
        return [node] if shown else []

    def _heading(self, node: Node) -> list[Node]:
        node.text, name = at_end(node.text)
        self._words(node)
        if name and "anchor" in self.rules.nodes and not self.rules.literal:
            node.content.insert(0, Node("anchor", {"name": name}))
        return [node]

    def _cell(self, node: Node) -> list[Node]:
        aligned = alignment_marks(self.rules, str(node.attrs["style"])) if node.attrs else ()
        node.attrs = NO_ATTRS
        self._words(node, blocks=True)
        if any(part.kind == "html" for part in node.content):
            node.content = self.assembler.blocks_of_line(node.content)
        else:
            node.content = [Node("paragraph", NO_ATTRS, node.content, marks=aligned if node.content else ())]
        return [node]

    def _item(self, node: Node) -> list[Node]:
        if node.content and node.content[0].kind == "paragraph":
            node.content[0].text = as_marker(node.content[0].text)
        self._marked(node, self._marker)
        empty = bool(node.content) and node.content[0].kind == "paragraph" and not node.content[0].text
        first = node.content[0] if empty else None
        node.content = self._finished(node)
        if first is not None and not first.content and (not node.content or node.content[0] is not first):
            node.content.insert(0, first)
        return [node]

    def _marked(self, node: Node, pattern: re.Pattern[str]) -> None:
        """Takes the sign off the first paragraph that says what its item or quote is; the parent remembers it."""
        first = node.content[0] if node.content else None
        if first is None or first.kind != "paragraph" or (match := pattern.match(first.text)) is None:
            return
        found = match[0].lower() if pattern is self._marker else match[1].upper()
        if found not in (self.markers if pattern is self._marker else self.alerts):
            return
        title = (match.groupdict().get("title") or "").strip()
        first.text = first.text[match.end() :].lstrip()
        if title:
            node.content[: not first.text] = [Node("paragraph", text=f"**{title}**")]
        node.text = found

    def _quote(self, node: Node) -> list[Node]:
        self._marked(node, ALERT)
        node.content = self._finished(node)
        if not node.text:
            return [node]
        kind, attrs = self.alerts[node.text]
        return [Node(kind, dict(attrs), node.content)]

    def _list(self, node: Node) -> list[Node]:
        node.content = self._finished(node)
        signs = {self.markers[item.text][0] for item in node.content if item.text}
        kind = signs.pop() if len(signs) == 1 else ""
        special = self.lists.get(kind, "")
        if special and node.kind == "bullets" and all(self._simple(item, special) for item in node.content):
            return [Node(special, {}, [part for item in node.content for part in self._parts(item, kind)])]
        for item in node.content:
            if item.text:
                self._signed(item)
        return [node]

    def _simple(self, item: Node, special: str) -> bool:
        """Whether all of an item is one paragraph, further lists of its kind, and lists that can be its lines."""
        return (
            bool(item.text and item.content)
            and item.content[0].kind == "paragraph"
            and all(part.kind == special or is_lines(part) for part in item.content[1:])
        )

    def _parts(self, item: Node, kind: str) -> list[Node]:
        """A special item holds words alone: what is listed below it becomes lines of it, with bullets of their own."""
        words = list(item.content[0].content)
        for part in item.content[1:]:
            words += as_lines(part) if is_lines(part) else []
        lists = [part for part in item.content[1:] if not is_lines(part)]
        return [Node(kind, dict(self.markers[item.text][1]), words), *lists]

    def _signed(self, item: Node) -> None:
        """Puts the sign of a special item back into an ordinary one, as a character of its own where there is one."""
        kind, attrs = self.markers[item.text]
        sign = self.rules.sign_of_state(kind, attrs) or item.text
        item.text = ""
        if not item.content or item.content[0].kind != "paragraph":
            item.content.insert(0, Node("paragraph"))
        first = item.content[0]
        first.content = [text_node(f"{sign} "), *first.content] if first.content else [text_node(sign)]

    # --- constructs beyond CommonMark ---

    def _definitions(self, node: Node) -> list[Node]:
        parts, node.content = self._finished(node), []
        return definition_list(parts)

    def _box(self, node: Node) -> list[Node]:
        return self._boxed(node, node.attrs["word"], node.attrs["title"], node.attrs["closed"])

    def _container(self, node: Node) -> list[Node]:
        match = CONTAINER.match(node.attrs["info"])
        if match is None:
            return self._finished(node)
        title = match["bracketed"] or match["quoted"] or (match["words"] or "").strip()
        return self._boxed(node, match[1].lower(), title, closed=match[1].lower() in ("details", "spoiler"))

    def _boxed(self, node: Node, word: str, title: str, closed: bool) -> list[Node]:
        """A panel of the type that a word stands for, or something to be opened; other boxes give what they hold."""
        content = self._finished(node)
        known = self.alerts.get(word.upper().replace("-", ""))
        if closed:
            return [Node(self.collapsible, {"title": title or word.title()}, content)]
        heading = bold_nodes(self.inline.read_inline(title)) if title else []
        if heading:
            content = [Node("paragraph", content=heading), *content]
        return [Node(known[0], dict(known[1]), content)] if known else content

    def _note(self, node: Node) -> list[Node]:
        """A footnote stands at the end, when it is known which number it has."""
        self._notes.setdefault(str(node.attrs["label"]), node)
        return []

    def _all_notes(self) -> list[Node]:
        """The footnotes as a numbered list, first those that are referred to, in that order."""
        items: dict[str, Node] = {}
        while missing := [label for label in self._labels() if label not in items]:
            for label in missing:
                items[label] = Node("item", content=self._finished(self._notes[label]))
        # Notes may refer to others, so only now it is known where each one stands.
        return [Node("rule"), Node("numbers", content=[items[label] for label in self._labels()])] if items else []

    def _labels(self) -> list[str]:
        known: dict[str, None] = {}
        for number, note in sorted(self.parser.notes.items()):
            label = str(note.get("label", f" {number}"))  # no label has a space
            if "content" in note:
                self._notes.setdefault(label, Node("note", content=[Node("paragraph", text=note["content"])]))
            if label in self._notes:
                known[label] = None
        return list(known | dict.fromkeys(self._notes))
