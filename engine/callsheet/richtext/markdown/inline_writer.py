"""Inline content written as Markdown, escaped so that it reads back as the same text.

Emphasis by signs has rules that depend on the neighbours, so what is not certain is read back, and written more plainly
where it does not say the same: first with signs, then with HTML tags, and in lossless mode with carried marks.
"""

from __future__ import annotations

import re
from functools import cached_property
from string import punctuation
from typing import Any

from .. import lossless_markers
from ..adf.document_forms import is_media
from ..node_rules import Rules
from ..plain_text import name_of_node, visible_text
from ..tree import Losses, Mark, Node, leads_somewhere, merge_runs, shared_length, spaces_out, text_node
from .inline_reader import InlineReader
from .parser import Parser
from .text_patterns import ODD_SPACE, SPECIAL, Patterns, link_address, patterns_of, said_by

IS_SPECIAL = re.compile(SPECIAL)
BRACKETS = re.compile(r"[\[\]]")
LINE_START = re.compile(
    r"(?P<sign>#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|[-=_:|](?=[-=_:|\s]*$)|\|(?=.*\|)"
    r"|!!!|\?\?\?|:::|===|\$\$|[:~](?=\s)"  # of dialects: boxes, tabs, formulas, what a term means
    r"|\[(?=(?: |x|X|![A-Za-z]+)\](?:\s|$))|(?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$))"
)
IS_ODD = re.compile(f"[{ODD_SPACE}]")
NO_ENTITY = frozenset("\v\x1c\x1d\x1e\x1f\x85")
NO_TARGET = re.compile(r"[\s()<>\\\x00-\x1f]|&(?=#|\w+;)")
EDGE_SPACE = re.compile(r"^\s+|\s+$")


def escape_markdown(words: str, patterns: Patterns, *, linked: bool = False) -> str:
    """Text between marks, wherever on its line it stands."""
    if not (patterns.suspects_in_link if linked else patterns.suspects).search(words):
        return words
    marks = [match.start() for match in patterns.matches_in(words, linked=linked)]
    marks += [match.start() for match in IS_SPECIAL.finditer(words)]
    if linked:
        marks += [match.start() for match in BRACKETS.finditer(words)]
    if marks:
        parts, end = [], 0
        for place in sorted(set(marks)):
            parts += [words[end:place], "\\"]
            end = place
        words = "".join(parts) + words[end:]
    return words if words.isprintable() else IS_ODD.sub(as_entities, words)


def as_entities(match: re.Match[str]) -> str:
    """The characters as entities; those that no entity can stand for as they are."""
    return "".join(sign if sign in NO_ENTITY else f"&#{ord(sign)};" for sign in match[0])


def start_of_line(line: str) -> str:
    """A line of a paragraph that nothing takes for a heading, a list, a quote or a rule."""
    match = LINE_START.match(line)
    if not match:
        return line
    if match["number"]:
        return f"{match['number']}\\{line[match.end('number') :]}"
    return "\\" + line


def paragraph_lines(words: str, *, exact: bool) -> str:
    """A paragraph's lines, their starts escaped and their outer white space kept as entities or taken off."""
    first, last = words[:1], words[-1:]
    if (first.isalpha() or first == "`") and last != "\\" and not last.isspace() and "\n" not in words:
        return words
    lines = words.split("\n")
    result = []
    for line in lines:
        end = "\\" if line.endswith("\\") and _breaks(line) else ""
        kept = line.removesuffix(end)
        if kept[:1].isspace() or kept[-1:].isspace():
            kept = EDGE_SPACE.sub(as_entities if exact else _odd, kept)
        result.append(start_of_line(kept) + end)
    return "\n".join(result)


