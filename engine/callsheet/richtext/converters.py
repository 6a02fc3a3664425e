"""What a person writes after an option, as Markdown → what a service wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import convert

if TYPE_CHECKING:
    from callsheet.context import Context


def adf(context: Context, text: str) -> Any:
    return _converted(context, text, "adf")


def storage(context: Context, text: str) -> Any:
    return _converted(context, text, "storage")


def wiki(context: Context, text: str) -> Any:
    return _converted(context, text, "wiki")


def _converted(context: Context, text: str, target: str) -> Any:
    done = convert(text, "markdown", target, nodes=context.catalog.all("node"))
    for loss in done.losses:
        context.note(loss)
    return done.value
