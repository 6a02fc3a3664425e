"""Tags of HTML in a line of Markdown."""

from __future__ import annotations

import html
import re

from .elements import LINE_BLOCKS, SHOWN_BY_ADDRESS
from .inline_tokens import InlineToken

TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)([^>]*?)/?>", re.DOTALL)
ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")


def tag_attributes(words: str) -> dict[str, str]:
    return {m[1].lower(): html.unescape(m[2] or m[3] or m[4] or "") for m in ATTRIBUTE.finditer(words)}


def shown_address(tag: str) -> str:
    """The address that stands for what a tag shows, such as a film; empty for any other."""
    match = TAG.fullmatch(tag)
    if match is None or match[1] or match[2].lower() not in SHOWN_BY_ADDRESS:
        return ""
    address = tag_attributes(match[3]).get("src", "").strip()
    return address if address.startswith(("http://", "https://")) else ""


def tag_name(tag: str) -> str:
    match = TAG.fullmatch(tag)
    return match[2].lower() if match else ""


def begins_block(token: InlineToken) -> bool:
    """Whether a token is a tag that starts a block inside of a line."""
    return token.type == "html_inline" and token.content[1:2] != "/" and tag_name(token.content) in LINE_BLOCKS


def close(tokens: list[InlineToken]) -> None:
    """Tells each HTML start tag where the end tag is that closes it, each pair of the same name."""
    waiting: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        match = TAG.fullmatch(token.content) if token.type == "html_inline" else None
        if match:
            name = match[2].lower()
            if not match[1]:
                waiting.setdefault(name, []).append(index)
            elif waiting.get(name):
                start = waiting[name].pop()
                tokens[start].end, token.end = index, start
