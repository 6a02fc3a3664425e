"""The neutral tree written as Markdown: blocks.

Readable Markdown says what Markdown has a construct for and announces the rest; in lossless mode the rest is carried
(see `lossless_markers`), and every block is read back to make sure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from .. import lossless_markers
from ..adf.document_forms import SPELLING
from ..default_attributes import Defaults
from ..fit_to_document import fit_to_rules
from ..node_rules import Rules
from ..plain_text import note_content_only, visible_text, words_instead
from ..tree import NO_ATTRS, Attrs, Losses, Mark, Node, bold_nodes, text_node, walk_nodes
from .block_reader import BlockReader
from .inline_writer import SpanWriter, link_target
from .special_lists import lists_of_lines
from .tags import alignment_marks

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


def quote_lines(words: str) -> str:
    return "\n".join(f"> {line}".rstrip(" ") if not line.strip(" ") else f"> {line}" for line in words.split("\n"))


def indent_lines(words: str, width: int) -> str:
    lines = words.split("\n") if "\n" in words else [words]
    return "\n".join([" " * width + line if line else line for line in lines])


EMPTY = [Node("paragraph")]
KIND = attrgetter("kind")
MOST = 999_999_999  # nine digits number an item
SIGN = re.compile(r"[\\&]")
LANGUAGE = re.compile(r"[^\s`~]+")
# What each construct of Markdown says of its node.
SAID: dict[str, frozenset[str]] = {
    "heading": frozenset({"level"}),
    "numbers": frozenset({"start"}),
    "code": frozenset({"language"}),
    "panel": frozenset({"type"}),
    "expand": frozenset({"title"}),
    "nestedexpand": frozenset({"title"}),
    "cell": frozenset({"colspan", "rowspan"}),
    "header": frozenset({"colspan", "rowspan"}),
    "task": frozenset({"done"}),
    "decision": frozenset({"state"}),
    "image": frozenset({"url", "alt"}),
    "figure": frozenset({"layout"}),
}

NOTHING: frozenset[str] = frozenset()


def unsaid_attributes(node: Node, alerts: Mapping[str, Attrs] | None = None) -> Attrs:
    """The attributes that the node's construct does not say. `alerts` are those of its kind, by their words."""
    said = SAID.get(node.kind, NOTHING)
    said = said.union(*alerts.values()) if alerts else said
    if node.attrs.keys() <= said:
        attrs: Attrs = {}
    else:
        attrs = {name: value for name, value in node.attrs.items() if name not in said}
    start = node.attrs.get("start", 1)
    if node.kind == "numbers" and not (isinstance(start, int) and 0 <= start <= MOST):
        attrs["start"] = start
    if node.kind == "code" and not LANGUAGE.fullmatch(str(node.attrs.get("language", "x"))):
        attrs["language"] = node.attrs["language"]
    if node.kind == "figure" and node.attrs.get("layout", "center") != "center":
        attrs["layout"] = node.attrs["layout"]
    return attrs


def must_be_carried(node: Node, rules: Rules, constructs: Container[str]) -> bool:
    """Whether the node or one of its parts has no construct, or details that cannot stand before it."""
    if rules.group(node.kind) == "inline":
        return False
    bare = not node.attrs.keys() - {SPELLING} and any(form.table.get("bare") for form in rules.forms.get(node.kind, ()))
    return node.kind not in constructs or bare or _a_part_must(node, rules)


def _a_part_must(node: Node, rules: Rules) -> bool:
    parts = [child for child in node.content if rules.group(child.kind) == "part"]
    return any(unsaid_attributes(part) or part.marks or _a_part_must(part, rules) for part in parts)


SPANNING = frozenset({"colspan", "rowspan"})
CELLS = {"cell": "td", "header": "th"}
SIDES = {":-:": "text-align:center", "--:": "text-align:right"}


