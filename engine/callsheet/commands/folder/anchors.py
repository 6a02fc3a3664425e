"""What a heading is called in links: each program that shows Markdown makes another name of its words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ...richtext.markdown.places import Heading

NO_WORD = re.compile(r"[^\w\- ]")
NO_ASCII_WORD = re.compile(r"[^\w\s-]", re.ASCII)
GAPS = re.compile(r"[-\s]+")


def hosts_name(words: str) -> str:
    """As hosts of repositories name it, and Docusaurus."""
    return NO_WORD.sub("", words.strip().lower()).replace(" ", "-")


def generators_name(words: str) -> str:
    """As MkDocs names it."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    return GAPS.sub("-", NO_ASCII_WORD.sub("", plain).strip().lower())


def named_headings(headings: Iterable[Heading]) -> tuple[list[str], dict[str, int]]:
    """A name for each heading that no other of the page has, and every name that a link may give → its index."""
    names: list[str] = []
    known: dict[str, int] = {}
    others: dict[str, int] = {}
    counts: dict[tuple[str, str], int] = {}
    for index, heading in enumerate(headings):
        found = [
            _numbered(counts, "-", hosts_name(heading.words) or "section"),
            _numbered(counts, "_", generators_name(heading.words)),
            GAPS.sub("-", hosts_name(heading.words)),
        ]
        name = heading.name or found[0]
        names.append(name)
        known.setdefault(name, index)
        for other in filter(None, found):
            others.setdefault(other, index)
    return names, others | known


def _numbered(counts: dict[tuple[str, str], int], sign: str, name: str) -> str:
    number = counts.get((sign, name), 0)
    counts[sign, name] = number + 1
    return f"{name}{sign}{number}" if number else name
