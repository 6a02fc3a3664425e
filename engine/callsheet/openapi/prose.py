"""A document's descriptions as plain help text."""

from __future__ import annotations

import re
from html import unescape
from typing import Any


def first_paragraph(text: Any) -> str:
    """The first paragraph of a Markdown or HTML description on one line, without markup."""
    if not isinstance(text, str):
        return ""
    text = re.sub(r"<\s*(?:br|/p|/li|/h\d)\s*/?>", "\n\n", text, flags=re.IGNORECASE)
    text = unescape(re.sub(r"<[^<>]*>", "", text))
    paragraphs = (paragraph.strip() for paragraph in re.split(r"\n\s*\n", text))
    return _plain(next((paragraph for paragraph in paragraphs if _plain(paragraph)), ""))


def _plain(text: str) -> str:
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^\s*(?:#+|[-*+>]|\d+\.)\s+", "", text, flags=re.MULTILINE)
    text = re.sub(r"(\*\*|__|`)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])([*_])(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*])", r"\2", text)
    return " ".join(text.split())