def plain_table(table: Node, spans: SpanWriter, *, lossless: bool) -> str | None:
    """A table with bars; None where it cannot say the table."""
    rows = [row.content for row in table.content]
    if not lossless:
        _take_sides(rows, spans.rules)
    width = len(rows[0]) if rows else 0
    for row in rows:
        kind = "header" if row is rows[0] else "cell"
        if not width or len(row) != width or not all(_simple(cell, kind) for cell in row):
            return None
    below = [_side(cells, spans.rules) for cells in zip(*rows, strict=True)]
    if not below or None in below:
        return None
    lines = [_line([_cell(cell, spans) for cell in row]) for row in rows]
    return "\n".join([lines[0], _line([side or "---" for side in below]), *lines[1:]])


def _side(cells: Iterable[Node], rules: Rules) -> str | None:
    """What stands below the head of a column whose cells are all aligned the same; None where they are not."""
    found = [cell.content[0].marks for cell in cells if cell.content and cell.content[0].content]
    if not any(found):
        return "---"
    sides = [side for side, style in SIDES.items() if alignment_marks(rules, style) == found[0]]
    return sides[0] if sides and all(marks == found[0] for marks in found) else None


def _take_sides(rows: list[list[Node]], rules: Rules) -> None:
    """Makes marks of the styles of paragraphs that say nothing else than how they are aligned."""
    for block in [block for row in rows for cell in row for block in cell.content]:
        for part in (block,) if block.kind == "paragraph" else walk_nodes(block):
            kept = part.attrs.get("attributes", {}) if part.attrs and part.kind == "paragraph" else {}
            if kept.keys() == {"style"} and (marks := alignment_marks(rules, kept["style"])):
                part.attrs, part.marks = {}, marks


def _simple(cell: Node, kind: str) -> bool:
    """Whether a cell is of a kind and holds nothing or one plain line."""
    if cell.kind != kind or len(cell.content) > 1 or (cell.attrs and not SPANNING.isdisjoint(cell.attrs)):
        return False
    child = cell.content[0] if cell.content else EMPTY[0]
    if child.kind != "paragraph" or child.attrs:
        return False
    content = child.content
    return not child.marks if not content else content[0].kind != "break" or any(p.kind != "break" for p in content)


def _cell(cell: Node, spans: SpanWriter) -> str:
    words = spans.write_inline(cell.content[0].content, single=True) if cell.content else ""
    return words.replace("|", "\\|")


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def html_table(table: Node, blocks: Callable[[list[Node]], str]) -> str:
    parts = ["<table>"]
    for row in table.content:
        parts.append("<tr>")
        for cell in row.content:
            tag = CELLS.get(cell.kind, "td")
            spans = "".join(f' {name}="{cell.attrs[name]}"' for name in ("colspan", "rowspan") if name in cell.attrs)
            inner = "" if _is_empty(cell.content) else blocks(cell.content)
            parts.append(f"<{tag}{spans}>\n\n{inner}\n\n</{tag}>" if inner else f"<{tag}{spans}></{tag}>")
        parts.append("</tr>")
    return "\n".join([*parts, "</table>"])


OTHER = "*"  # noted on a list that follows one of its sort: it takes the other marker
EMPTY_ITEM = re.compile(r"\s*(?:[-*]|\d+[.)])(?: \[.\]| <>)?\s*(?:\n|$)")


def write_markdown(root: Node, rules: Rules, losses: Losses, lossless_from: str | None = None) -> str:
    """`lossless_from` is the format that the tree was read from, for Markdown that carries all of it."""
    words = BlockWriter(rules, losses, lossless_from=lossless_from).document(root)
    return words + "\n" if words else ""


