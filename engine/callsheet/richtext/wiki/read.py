"""Wiki markup read into the neutral tree: blocks."""

from __future__ import annotations

import re

from ..node_rules import Rules
from ..tree import Losses, Node, paragraph_nodes, text_node, trim_inline
from .forms import WikiForms, WikiMacro
from .inline import WikiInline

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
        attrs = macro.read(argument)
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
