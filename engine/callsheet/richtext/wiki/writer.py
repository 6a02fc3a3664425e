"""The neutral tree written as wiki markup."""

from __future__ import annotations

import re
from urllib.parse import unquote

from ..fit_to_document import FLATTEN
from ..markdown.text_patterns import TextTemplate
from ..node_rules import Rules
from ..plain_text import name_of_node, note_content_only, visible_text, words_instead
from ..tree import Losses, Mark, Node, leads_somewhere, spaces_out, text_node, write_nested
from .macro_forms import PATH, WikiForms
from .reader import WikiInline

ALWAYS = re.compile(r"[{}\[\]|]|&(?=#)")
BACKSLASH = re.compile(r"\\(?![\w\s])")  # one that would escape what follows, or break the line
CODE = re.compile(r"[{}|]|&(?=#)")
LINE_START = re.compile(r"(?:h[1-6]|bq)(?=\. )|[*#-]+(?= )|-{4,}$|\|")


def write_wiki(root: Node, rules: Rules, losses: Losses) -> str:
    words = WikiWriter(rules, losses).blocks(root.content)
    return words + "\n" if words else ""


class WikiWriter:
    def __init__(self, rules: Rules, losses: Losses) -> None:
        self.rules = rules
        self.losses = losses
        self.forms = WikiForms(rules)
        self.reader = WikiInline(self.forms)
        self.items = rules.items_of_lists
        self.signs = {kind: sign for sign, kind in reversed(self.forms.bullets.items())}
        self._opened: list[str] = []  # names of the macros around
        self._marks = re.compile(f"[{re.escape(''.join(self.forms.marks.values()))}!]")
        self._texts: list[tuple[str, TextTemplate]] = [(one.kind, one) for one in self.forms.templates]

    def blocks(self, nodes: list[Node]) -> str:
        parts: list[str] = []
        for run in _runs(nodes, self.rules):
            words = self.inline(run) if run[0].kind in self.rules.inline else self.block(run[0])
            parts += [words] if words else []
        return "\n\n".join(parts)

    def block(self, node: Node) -> str:
        self._tell(node)
        if node.kind == "paragraph":
            return self.inline(node.content)
        if node.kind in self.signs:
            return "\n".join(self._list(node, ""))
        if node.kind == "table":
            return "\n".join(self._row(row) for row in node.content)
        if macro := self.forms.macro_of_name(node):
            if macro.name in self._opened:
                return self._within_itself(node)
            return self._macro(node, macro.opening_sign(node.attrs), macro.name, plain=macro.plain)
        if prefix := self._prefix(node):
            return prefix + self.inline(node.content, single=True)
        line = next((line for line, kind in self.forms.lines.items() if kind == node.kind), None)
        return line if line is not None else self._other(node)

    def _prefix(self, node: Node) -> str | None:
        """What stands before the words of a block that is one line."""
        said = ((p, attrs) for p, kind, attrs in self.forms.prefixes if kind == node.kind)
        return next((prefix for prefix, attrs in said if attrs.items() <= node.attrs.items()), None)

    def _within_itself(self, node: Node) -> str:
        """A macro in one of its name, which its opening would close: lines with a sign each, or only what it holds."""
        prefix = self._prefix(node)
        if prefix and all(child.kind == "paragraph" for child in node.content):
            return "\n\n".join(prefix + self.inline(child.content, single=True) for child in node.content)
        self.losses.note(
            f"{name_of_node(node)} in another one cannot be said in wiki markup: only what it holds is kept"
        )
        return self.blocks(FLATTEN["titled"](node, self.rules))

    def _tell(self, node: Node) -> None:
        for mark in node.marks:
            self.losses.note(f"{mark.kind} of a {node.kind} cannot be said in wiki markup")

    def _macro(self, node: Node, opening: str, name: str, *, plain: bool) -> str:
        if plain:
            words = "".join(child.text for child in node.content)
            if "{" + name + "}" in words:
                self.losses.note(f"{{{name}}} inside of code was taken apart")
                words = words.replace("{" + name + "}", "{" + name + " }")
            return f"{opening}\n{words}\n{{{name}}}"
        self._opened.append(name)
        inner = self.blocks(node.content)
        self._opened.pop()
        return f"{opening}\n{inner}\n{{{name}}}"

    def _other(self, node: Node) -> str:
        for attempt in self.rules.definition_of(node.kind).get("unfit", ()):
            if attempt in self.signs or (attempt in ("expand", "paragraph") and node.kind != "paragraph"):
                return self.block(Node(attempt, node.attrs, node.content))
        if node.content:
            if node.kind != "figure":
                note_content_only(node, "wiki markup", self.losses)
            return self.blocks(FLATTEN["titled"](node, self.rules))
        words = words_instead(node, "wiki markup", self.rules, self.losses)
        return self.inline([text_node(words)]) if words else ""

    # --- lists and tables ---

    def _list(self, node: Node, above: str) -> list[str]:
        signs = above + self.signs[node.kind]
        lines: list[str] = []
        if node.attrs.get("start", 1) != 1:
            self.losses.note("a numbered list starts at 1 in wiki markup")
        for item in node.content:
            if lines and item.kind in self.items:
                lines += self._item(item, signs)
                continue
            lines += self._item(item if self.rules.group(item.kind) == "part" else Node("item", content=[item]), signs)
        return lines

    def _item(self, item: Node, signs: str) -> list[str]:
        if item.kind in self.items:
            return self._list(Node("bullets", {}, item.content), signs)
        sign = self.rules.sign_of_state(item.kind, item.attrs)
        if self.rules.definition_of(item.kind).get("markers"):
            self.losses.note(f"{item.kind} became an ordinary item in wiki markup")
            words = f"{sign} {self.inline(item.content)}".strip()
            return [f"{signs} {words}"]
        lines: list[str] = []
        blocks: list[str] = []
        for child in item.content:
            if child.kind in self.signs or child.kind in self.items:
                lines += self._list(child if child.kind in self.signs else Node("bullets", {}, child.content), signs)
            else:
                blocks.append(self._in_item(child))
        if len(blocks) > 1:
            self.losses.note("blocks of one list item became its lines in wiki markup")
        return [f"{signs} " + "\n".join(filter(None, blocks)).replace("\n\n", "\n"), *lines]

    def _in_item(self, node: Node) -> str:
        """A block of an item; one that is told by what its line starts with is what its definition makes of it."""
        if self._prefix(node) is None or self.forms.macro_of_name(node):
            return self.block(node)
        attempt = next(
            (one for one in self.rules.definition_of(node.kind).get("unfit", ()) if one in FLATTEN), "content"
        )
        self.losses.note(f"{node.kind} is not possible in a list item of wiki markup")
        return self.blocks(FLATTEN[attempt](node, self.rules))

    def _row(self, row: Node) -> str:
        bars = {kind: bar for bar, kind in self.forms.bars.items()}
        parts = []
        for cell in row.content:
            words = [self.block(child).replace("\n", "\\\\ ") for child in cell.content]
            if len(words) > 1:
                self.losses.note("blocks of one table cell became its lines in wiki markup")
            parts.append(bars.get(cell.kind, "|") + ("\\\\ ".join(words) or " "))
        return "".join(parts) + (bars.get(row.content[-1].kind, "|") if row.content else "")

    # --- inline ---

    def inline(self, content: list[Node], *, single: bool = False) -> str:
        nodes = spaces_out([part for node in content for part in self._sayable(node)])
        wanted = [(node.kind, node.text, [mark.kind for mark in node.marks]) for node in nodes]
        words = ""
        for hard in (False, True):
            words = self._spans(nodes, hard=hard)
            if [
                (node.kind, node.text, [mark.kind for mark in node.marks]) for node in self.reader.read(words)
            ] == wanted:
                break
        words = words.replace("\n", "\\\\ ") if single else words
        return "\n".join(
            LINE_START.sub(_escaped, line.strip(), count=1) if LINE_START.match(line.strip()) else line
            for line in words.split("\n")
        ).strip()

    def _sayable(self, node: Node) -> list[Node]:
        marks = []
        for mark in node.marks:
            if (
                mark.kind in self.forms.marks
                or (mark.kind in self.forms.pairs and (mark.kind != "link" or leads_somewhere(mark)))
                or any(m.kind == mark.kind for m in self.forms.macros)
            ):
                marks.append(mark)
            else:
                self.losses.note(f"{mark.kind} cannot be said in wiki markup: the words are kept")
        if node.kind == "figure":
            return [Node("image", child.attrs, marks=tuple(marks)) for child in node.content if child.kind == "image"]
        if node.kind in ("text", "break", "image") or self._said(node) is not None:
            return [node.with_marks(tuple(marks) if node.kind in ("text", "image") else ())]
        words = visible_text(node, self.rules)
        if node.kind not in ("emoji", "date"):
            self.losses.note(f"{name_of_node(node)} became text in wiki markup")
        return [text_node(words, tuple(marks))] if words else []

    def _said(self, node: Node) -> str | None:
        macro = self.forms.macro_of_name(node)
        if macro and not macro.body:
            return macro.opening_sign(node.attrs)
        return next(
            (said for kind, one in self._texts if kind == node.kind and (said := one.write(node.attrs)) is not None),
            None,
        )

    def _spans(self, nodes: list[Node], *, hard: bool) -> str:
        pieces: list[tuple[list[Mark], str]] = []
        for node in nodes:
            code = any(mark.kind == "codespan" for mark in node.marks)
            marks = [mark for mark in node.marks if mark.kind != "codespan"]
            if not hard and len(marks) == 1 and marks[0] == Mark("link", {"href": node.text}) and not code:
                pieces.append(([], node.text))
            else:
                marks = sorted(marks, key=lambda mark: mark.kind != "link")
                pieces.append((marks, self._node(node, code=code, hard=hard)))
        return write_nested(pieces, lambda mark, opening: self._mark(mark, opening=opening, hard=hard))

    def _mark(self, mark: Mark, *, opening: bool, hard: bool) -> str:
        if mark.kind in self.forms.marks:
            sign = self.forms.marks[mark.kind]
            return "{" + sign + "}" if hard else sign
        if mark.kind == "link":
            title = str(mark.attrs.get("title") or "").replace("|", " ").replace("]", " ")
            return "[" if opening else f"|{mark.attrs.get('href', '')}{'|' + title if title else ''}]"
        macro = next(macro for macro in self.forms.macros if macro.kind == mark.kind)
        return macro.opening_sign(mark.attrs) if opening else "{" + macro.name + "}"

    def _node(self, node: Node, *, code: bool, hard: bool) -> str:
        if node.kind == "break":
            return "\n"
        if node.kind == "image":
            alt = re.sub(r"[|!\n,]", " ", str(node.attrs.get("alt") or ""))
            url = str(node.attrs.get("url", ""))
            return f"!{url if PATH.search(url) else unquote(url)}{'|alt=' + alt if alt else ''}!"
        if node.kind != "text":
            return self._said(node) or ""
        opening, closing = self.forms.pairs["codespan"]
        if code:
            return opening + CODE.sub(_entity, node.text).replace("\n", " ") + closing
        words = ALWAYS.sub(_escaped, BACKSLASH.sub("\0", node.text)).replace("\0", "&#92;").replace("\n", " ")
        return self._marks.sub(_escaped, words) if hard else words


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def _escaped(match: re.Match[str]) -> str:
    found = match[0]
    return found + "\\" if found[0].isalnum() else "\\" + found


def _runs(nodes: list[Node], rules: Rules) -> list[list[Node]]:
    """Blocks one by one, inline nodes beside each other together."""
    runs: list[list[Node]] = []
    for node in nodes:
        if node.kind in rules.inline and runs and runs[-1][0].kind in rules.inline:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs
