"""A walk over pages: what came so far, what to ask for next, and whether it goes round in a circle."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...errors import CallsheetError, UsageError
from ...integers import parse_whole_number
from ...language.template import TemplateError, evaluate
from ..http.reply import Reply
from ..listed import listed_in
from ..request.model import Json, Request
from .plan import PagePlan

# Whether a walk over pages goes round in a circle.


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


# What the headers of a reply tell about the next page.


# `<target>; rel="next"; title="a, b"` (RFC 8288, section 3). A parameter's value may stand in quotes.
_LINK = re.compile(r"<([^>]*)>([^<]*)")
_RELATION = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)


def told_in_headers(headers: Mapping[str, str]) -> dict[str, Any]:
    """Headers by their lower-case names, and `links`: the targets of a Link header by their relations."""
    told = {name.lower(): value for name, value in headers.items()}
    return {**told, "links": _links(told.get("link", ""))}


def _links(text: str) -> dict[str, str]:
    """Of several targets with one relation the first counts, as of several relations of one target."""
    found: dict[str, str] = {}
    for target, parameters in _LINK.findall(text):
        relation = _RELATION.search(parameters)
        for name in (relation[1] or relation[2]).lower().split() if relation else ():
            found.setdefault(name, target)
    return found


# The state of one walk over pages: what came so far, and what to ask for next.


class Page(NamedTuple):
    """`next` is where a following page starts (offset, token or cursor); None when there is none."""

    items: list[Any]
    reply: Reply
    next: str | None
    total: int | None


Following = tuple[Request | None, str | None]  # the next request, and where its page starts


class ListMoved(Exception):
    """What was asked for ahead belongs to an earlier state of the list than the page in front of it.

    Behind that page, items may be missing in it that something new has moved on.
    """


class Walk:
    """`request` is the next one to send; None at the end, or when `most` items have come."""

    def __init__(
        self,
        plan: PagePlan,
        request: Request,
        *,
        size: int | None,
        most: int | None,
        start: str | None,
        seen: Iterable[Any] = (),
    ) -> None:
        if size is not None and plan.greatest is not None and size > plan.greatest:
            raise UsageError(f"{request.name} gives at most {plan.greatest} items a page, not {size}")
        if size is not None and plan.size is None:
            raise UsageError(
                f"{request.name} does not let the length of a page be chosen", hint="--max N limits the list"
            )
        self.plan = plan
        self.size = size if size is not None else _number(_sent_value(plan, request, plan.size))
        self.left = most
        self.total: int | None = None
        self.received = self.received_before = 0  # of the last reply, and of the one before it
        self._last: list[Any] = []  # what names the last item
        self.page = 0  # how many have come
        start = start if start is not None else _sent_value(plan, request, plan.send)
        self.start = start  # where the first page starts, if somebody said
        self.offset = self._first_offset(start)
        self._first = self.request_at(request, start) if start is not None else request
        self.request: Request | None = None if most == 0 else self._with_size(self._first)
        self._seen: set[Any] = set(seen)
        self.repeats = Repeats(request.name, self._with_size(self._first).url)

    def add_page(self, reply: Reply, *, repeated: int | None = None) -> Page:
        """The page of a reply; afterwards `request` is the one that follows it.

        With `repeated` it was asked for before the page in front of it had come, and begins with so many items of that.
        Raises `ListMoved` where the list was another one when this was answered.
        """
        body = reply.json()
        items = self._items(reply, body)
        told = told_in_headers(reply.headers) if self.plan.reads_headers else body
        total = _number(self.value(self.plan.total, told))
        if repeated is not None:
            if (total or 0) < (self.total or 0) or list(map(self._mark, items[:repeated])) != self._last[:repeated]:
                raise ListMoved
            items = items[repeated:]
        self._last = list(map(self._mark, items[-1:]))
        self.total, self.received_before, self.received = total, self.received, len(items)
        self.page += 1
        if self.total is None or not self.plan.kind.counted:
            self.repeats.check_items(items, self.page)
        following, position = self.plan.kind.following(self, reply, told)
        items = self._unseen(items)
        if self.left is not None:
            items = items[: self.left]
            self.left -= len(items)
        self.request = self._with_size(following) if following is not None and self.left != 0 else None
        return Page(items, reply, position, self.total)

    def at(self, offset: int, size: int) -> Request:
        """The request for a page of `size` items that starts at an offset."""
        request = self.request_at(self._first, str(offset))
        return _with_parameter(self.plan, request, self.plan.size, size)

    def _items(self, reply: Reply, body: Any) -> list[Any]:
        found = body if self.plan.items is None else self.value(self.plan.items, body)
        return listed_in(reply, found, self.plan.items)

    def _unseen(self, items: list[Any]) -> list[Any]:
        """Without those of earlier pages: what was inserted meanwhile moves others to the next page."""
        if self.plan.unique is None:
            return items
        found = []
        for item in items:
            mark = self.value(self.plan.unique, item)
            if not isinstance(mark, str | int) or mark not in self._seen:
                found.append(item)
            if isinstance(mark, str | int):  # a list or table names nothing
                self._seen.add(mark)
        return found

    def _mark(self, item: Any) -> Any:
        return item if self.plan.unique is None else self.value(self.plan.unique, item)

    def value(self, expression: str | None, body: Any) -> Any:
        """What an expression of the plan finds in a reply."""
        try:
            return evaluate(expression, body) if expression else None
        except TemplateError:  # a body of another shape does not say it
            return None

    def _first_offset(self, start: str | None) -> int:
        if not (self.plan.kind.counted or self.plan.kind.numbered) or start is None:
            return 0
        offset = _number(start)
        if offset is None:
            raise UsageError(f"expected a whole number for {self.plan.send}, not {start!r}")
        return offset if self.plan.kind.counted else 0

    def request_at(self, request: Request, position: str) -> Request:
        """The request for the page that starts there."""
        number = parse_whole_number(position) if self.plan.kind.counted or self.plan.kind.numbered else None
        return _with_parameter(self.plan, request, self.plan.send, position if number is None else number)

    def position(self, request: Request) -> str | None:
        """Where the page starts that a request asks for, as far as it says."""
        return _sent_value(self.plan, request, self.plan.send)

    def _with_size(self, request: Request) -> Request:
        """Never more than is still wanted, and a page's length only where somebody asked for one."""
        size = self.size
        if self.left is not None:
            size = min(size or self.plan.largest or self.plan.usual, self.left)
        return _with_parameter(self.plan, request, self.plan.size, size)


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        return parse_whole_number(value)
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _sent_value(plan: PagePlan, request: Request, name: str | None) -> str | None:
    """What the request already says for one of the paging parameters."""
    if plan.in_body:
        table = request.body.value if isinstance(request.body, Json) else None
        value = table.get(name) if isinstance(table, dict) else None
        return None if value is None else str(value)
    return dict(request.query).get(name or "")


def _with_parameter(plan: PagePlan, request: Request, name: str | None, value: int | str | None) -> Request:
    if name is None or value is None:
        return request
    return request.with_json({name: value}) if plan.in_body else request.with_query({name: str(value)})
