"""Inline Markdown: the parser's tokens as runs of text with marks, and nodes; what is simple by a pattern.

Most paragraphs are words, code, emphasis, links and images, and a pattern reads them several times as fast as the
parser does. What could mean anything else (signs beside one another, entities, tags, brackets in brackets) is not
matched, and the parser reads the whole paragraph. A property of the tests holds the two ways to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from markdown_it.common.utils import normalizeReference

from .. import lossless_markers
from ..node_rules import Rules
from ..plain_text import visible_text
from ..shared_keys import share_keys
from ..tree import NO_ATTRS, NO_CONTENT, Mark, Node, merge_runs, text_node
from .parser import Parser
from .parser_rules import InlineToken
from .special_lists import checkbox_sign
from .tags import HIDDEN, LINE_BLOCKS, TAG, begins_block, pair_tags, shown_address, tag_attributes, tag_name, tags_of
from .text_patterns import Patterns, at_start, in_address, led_to


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


LETTER = r"[^\W_]"
IN_WORD = r"(?<=[a-zA-Z0-9])_+(?=[a-zA-Z0-9])"
WORDS = rf"(?:[^\\`*_\[\]!^<&~${{}}]++|[!^](?!\[)|{IN_WORD})"  # nothing that begins something
NAME = r"[^\\`*_\[\]!^<&~${}\n]"
CODE = r"(?<!`)`[^`]+`(?!`)"
PART = r"[A-Za-z0-9/?=#+,;@._~-]++|%[0-9A-Fa-f]{2}"
ADDRESS = (
    rf"(?:https?://[A-Za-z0-9.-]+(?=[/:?#)\s])(?:{PART}|[:!$']|&(?![#\w]*;)|\((?:{PART})*\))*"
    rf"|(?!https?:)(?:{PART})+)"
)
TITLE = r"[ ]\"[^\"\\&\n<>`*_\[\]]*\""
LINK = rf"\[(?:{WORDS}|{CODE})+\]\({ADDRESS}(?:{TITLE})?\)"
END = r"(?![`*_~{(\[])"  # nothing right behind that could belong to it


def _emphasis(name: str, sign: str) -> str:
    """A sign beside a letter inside, or between white space and something else, can only open, or only close."""
    before, after = (r"(?<![*_])", "") if "*" in sign else (r"(?<![\w*])", r"(?!\w)")
    opening = rf"{before}(?:{sign}(?={LETTER})|(?<!\S){sign}(?=[^\s*_]))"
    closing = rf"(?:(?<={LETTER}){sign}|(?<=[^\s*_]){sign}(?=[\s.,;:!?)]|\Z)){after}"
    return rf"{opening}(?P<{name}>(?:{WORDS}|{CODE}|{LINK})+){closing}{END}"


SEGMENT = re.compile(
    rf"""
    (?P<plain>(?:[^\\`*_\[\]!<&~$^\n]++|[!^](?!\[)|&(?![#A-Za-z])|<(?![A-Za-z/!?])|{IN_WORD})++)
    |(?P<line>\\?\n[ \t]*(?!\s))
    |\\(?P<sign>[!-%'-/:-@\[-`{{-~])
    |(?<!`)`(?P<code>[^`]+)`(?!`){END}
    |{_emphasis("strong", "[*]{2}")}
    |{_emphasis("em", "[*]")}
    |{_emphasis("strong_", "__")}
    |{_emphasis("em_", "_")}
    |\[(?P<label>(?:{WORDS}|{CODE}|[*]{{2}}{LETTER}(?:{WORDS}*{LETTER})?[*]{{2}})+)\]\((?P<href>{ADDRESS})(?P<title>{TITLE})?\){END}
    |\[!\[(?P<badge>{NAME}*)\]\((?P<shown>{ADDRESS})\)\]\((?P<leads>{ADDRESS})\){END}
    |!\[(?P<alt>{NAME}*)\]\((?P<url>{ADDRESS})\){END}
    |\[(?P<words>{NAME}+)\](?:\[(?P<name>{NAME}*)\])?{END}
    """,
    re.VERBOSE,
)
STRONG, EM, CODESPAN = Mark("strong", {}), Mark("em", {}), Mark("codespan", {})
EMPHASIS = {"strong": STRONG, "strong_": STRONG, "em": EM, "em_": EM}

References = Mapping[str, Mapping[str, str]]


class SimpleReader:
    """`schemes`: what addresses start with that are no links. `lines`: line ends are no spaces."""

    def __init__(self, patterns: Patterns, schemes: tuple[str, ...], *, lines: bool) -> None:
        self.patterns = patterns
        self.schemes = schemes
        self.lines = lines

    def read(self, content: str, references: References, marks: tuple[Mark, ...] = ()) -> list[Node] | None:
        """The inline content, not merged; None where the parser must read it. `references`: links by their names."""
        found: list[Node] = []
        plain = ""
        end = 0
        while end < len(content):
            match = SEGMENT.match(content, end)
            if match is None:
                return None
            end = match.end()
            kind = match.lastgroup
            if kind == "plain":
                plain += match[0]
                continue
            if kind == "line" and not self.lines and match[0][0] == "\n" and not plain.endswith("  "):
                plain = plain.removesuffix(" ") + " "
                continue
            if kind == "words" and normalizeReference(match["words"]) not in references:
                plain += match[0]
                continue
            if plain:
                found += self.patterns.nodes_in(plain.rstrip(" ") if match[0][0] == "\n" else plain, marks)
                plain = ""
            nodes = self._nodes(match, references, marks)
            if nodes is None:
                return None
            found += nodes
        if plain:
            found += self.patterns.nodes_in(plain, marks)
        return found

    def _nodes(self, match: re.Match[str], references: References, marks: tuple[Mark, ...]) -> list[Node] | None:
        """What is not plain."""
        kind = match.lastgroup
        if kind == "code":
            return [text_node(_code(match["code"].replace("\n", " ")), (*marks, CODESPAN))]
        if kind == "line":
            return [Node("break", NO_ATTRS, NO_CONTENT, "", marks)]
        if kind == "sign":
            return [text_node(match["sign"], marks)]
        if kind in EMPHASIS:
            return self.read(match[kind], references, (*marks, EMPHASIS[kind]))
        if kind == "url":
            return [_image(match["alt"], match["url"], marks)]
        if kind in ("words", "name"):
            target = references.get(normalizeReference(match["name"] or match["words"]))
            if target is None:
                return None
            label, href, title = match["words"], target["href"], target["title"]
        elif kind == "leads":
            label, href, title = "", match["leads"], ""
        else:
            label, href, title = match["label"], match["href"], (match["title"] or "").strip(' "')
        if href.startswith(self.schemes):
            return None
        title = " ".join(title.split())
        link = (*marks, Mark("link", {"href": href, "title": title} if title else {"href": href}))
        return self.read(label, {}, link) if kind != "leads" else [_image(match["badge"], match["shown"], link)]


def _image(alt: str, url: str, marks: tuple[Mark, ...]) -> Node:
    return Node("image", share_keys({"url": url, "alt": alt} if alt else {"url": url}), [], "", marks)


def _code(words: str) -> str:
    """The words of a code span without the space that sets backticks in it apart from its own."""
    return words[1:-1] if words[0] == words[-1] == " " and words.strip(" ") else words


PAIRS = {"em_open": "em", "strong_open": "strong", "s_open": "strike"}
GONE = InlineToken("", 0)
ODD_LINE = re.compile(r"\s\n|\n\s")
ATTRIBUTED = frozenset({"image", "link_close", "code_inline"})


class InlineReader:
    def __init__(self, parser: Parser, rules: Rules, patterns: Patterns, *, soft_break: str = "space") -> None:
        self.parser = parser
        self.rules = rules
        self.patterns = patterns
        self.soft_break = soft_break
        self.tags = tags_of(rules)
        self._links = rules.links
        self.schemes = rules.schemes
        self.simple = SimpleReader(patterns, self.schemes, lines=soft_break != "space")
        self._plain = patterns.plain if soft_break == "space" else patterns.plain_line

    def read_inline(self, content: str, *, blocks: bool = False) -> list[Node]:
        """The nodes of a line; with `blocks` the tags of blocks in it are nodes, too, for the assembler to read."""
        if self._plain.fullmatch(content) and not ODD_LINE.search(content):
            return [text_node(content.replace("\n", " "))] if content else []
        found = self.simple.read(content, self.parser.references)
        return self.read_by_parser(content, blocks=blocks) if found is None else merge_runs(found)

    def read_by_parser(self, content: str, *, blocks: bool = False) -> list[Node]:
        """Inline content as the parser reads it."""
        tokens = self.parser.inline_tokens(content)
        tagged = any(token.type == "html_inline" for token in tokens)
        if tagged:
            pair_tags(tokens)
        blocks = blocks and tagged and any(begins_block(token) for token in tokens)
        nodes = _Run(self, tokens, blocks=blocks).nodes()
        return tidy_white_space(nodes) if tagged else merge_runs(nodes)

    def meaning_of_tag(self, source: str, *, paired: bool) -> tuple[Mark, ...] | Node | None:
        """What an HTML start tag means: marks for what it encloses, a node, or None for what is no markup.

        A tag that nobody knows is markup too when it is closed or has attributes; `<name>` alone is text.
        """
        if self.is_ours(source):
            return self._carried(source)
        match = TAG.fullmatch(source)
        if match is None:
            return None
        name = match[2].lower()
        given: dict[str, str | None] = dict(tag_attributes(match[3]))
        tag = self.tags.known.get(name)
        if tag is not None and tag.kind in self.rules.inline and not match[1]:
            attrs = tag.attrs(given)
            return () if attrs is None else Node(tag.kind, attrs)
        if self.tags.is_markup(name) or paired or given or source.endswith("/>"):
            return tuple(mark for mark in self.tags.of_marks(name, given) if mark.kind in self._on_text)
        return None

    @cached_property
    def _on_text(self) -> frozenset[str]:
        return frozenset(kind for form in self.rules.forms.get("text", ()) for kind in form.marks)

    def is_ours(self, source: str) -> bool:
        """Whether a tag or comment carries something, or is damaged."""
        return not self.rules.literal and bool(lossless_markers.OURS.match(source))

    def _carried(self, source: str) -> tuple[Mark, ...] | Node:
        """What a span of ours carries."""
        if label := lossless_markers.from_inline_reference(source):
            return Node("inlinereference", {"label": label})
        value = lossless_markers.from_span(source)
        found: tuple[Mark, ...] | Node | None = None
        if value is not None and "kind" in value:
            found = lossless_markers.restored_node(value, self.rules)
        elif value is not None:
            found = lossless_markers.restored_marks(value.get("marks"), self.rules)
        if found is None:
            raise lossless_markers.DamagedError(source)
        return found

    def letters_shown(self, node: Node) -> str:
        """The letters and signs that stand between the tags of a carried node."""
        return "".join(visible_text(node, self.rules).split())

    def node_of_link(self, href: str, label: str, before: str) -> tuple[Node, int] | None:
        """A node written as a link, and how many characters before the link belong to it."""
        if not href.startswith(self.schemes):
            return None
        for kind, said in self._links.items():
            sign = said.get("before", "")
            if href.startswith(said["scheme"]) and before.endswith(sign):
                return Node(kind, led_to(href, said) | ({said["label"]: label} if label else {})), len(sign)
        return None


class _Run:
    """One pass over the tokens of one piece of inline content."""

    def __init__(self, reader: InlineReader, tokens: list[InlineToken], *, blocks: bool) -> None:
        self.reader = reader
        self.blocks = blocks
        self.tokens = tokens
        self.opened: dict[str | int, list[tuple[Mark, ...]]] = {}  # what closes them → marks
        self.current: tuple[Mark, ...] = ()
        self.found: list[Node] = []
        self.plain = ""

    def nodes(self) -> list[Node]:
        skip = -1
        for index, token in enumerate(self.tokens):
            if index > 1:
                self.tokens[index - 2] = GONE  # a long paragraph has many, and its nodes take their place
            if index <= skip:
                continue
            if token.type == "text":
                self.plain += self._behind(index, token.content)
                continue
            skip = max(skip, self._special(index, token))
        self._flush()
        return self.found

    def _flush(self) -> None:
        if self.plain:
            self.found.extend(self.reader.patterns.nodes_in(self.plain, self.current))
            self.plain = ""

    def _special(self, index: int, token: InlineToken) -> int:
        """Handles a token that is no plain text; the index up to which tokens are used up."""
        kind = token.type
        if kind == "softbreak":
            if self.reader.soft_break == "space":
                self.plain += " "
                return index
            kind = "hardbreak"
        if kind == "text_special" and token.content == "&" and in_address(self.plain):
            self.plain += "&"  # of an entity in a bare address
            return index
        self._flush()
        if kind == "text_special":
            self.found.append(text_node(token.content, self.current))
        elif kind == "code_inline":
            self.found.append(text_node(token.content, (*self.current, Mark("codespan", {}))))
        elif kind in PAIRS:
            self._open(PAIRS[kind], (Mark(PAIRS[kind], {}),))
        elif kind == "link_open":
            return self._link(index, token)
        elif kind.endswith("_close"):
            self._close(kind if kind == "link_close" else PAIRS[kind.replace("_close", "_open")])
        elif kind == "hardbreak":
            self.found.append(Node("break", NO_ATTRS, NO_CONTENT, "", self.current))
        elif kind == "image":
            self.found.append(self._image(token))
        elif kind == "footnote_ref":
            self._reference(token.meta["id"] + 1)
        elif kind in ("math_inline", "math_inline_double"):
            self.found.append(text_node(formula(token.content), (*self.current, Mark("codespan", {}))))
        elif kind == "html_inline":
            return self._html(index, token)
        return index

    def _reference(self, number: int) -> None:
        """The number of a footnote, apart from that of another right before it."""
        marks = (*self.current, Mark("sup", {}))
        follows = bool(self.found) and self.found[-1].marks == marks
        self.found.append(text_node(f",{number}" if follows else str(number), marks))

    def _open(self, closer: str | int, marks: tuple[Mark, ...]) -> None:
        """Starts marks; one that is there already adds nothing, so that a million tags cost no more than one."""
        present = {mark.kind for mark in self.current}
        added = tuple(mark for mark in marks if mark.kind not in present)
        self.opened.setdefault(closer, []).append(added)
        self.current += added

    def _close(self, closer: str | int) -> None:
        ended = self.opened[closer].pop() if self.opened.get(closer) else ()
        if ended:
            self.current = tuple(mark for mark in self.current if not any(mark is end for end in ended))

    def _link(self, index: int, token: InlineToken) -> int:
        href = str(token.attrs.get("href") or "")
        title = " ".join(str(token.attrs.get("title") or "").split())
        before = self.found[-1].text if self.found and self.found[-1].kind == "text" else ""
        if self.reader.schemes and href.startswith(self.reader.schemes):
            end = next(i for i in range(index, len(self.tokens)) if self.tokens[i].type == "link_close")
            label = "".join(inner.content for inner in self.tokens[index + 1 : end])
            found = self.reader.node_of_link(href, label, before)
            if found:
                node, used = found
                if used:
                    self.found[-1] = text_node(before[:-used], self.found[-1].marks)
                self.found.append(Node(node.kind, node.attrs, marks=self.current))
                return end
        self._open("link_close", (Mark("link", {"href": href, **({"title": title} if title else {})}),))
        return index

    def _image(self, token: InlineToken) -> Node:
        alt = words_of_tokens(token.children or [])
        attrs = share_keys({"url": str(token.attrs.get("src") or ""), **({"alt": alt} if alt else {})})
        image = Node("image", attrs, [], marks=self.current)
        title = token.attrs.get("title")
        if not title:
            return image
        image.marks = ()
        return Node("figure", {}, [image, Node("caption", content=[text_node(str(title))])], marks=self.current)

    def _behind(self, index: int, words: str) -> str:
        """A text without what belongs to the token before it: a list of attributes, or the space beside a tag."""
        if words.startswith("{") and index and self.tokens[index - 1].type in ATTRIBUTED:
            return words[at_start(words) :]
        if words.startswith(" ") and index and self.tokens[index - 1].type == "html_inline" and ends_blank(self.found):
            return words.lstrip(" ")
        return words

    def _html(self, index: int, token: InlineToken) -> int:
        if self.blocks and tag_name(token.content) in LINE_BLOCKS:
            self.found.append(Node("html", text=token.content))
            return index
        if token.end is not None and token.end < index:
            self._close(token.end)
            return index
        ours = self.reader.is_ours(token.content)
        if ours and token.end is None:
            raise lossless_markers.DamagedError(token.content)
        if token.content.startswith(("<!--", "<?", "<!")):
            return index  # comments are not shown
        closed = token.end
        if tag_name(token.content) in HIDDEN:
            return closed or index
        if address := shown_address(token.content):
            self.found.append(text_node(address, (*self.current, Mark("link", {"href": address}))))
            return index
        if box := checkbox_sign(token.content):
            self.found.append(text_node(box, self.current))
            return index
        meaning = self.reader.meaning_of_tag(token.content, paired=closed is not None)
        if isinstance(meaning, Node):
            return self._placed(index, meaning, ours=ours)
        if meaning is None:
            if not self._ends_above(index):
                self.found.append(text_node(token.content, self.current))
        elif closed is not None:
            self._open(index, meaning)
        return index

    def _ends_above(self, index: int) -> bool:
        """Whether an end tag stands on a line of its own below words: it ends a tag that stands above them."""
        around = [*self.tokens[max(index - 1, 0) : index], *self.tokens[index + 1 : index + 2]]
        ends_line = [token.type for token in around] in (["softbreak"], ["softbreak", "softbreak"])
        return ends_line and self.tokens[index].content.startswith("</")

    def _placed(self, index: int, node: Node, *, ours: bool) -> int:
        """A node in the place of its tag. Words that stand for a carried one and were changed win over it."""
        end = self.tokens[index].end or index
        inner = "".join("".join(token.content.split()) for token in self.tokens[index + 1 : end])
        if node.kind == "inlinereference":
            end = index
        elif ours and inner != self.reader.letters_shown(node):
            return index
        marks = node.marks or (self.current if node.kind != "break" else ())
        self.found.append(node.with_marks(marks))
        return end


def formula(words: str) -> str:
    """A formula without the backticks that may stand between it and its dollar signs."""
    words = words.strip()
    bare = words.removeprefix("`").removesuffix("`")
    return bare if len(bare) == len(words) - 2 and "`" not in bare and bare.strip() else words


def words_of_tokens(tokens: Iterable[InlineToken]) -> str:
    """The words that a reader sees."""
    return "".join(
        words_of_tokens(token.children or [])
        if token.type == "image"
        else " "
        if token.type in ("softbreak", "hardbreak")
        else token.content
        for token in tokens
        if token.type != "html_inline"
    )
