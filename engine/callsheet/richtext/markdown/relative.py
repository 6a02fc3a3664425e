"""Links and images of Markdown that only lead somewhere beside the file they stand in."""

from __future__ import annotations

import re

from ..tree import Losses, Node, walk

ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#|\Z", re.IGNORECASE)


def note(root: Node, losses: Losses, *, attachments: bool) -> None:
    """Tells each of them; with `attachments`, an image that is a bare file name is the page's own and no loss."""
    for node in walk(root):
        if node.kind == "image":
            url = str(node.attrs.get("url", ""))
            if not ABSOLUTE.match(url) and not (attachments and "/" not in url):
                losses.add(f"the image {url!r} is a file beside the text: attach it, or give it an address")
        for mark in node.marks:
            href = mark.attrs.get("href")
            if isinstance(href, str) and not ABSOLUTE.match(href):
                losses.add(f"the link to {href!r} is relative: it leads nowhere from here")
