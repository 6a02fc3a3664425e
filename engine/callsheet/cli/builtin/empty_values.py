"""Options that were given without a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import UsageError


def refuse_empty(values: Mapping[str, Any], *names: str) -> None:
    """Most empty values come of a variable that is not set: taken for none, something else would happen than was meant.

    Raises `UsageError`.
    """
    for name in names:
        given = values.get(name)
        if any(not text.strip(", ") for text in ([given] if isinstance(given, str) else given or ())):
            raise UsageError(f"--{name} is empty", hint="give it a value, or omit it")
