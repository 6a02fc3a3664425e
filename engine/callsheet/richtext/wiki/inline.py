"""Inline wiki markup read into runs of text with marks."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from ..markdown.patterns import URL
from ..tree import Mark, Node, merge_runs, text_node
from .forms import PATH, WikiForms, WikiMacro, parameters

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
                Mark(macro.kind, macro.read(argument)),
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
                result.append(part.marked(marks))
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
        return [Node(macro.kind, macro.read(argument))]

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
        return [node.marked((mark, *node.marks)) for node in self.read(label)]

    def _image(self, inner: str, words: str) -> list[Node | Sign]:
        url, _, rest = inner.partition("|")
        if not re.search(r"[./]", url):
            return [text_node(words[:1]), *self._parts(words[1:])]
        given = {
            name: value
            for name, value in parameters(rest.replace(",", "|")).items()
            if name in ("alt", "title", "width", "height")
        }
        return [Node("image", {"url": url if PATH.search(url) else quote(url), **given})]

    def _url(self, words: str) -> list[Node | Sign]:
        url = TRAIL.sub("", words)
        return [text_node(url, (Mark("link", {"href": url}),)), text_node(words[len(url) :])]


def _decoded(words: str) -> str:
    return ENTITY.sub(lambda match: html.unescape(match[0]), words)
