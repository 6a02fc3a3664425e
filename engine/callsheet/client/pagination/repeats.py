"""Whether a walk over pages goes round in a circle."""

from __future__ import annotations

from typing import Any

from ...errors import CallsheetError

_LONGER = 8192  # characters that an address or token of a page may be longer than the first address
_EMPTY = 1000  # pages in a row; services that filter what they found give some


class RepeatedPage(CallsheetError):
    """The service answers the same again; asking on would never end. `of` is the page that comes again."""

    def __init__(self, name: str, page: int, of: int) -> None:
        super().__init__(f"{name}: page {page} repeats page {of}; stopped, because the list would never end")
        self.of = of


class Repeats:
    """What the pages of one walk were, and what named each; pages count from 1, and `first` is the address of that."""

    def __init__(self, name: str, first: str) -> None:
        self._name = name
        self._longest = len(first) + _LONGER
        self._named = {hash(first): 1}
        self._pages: dict[int, int] = {}
        self._distance = 0  # from the last page to one that had the same items
        self._empty = 0

    def check_content(self, content: bytes, page: int) -> None:
        """Raises `RepeatedPage` when another page was the same to the last byte."""
        of = self._named.setdefault(hash(content), page)
        if of != page:
            raise RepeatedPage(self._name, page, of)

    def check_cursor(self, mark: str, page: int) -> None:
        """Raises `RepeatedPage` when the address or token of this next page was that of another one."""
        of = self._named.setdefault(hash(mark), page)
        if of != page:
            alike = self._distance == 1 and of == page - 1  # then it was the last page already that came again
            raise RepeatedPage(self._name, page - alike, of - alike)
        if len(mark) > self._longest:
            raise CallsheetError(
                f"{self._name}: the link or token of page {page} is {len(mark)} characters long, "
                f"expected at most {self._longest}",
                hint="nothing was sent for it",
            )

    def check_items(self, items: list[Any], page: int) -> None:
        """Raises `RepeatedPage` when two pages in a row came before in the same order, whatever named them.

        A single one may be chance: not all items have a name of their own.
        """
        self._empty = 0 if items else self._empty + 1
        if self._empty >= _EMPTY:
            raise CallsheetError(f"{self._name}: {_EMPTY} empty pages in a row; stopped")
        mark = hash(repr(items))
        before, self._pages[mark] = self._pages.get(mark, page), page
        again = self._distance == page - before != 0
        self._distance = page - before
        if again and items:
            raise RepeatedPage(self._name, page - 1, before - 1)
