"""Regular expressions that are compiled on first use, so that a start of the program compiles few of them."""

from __future__ import annotations

import re
from typing import Any, cast


class _Pattern:
    """Gives each method of the compiled pattern, and keeps it."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self._text, self._flags), name)  # `re` keeps what it compiled
        setattr(self, name, method)
        return method


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """For modules that are loaded at every start. Elsewhere `re.compile` tells at once what is wrong with a pattern."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
