"""Wiki markup read into the neutral tree: blocks, and what stands in their lines."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from ..markdown.text_patterns import URL
from ..node_rules import Rules
from ..tree import Losses, Mark, Node, merge_runs, paragraph_nodes, text_node, trim_inline
from .macro_forms import PATH, WikiForms, WikiMacro, macro_parameters

ENTITY = re.compile(r"&#\d{1,6};")
LINKED = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:|//|/|#|\^|www\.)\S")
TRAIL = re.compile(r"[?!.,:;*_~'\")\]]+$")


@dataclass(slots=True)
class Sign:
    """A mark's sign in the text: what it could do, and what it turned out to do."""

    place: int
    kind: str
    sign: str
    mark: Mark
    opens: bool
    closes: bool
    paired: bool = False

    @property
    def end(self) -> int:
        return self.place + len(self.sign)


class WikiInline:
    def __init__(self, forms: WikiForms) -> None:
        self.forms = forms
        self._templates = forms.templates
        signs = "".join(re.escape(sign) for sign in forms.marks.values())
        code = forms.pairs.get("codespan", ("{{", "}}"))
        image = forms.pairs.get("image", ("!", "!"))
        spanning = [macro.name for macro in forms.macros if forms.rules.group(macro.kind) == "mark"]
        single = [macro.name for macro in forms.macros if not macro.body]
        parts = {
            "break": "|".join(re.escape(sign) + r"(?=\s|$|[^\\])" for sign in forms.breaks) or "(?!)",
            "escape": r"\\[!-/:-@\[-`{-~]",
            "entity": r"&#\d{1,6};",
            "code": f"{re.escape(code[0])}(?:.{{1,1000}}?){re.escape(code[1])}",
            "span": rf"\{{(?:{'|'.join(spanning) or '(?!)'})(?::[^{{}}\n]*)?\}}",
            "single": rf"\{{(?:{'|'.join(single) or '(?!)'})(?::[^{{}}\n]*)?\}}",
            "braced": rf"\{{[{signs}]\}}",
            "template": "|".join(one.regex for one in self._templates) or "(?!)",
            "link": r"\[[^\[\]\n]+\]",
            "image": rf"(?<!\w){re.escape(image[0])}[^\s!|][^!\n|]*(?:\|[^!\n]*)?{re.escape(image[1])}",
            "url": URL.replace(r"\\^", r"\\^|\]\["),
            "mark": f"[{signs}]",
            "newline": r"\n",
        }
        self._regex = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in parts.items()))
        self._readers: dict[str, Callable[[str], list[Node | Sign]]] = {
            "break": lambda _words: [Node("break")],
            "newline": lambda _words: [Node("break")],
            "escape": lambda words: [text_node(words[1:])],
            "entity": lambda words: [text_node(html.unescape(words))],
            "code": lambda words: [text_node(_decoded(words[len(code[0]) : -len(code[1])]), (Mark("codespan", {}),))],
            "single": self._single,
            "template": self._template,
            "link": self._link,
            "image": lambda words: self._image(words[len(image[0]) : -len(image[1])], words),
            "url": self._url,
        }

    def read(self, words: str) -> list[Node]:
        return merge_runs(self._marked(self._parts(words)))

    def _parts(self, words: str) -> list[Node | Sign]:
        parts: list[Node | Sign] = []
        end = 0
        for match in self._regex.finditer(words):
            if match.start() > end:
                parts.append(text_node(words[end : match.start()]))
            name = str(match.lastgroup)
            end = match.end()
            if name in ("mark", "braced", "span"):
                parts.append(self._sign(match, words))
            else:
                parts += self._readers[name](match[0])
        return [*parts, text_node(words[end:])]

    def _sign(self, match: re.Match[str], words: str) -> Sign | Node:
        if match.lastgroup == "span":
            name, _, argument = match[0][1:-1].partition(":")
            macro: WikiMacro = self.forms.by_name[name][0]
            return Sign(
                match.start(),
                macro.kind,
                match[0],
                Mark(macro.kind, macro.read_attributes(argument)),
                bool(argument),
                not argument,
            )
        sign = match[0].strip("{}")
        kind = self.forms.mark_kinds[sign]
        if match.lastgroup == "braced":
            return Sign(match.start(), kind, match[0], Mark(kind, {}), opens=True, closes=True)
        before = words[match.start() - 1 : match.start()] or " "
        after = words[match.end() : match.end() + 1] or " "
        opens = not before.isalnum() and not after.isspace() and before != "\\"
        closes = not after.isalnum() and not before.isspace()
        return Sign(match.start(), kind, sign, Mark(kind, {}), opens, closes) if opens or closes else text_node(sign)

    def _marked(self, parts: list[Node | Sign]) -> list[Node]:
        waiting: dict[str, list[Sign]] = {}
        closing: dict[int, Sign] = {}
        for part in parts:
            if isinstance(part, Sign):
                if part.closes and waiting.get(part.kind) and waiting[part.kind][-1].end < part.place:
                    opener = waiting[part.kind].pop()
                    opener.paired, closing[part.place] = True, opener
                elif part.opens:
                    waiting.setdefault(part.kind, []).append(part)
        result: list[Node] = []
        current: tuple[Mark, ...] = ()
        for part in parts:
            if isinstance(part, Node):
                marks = (*(mark for mark in current if mark not in part.marks), *part.marks)
                result.append(part.with_marks(marks))
            elif part.paired:
                current += () if any(mark.kind == part.kind for mark in current) else (part.mark,)
            elif part.place in closing:
                current = tuple(mark for mark in current if mark is not closing[part.place].mark)
            else:
                result.append(text_node(part.sign, current))
        return result

    def _single(self, words: str) -> list[Node | Sign]:
        name, _, argument = words[1:-1].partition(":")
        macro = self.forms.by_name[name][0]
        return [Node(macro.kind, macro.read_attributes(argument))]

    def _template(self, words: str) -> list[Node | Sign]:
        for template in self._templates:
            if (attrs := template.read(words)) is not None:
                return [Node(template.kind, attrs)]
        return [text_node(words)]

    def _link(self, words: str) -> list[Node | Sign]:
        label, bar, rest = words[1:-1].partition("|")
        label, rest = (label, rest) if bar else ("", label)
        if not label:
            return (
                [text_node(rest, (Mark("link", {"href": rest}),))]
                if LINKED.match(rest)
                else [text_node("["), *self._parts(words[1:])]
            )
        target, _, title = rest.partition("|")
        mark = Mark("link", {"href": target.strip(), **({"title": title} if title else {})})
        return [node.with_marks((mark, *node.marks)) for node in self.read(label)]

    def _image(self, inner: str, words: str) -> list[Node | Sign]:
        url, _, rest = inner.partition("|")
        if not re.search(r"[./]", url):
            return [text_node(words[:1]), *self._parts(words[1:])]
        given = {
            name: value
            for name, value in macro_parameters(rest.replace(",", "|")).items()
            if name in ("alt", "title", "width", "height")
        }
        return [Node("image", {"url": url if PATH.search(url) else quote(url), **given})]

    def _url(self, words: str) -> list[Node | Sign]:
        url = TRAIL.sub("", words)
        return [text_node(url, (Mark("link", {"href": url}),)), text_node(words[len(url) :])]


