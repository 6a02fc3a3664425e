"""Inline constructs written as plain words (`:name:`), links or lists of attributes, found in one pass over a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from ..node_rules import Rules
from ..tree import Attrs, Mark, Node, text_node

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


SAFE = "/:@-._~+!$',;="


def led_to(href: str, said: shape.LinkForm) -> Attrs:
    """The attributes that an address gives the node it stands for."""
    rest = href.removeprefix(said["scheme"])
    if "place" not in said or "#" not in rest:
        return {said["attr"]: unquote(rest)}
    rest, _, place = rest.partition("#")
    return {said["attr"]: unquote(rest), said["place"]: unquote(place)}


def link_address(attrs: Attrs, said: shape.LinkForm) -> str:
    """The address of a node that has at least the first of these attributes."""
    place = attrs.get(said["place"]) if "place" in said else None
    first = said["scheme"] + quote(attrs[said["attr"]], safe=SAFE)
    return f"{first}#{quote(str(place), safe=SAFE)}" if place else first


def said_by(said: shape.LinkForm) -> list[str]:
    """The attributes that a link says."""
    return [said["attr"], said["label"], *([said["place"]] if "place" in said else [])]


ITEM = r"(?:[#.][\w:.-]+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+))"
LIST = re.compile(rf"\{{(?::?[ \t]*{ITEM}(?:[ \t]+(?:{ITEM}|[\w-]+))*[ \t]*|:[ \t]*)\}}")
NAME = re.compile(r"#([\w:.-]+)")
SPACE = " \t"


def at_end(words: str, *, whole: bool = False) -> tuple[str, str]:
    """A heading without the list at its end, and the name in it; `whole`: only where the list has a line of its own."""
    if not words.endswith("}"):
        return words, ""
    start = words.rfind("{")
    escaped = words[:start].endswith("\\")
    match = LIST.fullmatch(words, start) if start >= 0 and not escaped else None
    if match is None:
        return words, ""
    before = words[:start].rstrip(SPACE)
    if whole and before and not before.endswith("\n"):
        return words, ""
    name = NAME.search(match[0])
    return before.rstrip(), name[1] if name else ""


def at_start(words: str) -> int:
    """The length of the list that a text right behind an image, a link or code starts with."""
    match = LIST.match(words) if words.startswith("{") else None
    return match.end() if match else 0


LONGEST = 2000
URL = rf"(?<![^\W_])(?<!/)https?://[^\s<>\"\\^`{{|}}]{{1,{LONGEST}}}"
WHOLE = re.compile(URL + r"\Z")
TAIL = re.compile(r"[?!.,:;*_~'\"]+$")
COLON = re.compile(":")
ODD_SPACE = "\r\n\0\f\v\x1c\x1d\x1e\x1f\x85\u2028\u2029"
SPECIAL = (  # what Markdown may read as something else; alternatives begin with their sign: `re` looks for these alone
    r"\\|`|\*(?<!\s\*)|\*(?!\s)|\*$"
    r"|_(?<![^\W_]_)|_(?![^\W_])"  # an underscore inside a word is none of emphasis
    r"|\^(?=\[|$)|\[(?=[~!^])|\](?=[(\[:])|!(?=\[|$)"
    r"|<(?=[A-Za-z/!?>]|$)|&(?=#|[A-Za-z])"
    r"|~(?=~|$)|~(?<=~~)|~(?<![\s\S]~)"
    rf"|\$(?=[\S{ODD_SPACE}][^$]*\$)"  # an odd space is written as a number, which begins with a sign
    r"|\$(?<!\d\$)$|\{(?=[#.:]|[\w:-]+=)"
)
FIELD = re.compile(r"\{\{|\}\}|\{(\w+)\}")


class TextTemplate:
    """A pattern with fields, `{{` and `}}` standing for braces: read with a regular expression, written by filling."""

    def __init__(self, kind: str, template: str, patterns: dict[str, str], known: Mapping[str, str]) -> None:
        self.kind = kind
        self.known = known
        self.fields: list[str] = []
        self._template = template
        self.regex = self._regex(patterns)
        self._whole = re.compile(self.regex)
        self.first = template.replace("{{", "{")[0]

    def _regex(self, patterns: dict[str, str]) -> str:
        parts, end = [], 0
        for match in FIELD.finditer(self._template):
            parts.append(re.escape(self._template[end : match.start()]))
            parts.append(re.escape(match[0][0]) if not match[1] else f"({patterns.get(match[1], '[^{}]+')})")
            self.fields += [match[1]] if match[1] else []
            end = match.end()
        return "".join(parts) + re.escape(self._template[end:])

    def read(self, words: str) -> Attrs | None:
        match = self._whole.fullmatch(words)
        return self.attrs(match.groups()) if match else None

    def attrs(self, values: tuple[str | None, ...]) -> Attrs | None:
        found: Attrs = {name: value for name, value in zip(self.fields, values, strict=True) if value}
        if self.known:
            name = found.get(self.fields[0], "")
            return {**found, "text": self.known[name]} if name in self.known else None
        return found

    def write(self, attrs: Attrs) -> str | None:
        """The words for these attributes, or None where they would not be read back."""
        if not all(isinstance(attrs.get(name), str) for name in self.fields):
            return None
        words = FIELD.sub(lambda match: str(attrs[match[1]]) if match[1] else match[0][0], self._template)
        back = self.read(words)
        return words if back is not None and all(attrs[name] == back.get(name) for name in self.fields) else None


@lru_cache(maxsize=4)
def patterns_of(rules: Rules, *, cards: bool) -> Patterns:
    """The constructs of these definitions: made once for all texts."""
    return Patterns(rules, cards=cards)


class Patterns:
    def __init__(self, rules: Rules, *, cards: bool) -> None:
        self.cards = cards
        self.templates: list[TextTemplate] = []
        for kind, found in rules.texts.items():
            known = rules.definition_of(kind).get("known", {})
            self.templates += [
                TextTemplate(kind, one, rules.definition_of(kind).get("patterns", {}), known) for one in found
            ]
        self._regex = re.compile("|".join([f"({URL})", *(f"({one.regex})" for one in self.templates)]))
        # Each alternative begins with one letter or sign, so that `re` looks for these alone: most words have none.
        firsts = {re.escape(template.first) for template in self.templates}
        self._begins = re.compile("|".join(["h(?=ttps?://)", *(f"{first}(?=.)" for first in sorted(firsts))]))
        self._groups: dict[int, TextTemplate] = {}
        number = 2
        for template in self.templates:
            self._groups[number] = template
            number += 1 + len(template.fields)
        signs = "".join(map(re.escape, sorted({*(template.first for template in self.templates), ":"})))
        self.signs = re.compile(f"[{signs}]")  # of an address or a template
        # Text without any sign that could begin something, where line ends are spaces, and where they are not.
        self.plain, self.plain_line = (re.compile(rf"[^\\`*_\[\]!<&~${ends}{signs}]*") for ends in ("", r"\n"))
        # What may need an escape, in words and in those of a link. A line of words without any of it needs none.
        said = [re.escape(one.first) + f"(?={one.regex[len(re.escape(one.first)) :]})" for one in self.templates]
        suspects = "|".join([SPECIAL, r"\$", ":(?=//)", *said, *ODD_SPACE])
        self.suspects, self.suspects_in_link = (re.compile(suspects + more) for more in ("", r"|\[|\]"))

    def nodes_in(self, words: str, marks: tuple[Mark, ...]) -> Iterator[Node]:
        """A text cut into runs and the constructs in it."""
        end = 0
        linked = any(mark.kind == "link" for mark in marks)
        match = self._search(words, 0) if self.signs.search(words) else None
        while match:
            found = self._link(match[0], marks) if match[1] else self._node(match, marks)
            if found is None or (match[1] and linked):
                match = self._next(words, match)
                continue
            node, length = found
            if match.start() > end:
                yield text_node(words[end : match.start()], marks)
            yield node
            end = match.start() + length
            match = self._search(words, end)
        if end < len(words):
            yield text_node(words[end:], marks)

    def _search(self, words: str, start: int) -> re.Match[str] | None:
        """The first that could be a construct."""
        begin = self._begins.search(words, start)
        while begin and not (match := self._regex.match(words, begin.start())):
            begin = self._begins.search(words, begin.end())
        return match if begin else None

    def matches_in(self, words: str, *, linked: bool) -> Iterator[re.Match[str]]:
        """Where plain text would be taken for a construct; an address is told at its colon."""
        match = self._search(words, 0) if self.signs.search(words) else None
        while match:
            found = COLON.search(words, match.start()) if match[1] else match
            if found and not (match[1] and linked):
                yield found
            # Behind the sign that is escaped, an address may begin.
            match = self._search(words, found.end() if match[1] and found else match.start() + 1)

    def _next(self, words: str, match: re.Match[str]) -> re.Match[str] | None:
        """What follows a match that may be none: the colon that ends an unknown `:name:` may begin a known one."""
        after = match.end() if match[1] or self._node(match, ()) else match.end() - 1
        return self._search(words, max(after, match.start() + 1))

    def _node(self, match: re.Match[str], marks: tuple[Mark, ...]) -> tuple[Node, int] | None:
        number = next(number for number in self._groups if match[number] is not None)
        template = self._groups[number]
        attrs = template.attrs(match.groups()[number : number + len(template.fields)])
        return None if attrs is None else (Node(template.kind, attrs, marks=marks), len(match[0]))

    def _link(self, found: str, marks: tuple[Mark, ...]) -> tuple[Node, int]:
        url = trimmed_address(found)
        return (
            Node("card", {"url": url}) if self.cards else text_node(url, (*marks, Mark("link", {"href": url})))
        ), len(url)

    def written_words(self, kind: str, attrs: Attrs) -> tuple[str, list[str]] | None:
        """The words for a node and the attributes they say, by the first template that can."""
        for template in self.templates:
            if template.kind == kind and (words := template.write(attrs)) is not None:
                return words, template.fields + (["text"] if template.known else [])
        return None


def in_address(words: str) -> bool:
    """Whether a text ends in the middle of a bare address."""
    last = words[-LONGEST:].rpartition(" ")[2]
    return "://" in last and WHOLE.search(last) is not None


def trimmed_address(url: str) -> str:
    """A bare address without the punctuation that ends its sentence."""
    shorter = None
    while shorter != url:
        shorter = url
        url = TAIL.sub("", url)
        while url.endswith(")") and url.count(")") > url.count("("):
            url = url[:-1]
    return url