def _breaks(line: str) -> bool:
    """Whether a line ends in a backslash that is a line break, no escaped one."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _odd(match: re.Match[str]) -> str:
    return as_entities(match) if match[0].strip(" ") else ""


def link_target(href: str) -> str:
    """A link's target as it stands in parentheses."""
    if href and not NO_TARGET.search(href):
        return href
    safe = re.sub(
        r"[\x00-\x20\x7f-\xa0\u2028\u2029]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), href
    )
    if not href or "(" in safe or ")" in safe or "<" in safe or ">" in safe or "\\" in safe or "&" in safe:
        return "<" + re.sub(r"[<>\\]|&(?=#|\w+;)", r"\\\g<0>", safe) + ">" if href else "<>"
    return safe


def link_title(words: str) -> str:
    clean = " ".join(words.split())
    return ' "' + re.sub(r'(["\\&])', r"\\\1", clean) + '"'


EMPHASIS = frozenset("*_~")
SIGNS = {"strong": "**", "em": "*", "strike": "~~"}
UNDERLINE = {**SIGNS, "em": "_"}  # beside other asterisks
SIGN_LEVEL, UNDERLINE_LEVEL, TAG_LEVEL, CARRY_LEVEL = range(4)
READABLE = (SIGN_LEVEL, UNDERLINE_LEVEL, TAG_LEVEL)
LINK_ATTRS = frozenset({"href", "title"})
BEHIND_ADDRESS, BEHIND_WORDS = re.compile(r"[.,:;!?)]*(?:\s|\Z)"), re.compile(r"[\s.,;!?)]")
LONG = 20_000  # plain text beyond it is not read back


