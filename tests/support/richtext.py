"""The definitions of rich text, and what tests ask of documents."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

from callsheet.richtext import Converted, convert_rich_text
from support.places import ROOT


@cache
def nodes() -> dict[str, Any]:
    return tomllib.loads((ROOT / "definitions" / "suite" / "richtext.toml").read_text(encoding="utf-8"))["node"]


def converted(source: Any, from_format: str, to_format: str, **options: Any) -> Converted:
    return convert_rich_text(source, from_format, to_format, nodes=nodes(), **options)


def to_adf(markdown: str) -> Any:
    return converted(markdown, "markdown", "adf").value


def to_markdown(document: Any, **options: Any) -> str:
    return converted(document, "adf", "markdown", **options).value


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def visible(document: Any) -> str:
    """All that a reader of a document sees, white space left out."""
    parts: list[str] = []

    def see(node: Any) -> None:
        attrs = node.get("attrs", {})
        parts.append(node.get("text", "") if node["type"] == "text" else str(attrs.get("alt", "")))
        for child in node.get("content", ()):
            see(child)

    see(document)
    return squeezed("".join(parts))


def texts(document: Any) -> list[str]:
    """Every run of text in a document, white space left out."""
    found = [squeezed(document["text"])] if document["type"] == "text" else []
    return found + [text for child in document.get("content", ()) for text in texts(child)]
