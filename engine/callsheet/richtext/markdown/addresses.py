"""Links and images of Markdown that only lead somewhere beside the file they stand in."""

from __future__ import annotations

import re
from typing import Protocol

from ..node_rules import Rules
from ..tree import Losses, Mark, Node, walk_nodes
from .text_patterns import led_to

ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#|\Z", re.IGNORECASE)
PAGE = "page:"  # what a link to a page by its title starts with


class NotBesideError(ValueError):
    """A relative address leads to nothing that could go along; the argument is why, as in `is a directory`."""


class Beside(Protocol):
    """The files beside the one that a text was read from."""

    def image(self, url: str, target: str | None) -> str:
        """The address of an image once it is attached, as a format writes it; empty where it has none yet."""

    def page(self, href: str) -> tuple[str, str]:
        """The title of the page that another text became, and the place in it. Both raise `NotBesideError`."""


def replace_relative_addresses(
    root: Node, rules: Rules, losses: Losses, *, target: str | None, own: bool, beside: Beside | None
) -> None:
    """Puts what is `beside` the text in the place of relative addresses, and tells each that leads nowhere.

    With `own`, an image that is a bare file name belongs to what the text is for, and is no loss.
    """
    kind = _page_kind(rules, target) if beside is not None else None
    figures: list[Node] = []
    for node in walk_nodes(root):
        if node.content and any("href" in mark.attrs for child in node.content for mark in child.marks):
            node.content = _linked(node.content, rules, losses, kind, beside)
        if node.kind == "image":
            _image(node, losses, target=target, own=own, beside=beside)
        elif node.kind == "figure":
            figures.append(node)
    for node in figures:
        for image in [child for child in node.content if child.kind == "text"]:
            _become_words(node, image.text)  # a caption needs its image


def _image(node: Node, losses: Losses, *, target: str | None, own: bool, beside: Beside | None) -> None:
    url = str(node.attrs.get("url", ""))
    if ABSOLUTE.match(url):
        return
    why = "attach it, or give it an address"
    if beside is not None:
        try:
            address = beside.image(url, target)
        except NotBesideError as error:
            why = f"it {error}"
        else:
            if address:
                node.attrs["url"] = address
            else:
                _become_words(node, str(node.attrs.get("alt") or url))
            return
    if not (own and "/" not in url):
        losses.note(f"the image {url!r} cannot be shown: {why}")


def _become_words(node: Node, words: str) -> None:
    node.kind, node.text, node.attrs, node.content = "text", words, {}, []


def _page_kind(rules: Rules, target: str | None) -> str | None:
    """The kind of a link to a page, where the format has one."""
    links = rules.links
    return next((k for k, said in links.items() if said["scheme"] == PAGE and target in rules.nodes[k]), None)


def _linked(nodes: list[Node], rules: Rules, losses: Losses, kind: str | None, beside: Beside | None) -> list[Node]:
    """The nodes with each link to another text as a link to its page."""
    result: list[Node] = []
    before: Mark | None = None
    for node in nodes:
        link = next((mark for mark in node.marks if isinstance(mark.attrs.get("href"), str)), None)
        page = None if link is None else _named(link, rules) or _page(link, rules, losses, kind, beside)
        if page is None or node.kind != "text":
            before = None
            result.append(node)
            continue
        if len(node.marks) > 1:
            losses.note("the words of a link to a page or a file are plain")
        said = rules.links[page.kind]["label"]
        if before == link:
            result[-1].attrs[said] += node.text
        else:
            page.attrs[said] = node.text
            result.append(page)
        before = link
    return result


def _named(link: Mark, rules: Rules) -> Node | None:
    """The node that an address in a tag stands for, as it would in a link of Markdown."""
    href = str(link.attrs["href"])
    for kind, said in rules.links.items():
        if href.startswith(said["scheme"]) and "before" not in said:
            return Node(kind, led_to(href, said))
    return None


def _page(link: Mark, rules: Rules, losses: Losses, kind: str | None, beside: Beside | None) -> Node | None:
    """The page that a link leads to; None for a link that stays what it is."""
    href = str(link.attrs["href"])
    if ABSOLUTE.match(href):
        return None
    if beside is None or kind is None:
        losses.note(f"the link to {href!r} is relative, and will not work there")
        return None
    try:
        title, anchor = beside.page(href)
    except NotBesideError as error:
        losses.note(f"the link to {href!r} will not work: it {error}")
        return None
    said = rules.links[kind]
    return Node(kind, {said["attr"]: title, **({said["place"]: anchor} if anchor and "place" in said else {})})