class SpanWriter:
    def __init__(self, rules: Rules, losses: Losses, *, lossless: bool) -> None:
        self.rules = rules
        self.losses = losses
        self.lossless = lossless
        self.tags = rules.mark_tags
        self.links = rules.links
        self.patterns = patterns_of(rules, cards=False)

    @cached_property
    def reader(self) -> InlineReader:
        return InlineReader(Parser(), self.rules, self.patterns)

    def write_inline(self, content: list[Node], *, single: bool = False) -> str:
        """One paragraph's content; `single` where it must stay on one line."""
        if len(content) == 1 and self._is_plain(content[0]):
            return self._lines(content[0].text, single=single)
        if not self.lossless:
            words, certain = self._spans(content, SIGN_LEVEL, single=single)
            if certain:
                return self._lines(words, single=single)
        nodes = merge_runs(content) if self.lossless else self._readable(content)
        if len(nodes) == 1 and nodes[0].kind == "text" and not nodes[0].marks and len(nodes[0].text) > LONG:
            return self._lines(escape_markdown(nodes[0].text, self.patterns), single=single)
        wanted: list[Any] = []
        for level in (*READABLE, CARRY_LEVEL) if self.lossless else READABLE:
            spans, certain = self._spans(nodes, level, single=single)
            words = self._lines(spans, single=single)
            if certain:
                break
            wanted = wanted or [self._shape(node) for node in nodes]
            if [self._shape(node) for node in self.reader.read_inline(words)] == wanted:
                break
        return words

    def _is_plain(self, node: Node) -> bool:
        """Whether a node is words that need no escape wherever they stand on their line."""
        bare = node.kind == "text" and not node.marks and not node.attrs and bool(node.text)
        return bare and not self.patterns.suspects.search(node.text)

    def _lines(self, words: str, *, single: bool) -> str:
        lines = paragraph_lines(words, exact=self.lossless)
        return lines.replace("\n", " ") if single else lines

    def _shape(self, node: Node) -> Any:
        """What must read back: all of it in lossless mode, what Markdown can say otherwise."""
        if self.lossless:
            return node.kind, node.attrs, node.text, node.marks, [self._shape(child) for child in node.content]
        if not node.marks:
            return node.kind, node.text.strip(), []
        marks = sorted((mark.kind, "link" if mark.attrs.get("href") else "") for mark in node.marks)
        return node.kind, node.text.strip(), marks

    # --- what readable Markdown can say ---

    def _readable(self, content: list[Node]) -> list[Node]:
        result: list[Node] = []
        for node in content:
            if node.kind == "text" and not node.attrs and (not node.marks or all(map(self._is_said, node.marks))):
                result.append(node)
            else:
                result += self._sayable(node)
        return spaces_out(result)

    def _sayable(self, node: Node) -> list[Node]:
        marks = tuple(mark for mark in node.marks if mark.kind in self.tags or leads_somewhere(mark))
        for mark in node.marks:
            if mark not in marks:
                self.losses.note(f"{mark.kind} cannot be said in Markdown: the words are kept")
            elif mark.kind == "link" and mark.attrs.keys() - LINK_ATTRS:
                self.losses.note("a link has attributes that Markdown cannot say")
        if node.kind == "inlinereference":
            return [node]
        if node.kind in ("text", "break", "image", "figure"):
            self._tell(node, {"url", "alt", "title", "text", "layout"})
            return [node.with_marks(marks if node.kind != "break" else ())]
        if self._constructed(node) is not None:
            said = self.patterns.written_words(node.kind, node.attrs)
            form = self.links.get(node.kind)
            names = {*(said[1] if said else ()), *(said_by(form) if form else ()), "text"}
            self._tell(node, names)
            return [Node(node.kind, {name: node.attrs[name] for name in names & node.attrs.keys()}, [], "", marks)]
        self.losses.note(f"{name_of_node(node)} became text")
        words = visible_text(node, self.rules)
        if node.kind == "card" and words:
            marks = (*marks, Mark("link", {"href": words}))
        return [text_node(words, marks)] if words else list(node.content)

    def _is_said(self, mark: Mark) -> bool:
        """Whether Markdown says a mark whole."""
        if mark.kind == "link":
            return leads_somewhere(mark) and mark.attrs.keys() <= LINK_ATTRS
        return mark.kind in self.tags

    def _tell(self, node: Node, said: set[str]) -> None:
        for image in node.content:
            self._tell(image, said)
        defaults = self.rules.default_attributes.get(node.kind, {})
        for name, value in node.attrs.items():
            if name not in said and value != defaults.get(name):
                self.losses.note(f"{name_of_node(node)}: {name} cannot be said in Markdown")

    def _constructed(self, node: Node) -> str | None:
        """A node in the words that its definition gives it."""
        found = self.patterns.written_words(node.kind, node.attrs)
        said = self.links.get(node.kind)
        if said and isinstance(node.attrs.get(said["attr"]), str):
            label = str(node.attrs.get(said["label"]) or "")
            if label or not found:
                label = label or ("" if self.lossless else node.attrs[said["attr"]])  # as readers see it elsewhere
                where = link_target(link_address(node.attrs, said))
                return f"{said.get('before', '')}[{escape_markdown(label, self.patterns, linked=True)}]({where})"
        return found[0] if found else None

    # --- writing ---

    def _spans(self, nodes: list[Node], level: int, *, single: bool) -> tuple[str, bool]:
        """Nodes with their marks as a level has them, and whether that is certain to read back as it is."""
        patterns = self.patterns
        parts: list[str] = []
        opened: tuple[Mark, ...] = ()
        signs: list[tuple[int, bool]] = []  # where a sign of emphasis stands, and whether it opens
        apart: list[tuple[int, re.Pattern[str]]] = []  # what white space or the like must be around
        certain = level == SIGN_LEVEL and not self.lossless
        before: tuple[Mark, ...] | None = None  # marks of the text before
        for index, node in enumerate(nodes):
            marks, kind, words = node.marks, node.kind, node.text
            if kind == "text" and words and marks != before and not node.attrs:
                before = marks
                if not marks and not opened:
                    parts.append(escape_markdown(words, patterns))
                    continue
                if not opened and len(marks) == 1 and marks[0].kind == "codespan":
                    certain = certain and not (parts and parts[-1].endswith("`"))
                    parts.append(code_span(words))
                    continue
            else:
                before = None
                certain = certain and kind != "text"
            bare, is_code, linked = None, False, False
            if marks:
                kinds = [mark.kind for mark in marks]
                linked = "link" in kinds
                if "codespan" in kinds:
                    is_code = kind == "text"
                    marks = tuple([mark for mark in marks if mark.kind != "codespan"])
                if linked and level < TAG_LEVEL and node.marks[-1].attrs.get("href") == words:
                    bare = self._bare(node)
                    marks = marks[:-1] if bare else marks
            if marks != opened:
                same = shared_length(opened, marks) if opened and marks else 0
                certain = certain and not (same < len(opened) and parts[-1][-1:].isspace())
                certain = certain and not (same < len(marks) and words[:1].isspace())
                if opened:
                    self._turn(opened[same:][::-1], level, parts, signs, opening=False)
                if marks:
                    self._turn(marks[same:], level, parts, signs, opening=True)
                    certain = certain and all(map(self._is_said, marks[same:]))
                    certain = certain and (len(marks) < 2 or sum(mark.kind in SIGNS for mark in marks) < 2)
                opened = marks
            if bare:
                apart.append((len(parts), BEHIND_ADDRESS))
                parts.append(bare)
            elif is_code:
                certain = certain and not (parts and parts[-1].endswith("`"))
                parts.append(code_span(words))
            elif kind == "text":
                parts.append(escape_markdown(words, patterns, linked=linked))
            else:
                is_last = index == len(nodes) - 1
                parts.append(self._node(node, level, single=single or is_last, linked=linked))
                if kind == "break":
                    certain = certain and not marks and not node.attrs and not is_last
                else:
                    apart.append((len(parts) - 1, BEHIND_WORDS))
                    certain = certain and not node.marks and self._is_worded(node, parts[-1], nodes)
        if opened:
            certain = certain and not parts[-1][-1:].isspace()
            self._turn(opened[::-1], level, parts, signs, opening=False)
        found = "".join(parts)
        if "$" in found:
            certain = certain and not _may_be_formula(parts, signs, nodes)
        return found, certain and (not (signs or apart) or _are_apart(parts, signs, apart))

    def _turn(
        self, marks: tuple[Mark, ...], level: int, parts: list[str], signs: list[tuple[int, bool]], *, opening: bool
    ) -> None:
        """Opens or closes marks, in this order; `signs` learns where those of emphasis are among the parts."""
        for mark in marks:
            if mark.kind in SIGNS:
                signs.append((len(parts), opening))
            parts.append(self._mark(mark, level, opening=opening))

    def _is_worded(self, node: Node, words: str, nodes: list[Node]) -> bool:
        """Whether a node is words that read back as it is, and no other words around could begin such a node."""
        patterns = self.patterns
        said = patterns.written_words(node.kind, node.attrs) if node.kind not in self.links else None
        return (
            said is not None
            and node.attrs.keys() <= {*said[1], "text"}
            and not IS_SPECIAL.search(words)
            and all(one.kind != "text" or not patterns.signs.search(one.text) for one in nodes)
        )

    def _bare(self, node: Node) -> str | None:
        """An address that is its own link, and reads back so."""
        if node.kind != "text" or node.marks[-1].attrs.get("href") != node.text or len(node.marks[-1].attrs) > 1:
            return None
        found = list(self.patterns.nodes_in(node.text, ()))
        return node.text if len(found) == 1 and found[0].text == node.text and found[0].marks else None

    def _mark(self, mark: Mark, level: int, *, opening: bool) -> str:
        if leads_somewhere(mark) and (level < CARRY_LEVEL or set(mark.attrs) <= {"href"}):
            if opening:
                return "["
            words = mark.attrs.get("title")
            return f"]({link_target(mark.attrs.get('href', ''))}{link_title(words) if words else ''})"
        if mark.kind in SIGNS and level < TAG_LEVEL:
            return (SIGNS if level == SIGN_LEVEL else UNDERLINE)[mark.kind]
        if mark.kind in self.tags and not mark.attrs:
            return f"<{self.tags[mark.kind]}>" if opening else f"</{self.tags[mark.kind]}>"
        if level < CARRY_LEVEL:
            return ""
        return (
            lossless_markers.marker_span({"marks": [list(mark)]}, "").removesuffix("</span>") if opening else "</span>"
        )

    def _node(self, node: Node, level: int, *, single: bool, linked: bool) -> str:
        if node.kind == "inlinereference":
            return lossless_markers.inline_reference(node.attrs["label"])
        if node.kind == "break" and (not node.attrs or level < CARRY_LEVEL):
            return "<br>" if single else "\\\n"
        if node.kind in ("image", "figure") and (level < CARRY_LEVEL):
            return self.write_image(node)
        if level == CARRY_LEVEL:
            return lossless_markers.marker_span(
                lossless_markers.carried_node(Node(node.kind, node.attrs, node.content, node.text, node.marks)),
                escape_markdown(visible_text(node, self.rules).replace("\n", " "), self.patterns, linked=True),
            )
        return self._constructed(node) or escape_markdown(visible_text(node, self.rules), self.patterns, linked=linked)

    def write_image(self, node: Node) -> str:
        """An image, or a figure with its caption for a title; a link on it goes around."""
        image = next((child for child in node.content if child.kind == "image"), node)
        caption = " ".join(visible_text(child, self.rules) for child in node.content if child.kind == "caption")
        words = caption or str(image.attrs.get("title") or "")
        alt = escape_markdown(str(image.attrs.get("alt") or self._unnamed(image)), self.patterns, linked=True)
        return f"![{alt}]({link_target(str(image.attrs.get('url') or ''))}{link_title(words) if words.strip() else ''})"

    def _unnamed(self, image: Node) -> str:
        """What stands for an attachment that has no description."""
        url = str(image.attrs.get("url") or "")
        return "attachment" if is_media(url, self.rules) and not self.lossless else ""


