"""The outline of a CommonMark example's HTML and of a document, comparable: leaves with the containers they are in.

It is made from the specification's HTML with nothing of the engine, by what the document format can hold: no quote in a
quote or an item, no heading in either, no rule in a list, images as blocks.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt

LEAVES = {"p", "pre", "h1", "h2", "h3", "h4", "h5", "h6"}
CONTAINERS = {"ul", "ol", "li", "blockquote"}
MARKS = {"em": "em", "strong": "strong", "a": "link", "code": "code"}
TYPES = {"bulletList": "ul", "orderedList": "ol", "listItem": "li", "blockquote": "blockquote"}


class RawHtml(Exception):
    """The example holds HTML of its own."""


class Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.path: list[str] = []
        self.marks: list[str] = []
        self.leaf: str | None = None
        self.runs: list[tuple[str, frozenset[str]]] = []
        self.found: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in CONTAINERS:
            self.close()
            self.path.append(tag)
        elif tag in LEAVES:
            self.leaf = tag
        elif tag == "hr":
            self.found.append((path_of(self.path, "rule"), "rule", ()))
        elif tag == "img" and not (self.leaf or "p").startswith("h"):
            self.close(going_on=True)
            self.found.append((path_of(self.path, "p"), "image", ()))
        elif tag in MARKS and self.leaf != "pre":
            self.marks.append(MARKS[tag])
        elif tag == "br":
            self.handle_data(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in MARKS and self.leaf != "pre":
            self.marks.remove(MARKS[tag])
        elif tag in LEAVES or tag in CONTAINERS:
            self.close()
            if tag in CONTAINERS:
                self.path.pop()

    def handle_data(self, data: str) -> None:
        if self.leaf or data.strip():
            self.runs.append((data, frozenset(self.marks)))

    def close(self, *, going_on: bool = False) -> None:
        kind = self.leaf or "p"
        runs = tidy(self.runs, keep=kind == "pre")
        if runs or kind == "pre" or kind.startswith("h"):
            inner = any(part in ("li", "blockquote") for part in self.path)
            if kind.startswith("h") and inner:
                kind, runs = (
                    "p",
                    tuple((text, marks if "code" in marks else marks | {"strong"}) for text, marks in runs),
                )
            if runs or kind != "p":
                self.found.append((path_of(self.path, kind), kind, tidy(list(runs), keep=kind == "pre")))
        self.runs = []
        if not going_on:
            self.leaf = None


def path_of(path: list[str], kind: str) -> tuple[str, ...]:
    """The containers that the format lets a leaf be in."""
    if kind == "rule":
        return ()
    result: list[str] = []
    for part in path:
        if part == "blockquote" and ("li" in result or "blockquote" in result):
            continue
        result.append(part)
    return tuple(result)


def tidy(runs: list[tuple[str, frozenset[str]]], *, keep: bool) -> tuple[tuple[str, frozenset[str]], ...]:
    """Runs without the spaces around them; `code` leaves only a link beside itself."""
    result: list[tuple[str, frozenset[str]]] = []
    for text, found in runs:
        marks = found & {"code", "link"} if "code" in found else found
        words = text.strip("\n") if keep else re.sub(r"\s+", " ", text)
        if result and (result[-1][1] == marks or not words.strip()):
            result[-1] = (result[-1][0] + words, result[-1][1])
        elif words.strip():
            result.append((words, marks))
    return tuple((text.strip() if not keep else text, marks) for text, marks in result)


def every_token(markdown: str) -> list[Any]:
    tokens = MarkdownIt("commonmark").parse(markdown)
    return [*tokens, *(child for token in tokens for child in token.children or ())]


def of_html(html: str, markdown: str) -> list[Any]:
    if any(token.type in ("html_block", "html_inline") for token in every_token(markdown)):
        raise RawHtml
    outline = Outline()
    outline.feed(html)
    outline.close()
    return outline.found


def of_document(node: Any, path: tuple[str, ...] = ()) -> list[Any]:
    kind = node["type"]
    if kind == "mediaSingle":
        return [(path, "image", ())]
    if kind == "rule":
        return [(path, "rule", ())]
    if kind in ("paragraph", "heading", "codeBlock"):
        name = {"paragraph": "p", "codeBlock": "pre"}.get(kind) or f"h{node['attrs']['level']}"
        runs = [(c.get("text", " "), frozenset(m["type"] for m in c.get("marks", ()))) for c in node["content"]]
        runs = tidy(runs, keep=name == "pre")
        return [(path, name, runs)] if runs or name != "p" else []
    inner = (*path, TYPES[kind]) if kind in TYPES else path
    return [leaf for child in node["content"] for leaf in of_document(child, inner)]