def _decoded(words: str) -> str:
    return ENTITY.sub(lambda match: html.unescape(match[0]), words)


DEPTH = 40


def read_wiki(source: str, rules: Rules, losses: Losses) -> Node:
    return Node("doc", {}, WikiReader(rules, losses).blocks(source.replace("\r\n", "\n").replace("\r", "\n")))


class WikiReader:
    def __init__(self, rules: Rules, losses: Losses) -> None:
        self.losses = losses
        self.forms = WikiForms(rules)
        self.inline = WikiInline(self.forms)
        names = sorted({macro.name for macro in self.forms.macros if macro.body and rules.group(macro.kind) == "block"})
        self._macro = re.compile(rf"(?<!\\)\{{({'|'.join(map(re.escape, names)) or '(?!)'})(?::([^{{}}\n]*))?\}}")
        bullets = re.escape("".join(self.forms.bullets))
        self._bullet = re.compile(rf"\s*([{bullets}]+)\s+(\S.*)?$")
        self._rule = re.compile("|".join(re.escape(line) + r"+\s*$" for line in self.forms.lines) or "(?!)")
        self._bars = sorted(self.forms.bars, key=len, reverse=True)
        self._depth = 0

    def blocks(self, source: str) -> list[Node]:
        """Text cut at macros with a body; what is between them line by line."""
        result: list[Node] = []
        position = start = 0
        unclosed: set[str] = set()
        while match := self._macro.search(source, position):
            position = match.end()
            end = -1 if match[1] in unclosed else source.find("{" + match[1] + "}", match.end())
            if end < 0 or self._depth >= 10:
                unclosed.add(match[1])
                continue
            result += self._lines(source[start : match.start()])
            macro = next(
                (m for m in self.forms.by_name[match[1]] if m.matches(match[2] or "")), self.forms.by_name[match[1]][-1]
            )
            result.append(self._node(macro, match[2] or "", source[match.end() : end]))
            position = start = end + len(match[1]) + 2
        return result + self._lines(source[start:])

    def _node(self, macro: WikiMacro, argument: str, body: str) -> Node:
        attrs = macro.read_attributes(argument)
        if macro.plain:
            code = body.removeprefix("\n").removesuffix("\n")
            return Node(macro.kind, attrs, [text_node(code)] if code else [])
        self._depth += 1
        content = self.blocks(body)
        self._depth -= 1
        return Node(macro.kind, attrs, content)

    def _lines(self, source: str) -> list[Node]:
        result: list[Node] = []
        paragraph: list[str] = []
        items: list[tuple[str, str]] = []
        rows: list[str] = []
        for line in [*source.split("\n"), ""]:
            found = self._bullet.match(line)
            is_rule = bool(self._rule.match(line)) and bool(self.forms.lines)
            is_row = line.lstrip().startswith(tuple(self._bars))
            prefix = next((p for p in self.forms.prefixes if line.startswith(p[0])), None)
            plain = bool(line.strip()) and not (found or is_rule or is_row or prefix)
            if items and plain:
                items[-1] = (items[-1][0], f"{items[-1][1]}\n{line.strip()}")
                continue
            if paragraph and not plain:
                result += self._paragraph("\n".join(paragraph))
                paragraph = []
            if items and (not found or is_rule):
                result += self._list(items)
                items = []
            if rows and not is_row:
                result.append(self._table(rows))
                rows = []
            if is_rule:
                result.append(Node(next(iter(self.forms.lines.values()))))
            elif prefix:
                result.append(self._prefixed(prefix[1], prefix[2], line[len(prefix[0]) :]))
            elif found:
                items.append((found[1][:DEPTH], found[2] or ""))
            elif is_row:
                rows.append(line.strip())
            elif plain:
                paragraph.append(line)
        return result

    def _paragraph(self, words: str) -> list[Node]:
        return paragraph_nodes(self.inline.read(words))

    def _prefixed(self, kind: str, attrs: dict[str, object], words: str) -> Node:
        content = trim_inline(self.inline.read(words))
        if "text" in self.forms.rules.holds.get(kind, ()):
            return Node(kind, dict(attrs), content)
        return Node(kind, dict(attrs), [Node("paragraph", content=content)])

    def _list(self, items: list[tuple[str, str]]) -> list[Node]:
        """Nested lists from lines such as `*# words`; a line belongs to the list its last sign says."""
        top: list[Node] = []
        stack: list[Node] = []
        for signs, words in items:
            kinds = [self.forms.bullets[sign] for sign in signs]
            del stack[len(kinds) :]
            while stack and [node.kind for node in stack] != kinds[: len(stack)]:
                stack.pop()
            while len(stack) < len(kinds):
                fresh = Node(kinds[len(stack)])
                if stack:
                    if not stack[-1].content:
                        stack[-1].content.append(Node("item"))
                    stack[-1].content[-1].content.append(fresh)
                else:
                    top.append(fresh)
                stack.append(fresh)
            stack[-1].content.append(Node("item", content=self._paragraph(words)))
        return top

    def _table(self, rows: list[str]) -> Node:
        return Node("table", content=[Node("row", content=self._cells(row)) for row in rows])

    def _cells(self, row: str) -> list[Node]:
        """Cells by their bars; bars in links, macros and after a backslash are text."""
        bars = "|".join(map(re.escape, self._bars))
        pieces = re.findall(rf"\\.|\[[^\[\]\n]*\]|\{{[^{{}}\n]*\}}|![^\s!|][^!\n]*!|(?P<bar>{bars})|.", row)
        places = (
            [m for m in re.finditer(rf"\\.|\[[^\[\]\n]*\]|\{{[^{{}}\n]*\}}|(?P<bar>{bars})|.", row) if m["bar"]]
            if pieces
            else []
        )
        cells: list[Node] = []
        for index, bar in enumerate(places):
            end = places[index + 1].start() if index + 1 < len(places) else len(row)
            words = row[bar.end() : end].strip()
            if words or index + 1 < len(places):
                cells.append(Node(self.forms.bars[bar["bar"]], content=self._paragraph(words) or [Node("paragraph")]))
        return cells