def _may_be_formula(parts: list[str], signs: list[tuple[int, bool]], nodes: list[Node]) -> bool:
    """Whether a dollar sign in words has another one, or a sign of emphasis, to go with."""
    return "".join(parts).count("$") > (not signs) and any(
        "$" in node.text and all(mark.kind != "codespan" for mark in node.marks) for node in nodes
    )


def _are_apart(parts: list[str], signs: list[tuple[int, bool]], apart: list[tuple[int, re.Pattern[str]]]) -> bool:
    """Whether nothing beside signs of emphasis, bare addresses and nodes that are words changes what they mean.

    A sign opens or closes beside a letter or digit; beside anything else only where the other side is white space,
    punctuation or an end. No two signs may touch.
    """
    edged = ["", *parts, ""]
    for place, opens in signs:
        before, after = edged[place][-1:], edged[place + 2][:1]
        inner, outer = (after, before) if opens else (before, after)
        if not inner or inner.isspace() or outer in EMPHASIS:
            return False
        if not (inner.isalnum() or not outer or outer.isspace() or outer in punctuation):
            return False
    for place, behind in apart:
        before, after = edged[place][-1:], edged[place + 2]
        if not (not before or before.isspace() or before == "(") or not (not after or behind.match(after)):
            return False
    return True


def code_span(words: str) -> str:
    longest = max(map(len, re.findall("`+", words))) if "`" in words else 0
    fence = "`" * (longest + 1)
    clean = words.replace("\n", " ")
    pad = " " if clean[:1] == "`" or clean[-1:] == "`" or (clean[:1] == " " == clean[-1:] and clean.strip()) else ""
    return f"{fence}{pad}{clean}{pad}{fence}"
