"""A list where one was expected in an answer."""

from __future__ import annotations

from typing import Any

from ..errors import CallsheetError


def listed(found: Any, *, by: str = "") -> list[Any]:
    """What a service answered where a list was expected; nothing at all is an empty one. `by` names the operation."""
    if found is None or isinstance(found, list):
        return found or []
    raise CallsheetError(f"{by}{': ' * bool(by)}expected a list in the answer")
