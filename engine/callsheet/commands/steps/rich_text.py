"""What a person writes after an option, as Markdown → what a service wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...richtext import convert

if TYPE_CHECKING:
    from ..context import Context


def adf(context: Context, text: str) -> Any:
    return _converted(context, text, "adf")


def storage(context: Context, text: str) -> Any:
    return _converted(context, text, "storage")


def wiki(context: Context, text: str) -> Any:
    return _converted(context, text, "wiki")


def wiki_of_adf(context: Context, text: str) -> Any:
    """An exact document for a service that takes wiki markup."""
    return _converted(context, text, "wiki", source="adf")


def markdown_of_storage(context: Context, text: str) -> Any:
    """To be edited and sent back: what Markdown cannot say is carried along."""
    return _converted(context, text, "markdown", source="storage", lossless=True).rstrip("\n")


def _converted(context: Context, text: str, target: str, *, source: str = "markdown", lossless: bool = False) -> Any:
    options = {"literal": source == "markdown" and context.is_literal(text)}
    done = convert(text, source, target, nodes=context.rich_text, lossless=lossless, options=options)
    for loss in done.losses:
        context.note(loss)
    return done.value
