"""Rich text between Markdown, the document format, storage XHTML and wiki markup, as `node` definitions say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Converted(NamedTuple):
    value: Any
    losses: list[str]


def markdown_to_adf(source: str, nodes: Mapping[str, Any]) -> Converted:
    from . import adf, fit, markdown_blocks
    from .rules import Rules
    from .tree import Losses

    rules, losses = Rules(nodes), Losses()
    tree = fit.fit(markdown_blocks.read(source, rules, losses), rules, losses)
    return Converted(adf.Writer(rules).document(tree), losses.list())