class BlockWriter:
    def __init__(self, rules: Rules, losses: Losses, *, lossless_from: str | None = None) -> None:
        self.rules = rules
        self.losses = losses
        self.lossless = lossless_from is not None
        self._format = lossless_from or ""
        self.spans = SpanWriter(rules, losses, lossless=self.lossless)
        self.alerts = rules.alerts
        self.markers = rules.markers
        self.items = rules.items_of_lists
        self._sorts, self._tagged, self._writers = self._constructs(rules)

    @cached_property
    def reader(self) -> BlockReader:
        return BlockReader(self.rules, Losses())

    @cached_property
    def defaults(self) -> Defaults:
        return Defaults(self.rules, self._format)

    @staticmethod
    @lru_cache(maxsize=4)
    def _constructs(
        rules: Rules,
    ) -> tuple[dict[str, str], dict[str, shape.HtmlForm], dict[str, Callable[[BlockWriter, Node], str]]]:
        """Kinds of lists → their sort; kinds that a tag says → its form; kinds with a construct → what writes it."""
        tagged = {kind: forms for kind, forms in rules.tags.items() if rules.group(kind) == "block"}
        by_tag = {kind: form for kind, forms in tagged.items() for form in forms if "tag" in form}
        items = rules.items_of_lists
        writers: dict[str, Callable[[BlockWriter, Node], str]] = {
            **dict.fromkeys(by_tag, BlockWriter._tag),
            "paragraph": BlockWriter._paragraph,
            "heading": BlockWriter._heading,
            "quote": BlockWriter._quote,
            "bullets": BlockWriter._list,
            "numbers": BlockWriter._list,
            "code": BlockWriter._code,
            "rule": BlockWriter._rule,
            "expand": BlockWriter._expand,
            "nestedexpand": BlockWriter._expand,
            "table": BlockWriter._table,
            "figure": BlockWriter._figure,
            "image": BlockWriter._figure,
            "reference": BlockWriter._reference,
            **dict.fromkeys(items, BlockWriter._list),
            **dict.fromkeys(rules.alerts, BlockWriter._panel),
            **dict.fromkeys(rules.words_alone, BlockWriter._alone),
        }
        return {"numbers": "numbers", "bullets": "bullets", **dict.fromkeys(items, "bullets")}, by_tag, writers

    def document(self, root: Node) -> str:
        if _is_empty(root.content):
            return ""
        words = self.blocks(root.content, top=True)
        if words.startswith("---\n"):
            return "***" + words[3:]  # three hyphens in the first line would begin front matter
        return "\\" + words if words.startswith("+++\n") else words

    def blocks(self, nodes: list[Node], *, top: bool = False) -> str:
        parts: list[str] = []
        previous: Node | None = None
        for node in nodes if self.lossless or self._writers.keys() >= set(map(KIND, nodes)) else self._lifted(nodes):
            if sort := self._sorts.get(node.kind):
                alike = previous is not None and self._sorts.get(previous.kind) == sort
                node.text = OTHER if alike and previous and previous.text != OTHER else ""
            words = self._checked(node) if top and self.lossless else self.block(node)
            if words:
                parts.append(words)
                previous = node
        return "\n\n".join(parts)

    def _lifted(self, nodes: list[Node]) -> list[Node]:
        """The nodes with containers that Markdown has no construct for replaced by what they hold."""
        result: list[Node] = []
        for node in nodes:
            if node.kind in self._writers or node.kind in self.rules.inline or not _of_blocks(node, self.rules):
                result.append(node)
            else:
                note_content_only(node, "Markdown", self.losses)
                result.extend(self._lifted(node.content))
        return result

    def _checked(self, node: Node) -> str:
        """A block that reads back exactly, carried whole where it must be."""
        plain = _unmarked(node)
        short = self.defaults.without_defaults(node)
        for one in (short, node) if short is not node else (node,):
            words = self.block(one)
            if self._reads_back(words, plain):
                return words
        return lossless_markers.marker_comment(lossless_markers.carried_node(plain))

    def _reads_back(self, words: str, wanted: Node) -> bool:
        back = self.reader.read_blocks(words)
        fitted = fit_to_rules(back, self.rules, Losses()).content
        if fitted == [wanted] or self.defaults.match_completed(fitted, wanted):
            return True
        kept = fit_to_rules(Node("doc", content=[_unmarked(wanted, kept=True)]), self.rules, Losses()).content
        return back.content == [wanted] and (fitted == kept or kept != [wanted])

    def block(self, node: Node) -> str:
        left = unsaid_attributes(node, self.alerts.get(node.kind)) if node.attrs else NO_ATTRS
        if left and node.kind in self._tagged:
            left = {name: value for name, value in left.items() if name not in self.said_by_tag(node.kind)}
        if self.lossless and (
            must_be_carried(node, self.rules, self._writers) or (node.kind in self.alerts and self._alert(node) is None)
        ):
            return self.carried_around(node)
        if (left or node.marks) and node.kind in self._writers:
            self._tell(node, left)
        writer = self._writers.get(node.kind)
        words = writer(self, node) if writer else self._other(node)
        if self.lossless and (left or node.marks):
            return (
                lossless_markers.marker_comment(lossless_markers.carried_node(Node("doc", left, marks=node.marks)))
                + "\n\n"
                + words
            )
        return words

    def _tell(self, node: Node, left: Attrs) -> None:
        if not self.lossless:
            defaults = self.rules.default_attributes.get(node.kind, {})
            for name in (name for name, value in left.items() if value != defaults.get(name)):
                self.losses.note(f"{node.kind}: {name} cannot be said in Markdown")
            for mark in node.marks:
                self.losses.note(f"{mark.kind} of a {node.kind} cannot be said in Markdown")

    def carried_around(self, node: Node) -> str:
        """A node around its content: opened and closed by comments, so that the content can be edited."""
        if not node.content or node.kind in ("figure", "code", "gallery"):
            return lossless_markers.marker_comment(lossless_markers.carried_node(_unmarked(node)))
        opening = lossless_markers.marker_comment(
            {**lossless_markers.carried_node(Node(node.kind, node.attrs, marks=node.marks)), "open": 1}
        )
        inline = node.content[0].kind in self.rules.inline
        inner = self.spans.write_inline(node.content) if inline else self._carried_children(node)
        return f"{opening}\n\n{inner}\n\n{lossless_markers.END}"

    def _carried_children(self, node: Node) -> str:
        if any(self.rules.group(child.kind) == "part" or child.kind not in self._writers for child in node.content):
            parts = [
                self.carried_around(c) if self.rules.group(c.kind) == "part" else self.blocks([c]) for c in node.content
            ]
            return "\n\n".join(parts)
        return self.blocks(node.content)

    # --- constructs ---

    def _paragraph(self, node: Node) -> str:
        content = node.content
        if content and content[0].kind == "break" and all(part.kind == "break" for part in content):
            return "<br>" * (len(content) + 1)
        words = self.spans.write_inline(content)
        if words.lower() in self.rules.kinds_by_words:
            return "\\" + words
        return words or "<br>"

    def _rule(self, _node: Node) -> str:
        return "---"

    def _heading(self, node: Node) -> str:
        words = self.spans.write_inline(node.content, single=True)
        if words.rstrip("#") != words and words.rstrip("#")[-1:] in ("", " "):
            words = words[:-1] + "\\#"
        return f"{'#' * int(node.attrs.get('level', 6))} {words}".rstrip(" ")

    def _quote(self, node: Node) -> str:
        return quote_lines("" if _is_empty(node.content) else self.blocks(node.content))

    def _alert(self, node: Node) -> str | None:
        names = self.alerts[node.kind]
        return next((name for name, attrs in names.items() if attrs.items() <= node.attrs.items()), None)

    def _panel(self, node: Node) -> str:
        name = self._alert(node)
        if name is None:
            self.losses.note(f"a {node.kind} of type {node.attrs.get('type')!r} became another one")
            near = [
                one["to"]
                for one in self.rules.definition_of(node.kind).get("alike", ())
                if one["from"].items() <= node.attrs.items()
            ]
            name = self._alert(Node(node.kind, near[0])) if near else next(iter(self.alerts[node.kind]))
        inner = "" if _is_empty(node.content) else self.blocks(node.content)
        title = node.attrs.get("title")
        head = f"[!{name}]" + (f"\n**{html.escape(str(title), quote=False)}**\n" if title and not self.lossless else "")
        gap = "\n" if node.content and node.content[0].kind == "paragraph" and node.content[0].content else "\n\n"
        return quote_lines(head + (gap + inner if inner else ""))

    def _code(self, node: Node) -> str:
        words = "".join(child.text for child in node.content)
        runs = re.findall(r"^\s*(`{3,})", words, re.MULTILINE) if "```" in words else ()
        longest = max(map(len, runs), default=2)
        fence = "`" * (longest + 1)
        language = str(node.attrs.get("language", ""))
        head = fence + (SIGN.sub(r"\\\g<0>", language) if LANGUAGE.fullmatch(language) else "")
        title = "" if self.lossless else str(node.attrs.get("title") or "")
        above = (
            self.spans.write_inline(bold_nodes([text_node(" ".join(title.split()))])) + "\n\n" if title.strip() else ""
        )
        return above + (f"{head}\n{words}\n{fence}" if words else f"{head}\n{fence}")

    def _expand(self, node: Node) -> str:
        title = node.attrs.get("title")
        head = "<details>" + (
            f"\n<summary>{html.escape(' '.join(title.split()), quote=False)}</summary>" if title is not None else ""
        )
        return "\n\n".join(filter(None, [head, self.blocks(node.content), "</details>"]))

    def _tag(self, node: Node) -> str:
        """A block that a tag says, and no other construct."""
        name = self._tagged[node.kind]["tag"]
        said = {outer: node.attrs.get(own) for own, outer in self.said_by_tag(node.kind).items()}
        words = "".join(f' {outer}="{html.escape(str(value))}"' for outer, value in said.items() if value is not None)
        return "\n\n".join(filter(None, [f"<{name}{words}>", self.blocks(node.content), f"</{name}>"]))

    def said_by_tag(self, kind: str) -> dict[str, str]:
        """Neutral name → name of the attributes that the tag of a block says, where no other construct says it."""
        attrs = self._tagged[kind].get("attrs", {}) if self._writers.get(kind) is BlockWriter._tag else {}
        return {said if isinstance(said, str) else said.get("as", outer): outer for outer, said in attrs.items()}

    def has_construct(self, kind: str) -> bool:
        """Whether there is a construct for the kind."""
        return kind in self._writers

    def _table(self, node: Node) -> str:
        plain = plain_table(node, self.spans, lossless=self.lossless)
        return plain or html_table(node, self.blocks)

    def _alone(self, node: Node) -> str:
        """A node that words in a paragraph of their own say."""
        return self.rules.words_alone[node.kind][0]

    def _figure(self, node: Node) -> str:
        if node.kind == "image":
            return self.spans.write_inline([node])
        image = next((child for child in node.content if child.kind == "image"), None)
        if image is None:
            return ""
        linked = [mark for mark in (*image.marks, *node.marks) if mark.kind == "link"]
        words = self.spans.write_image(node)
        if not linked:
            return words
        return f"[{words}]({link_target(linked[0].attrs.get('href', ''))})"

    def _reference(self, node: Node) -> str:
        """The place of something that only the document itself says, around what it holds."""
        opening = lossless_markers.marker_reference(node.attrs["label"], opens=bool(node.content))
        return f"{opening}\n\n{self.blocks(node.content)}\n\n{lossless_markers.END}" if node.content else opening

    def _other(self, node: Node) -> str:
        """A node that Markdown has no construct for: what it holds, or what it says."""
        if node.kind in self.rules.inline:
            return self.spans.write_inline([node])
        if node.content:
            note_content_only(node, "Markdown", self.losses)
            return self.spans.write_inline(node.content)
        words = words_instead(node, "Markdown", self.rules, self.losses)
        marks = (Mark("link", {"href": words}),) if node.kind in ("blockcard", "embed") else ()
        return self.spans.write_inline([text_node(words, marks)]) if words else ""

    def _list(self, node: Node) -> str:
        ordered = node.kind == "numbers"
        bullet = node.text or ("." if ordered else "-")
        number = node.attrs.get("start", 1)
        number = number if isinstance(number, int) and 0 <= number <= MOST - len(node.content) else 1
        lines: list[str] = []
        other = False  # the list before in the same item had the first marker
        if node.kind in self.items and node.content and node.content[0].kind in self.items:
            lines.append(self._item(Node(self.items[node.kind]), bullet))  # a list in it needs an item before
        for item in node.content:
            if self.rules.group(item.kind) != "part":
                if item.kind in self._sorts:
                    item.text, other = OTHER if other else "", not other
                lines.append(indent_lines(self.block(item), 2))
                continue
            other = False
            sign = f"{number}{')' if bullet == OTHER else '.'}" if ordered else bullet
            number += 1
            lines.append(self._item(item, sign))
        loose = any("\n\n" in line for line in lines)
        return ("\n\n" if loose else "\n").join(lines)

    def _item(self, item: Node, sign: str) -> str:
        signs = self.markers.get(item.kind)
        marker = next((m for m, attrs in signs.items() if attrs.items() <= item.attrs.items()), None) if signs else None
        if item.kind == "blocktask":
            item = self._one_paragraph(item)
            marker = next(m for m, attrs in self.markers["task"].items() if attrs.items() <= item.attrs.items())
        if marker is None and item.kind in self.markers:
            marker = next(iter(self.markers[item.kind]))
        if marker is not None:
            words, lists = lists_of_lines(item.content)
            if not words:
                words, lists = item.content, []
            inner = self.spans.write_inline(words)
            if lists:  # a number that is not the first would go on with the paragraph
                inner += ("\n\n" if len(lists) > 1 or "start" in lists[0].attrs else "\n") + self.blocks(lists)
            return f"{sign} {marker} {indent_lines(inner, len(sign) + 1).lstrip()}".rstrip(" ")
        return f"{sign} {indent_lines(self._item_content(item), len(sign) + 1).lstrip()}".rstrip(" ")

    def _one_paragraph(self, item: Node) -> Node:
        """An item of blocks as one of lines."""
        self.losses.note(f"{item.kind} cannot be said in Markdown: its paragraphs became lines")
        lines: list[Node] = []
        for child in item.content:
            lines += [Node("break")] if lines else []
            lines += child.content or (
                [text_node(visible_text(child, self.rules))] if visible_text(child, self.rules) else []
            )
        return Node("task", {"done": item.attrs.get("done", False)}, lines)

    def _item_content(self, item: Node) -> str:
        if not item.content or _is_empty(item.content):
            return ""
        words = self.blocks(item.content)
        first, rest = item.content[0], item.content[1:]
        if len(rest) == 1 and rest[0].kind in ("bullets", *self.items) and first.kind == "paragraph" and first.content:
            head, _, tail = words.partition("\n\n")
            return words if "\n\n" in tail or EMPTY_ITEM.match(tail) else f"{head}\n{tail}"
        return words


def _is_empty(nodes: list[Node]) -> bool:
    """Whether they are one empty paragraph that says nothing else."""
    return len(nodes) == 1 and not nodes[0].content and nodes == EMPTY


def _of_blocks(node: Node, rules: Rules) -> bool:
    return bool(node.content) and (node.content[0].kind not in rules.inline or node.content[0].kind == "image")


def _unmarked(node: Node, *, kept: bool = False) -> Node:
    """The node without the notes the writer keeps on lists."""
    own = node.text if node.kind == "text" else ""
    content = [_unmarked(child, kept=kept) for child in node.content]
    return Node(node.kind, node.attrs, content, own, node.marks, kept)
