"""Printing the result of a command: table, json, ndjson, yaml, csv, Markdown, ids or a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .printer import Output

__all__ = ["Output"]


def __getattr__(name: str) -> Any:
    """Wording an error, or checking a definition, does not need what prints."""
    if name != "Output":
        raise AttributeError(name)
    from .printer import Output

    return Output
