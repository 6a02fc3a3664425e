"""Words of an API as words of a command line, and one thing out of many: `petId` → `pet-id`, `statuses` → `status`."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

_CHECKER = "typeguard"
_SINGULAR = re.compile(r"(?:ss|us|is)$")  # analysis, bus, address: never many


def command_word(text: str) -> str:
    """A name of an API as a word of a command line: `petId` → `pet-id`, `Pets & co` → `pets-co`."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3-\2\4", text)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")


class Nouns:
    """`unchanging` are words that look like many and are not."""

    def __init__(self, unchanging: Collection[str] = ()) -> None:
        self._unchanging = frozenset(unchanging)
        self.singular = cache(self.singular)  # type: ignore[method-assign]  # an API has few words, each many times

    def singular(self, name: str) -> str:
        """One of what a word names; a word of one thing as it is. Of several words the last one counts."""
        before, hyphen, last = name.rpartition("-")
        if not last.endswith(("s", "ren", "people", "men")) or last in self._unchanging or _SINGULAR.search(last):
            return name
        found = _engine().singular_noun(last)
        return f"{before}{hyphen}{found}" if found else name

    def are_same(self, one: str, other: str) -> bool:
        return one == other or self.singular(one) == self.singular(other)


@cache
def _engine() -> Any:
    with _without_checker():
        from inflect import engine

    return engine()


@contextmanager
def _without_checker() -> Iterator[None]:
    """The library has its own arguments checked, which takes it a second to prepare and this has no use for."""
    if _CHECKER in sys.modules:
        yield
        return
    unchecked = ModuleType(_CHECKER)
    unchecked.typechecked = lambda function: function  # type: ignore[attr-defined]
    sys.modules[_CHECKER] = unchecked
    try:
        yield
    finally:
        del sys.modules[_CHECKER]
