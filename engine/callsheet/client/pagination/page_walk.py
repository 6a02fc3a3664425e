"""A walk over pages: what came so far, and what to ask for next: by offset, page, token, or the link of a reply."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

from ...errors import CallsheetError, UsageError
from ...jsontext import parse_whole_number
from ...language.template import TemplateError, evaluate
from ...urls import url_origin
from ..http.redact import Redactor
from ..http.reply import Reply
from ..listed import listed_in
from ..request.http_request import Json, Request
from .paging_plan import PageKind, PagePlan

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
    return {**told, "links": _links_in_header(told.get("link", ""))}


def _links_in_header(text: str) -> dict[str, str]:
    """Of several targets with one relation the first counts, as of several relations of one target."""
    found: dict[str, str] = {}
    for target, parameters in _LINK.findall(text):
        relation = _RELATION.search(parameters)
        for name in (relation[1] or relation[2]).lower().split() if relation else ():
            found.setdefault(name, target)
    return found


# Which items came so far, in little memory: a hundred thousand of them take less than one page does.


_CLOSE = 64  # ids; services count them up, so most have neighbours
_LONGEST = 18  # digits


class SeenIds:
    """A set of ids. Whole numbers are bits of a number for all that are close; anything else stands for itself."""

    def __init__(self, ids: Iterable[Any] = ()) -> None:
        self._others: set[Any] = set()
        self._numbers: dict[int, int] = {}
        for id in ids:
            self.add(id)

    def add(self, id: str | int) -> bool:
        """Whether it is new. An id that is a number is the same as its text."""
        text = str(id)
        if not text.isdecimal() or len(text) > _LONGEST or str(int(text)) != text:
            new = text not in self._others
            self._others.add(text)
            return new
        place, bit = divmod(int(text), _CLOSE)
        known = self._numbers.get(place, 0)
        self._numbers[place] = known | 1 << bit
        return not known >> bit & 1


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
        self.size = size if size is not None else _number_of_items(_sent_value(plan, request, plan.size))
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
        self._seen = SeenIds(seen)
        self.repeats = Repeats(request.name, self._with_size(self._first).url)

    def add_page(self, reply: Reply, *, repeated: int | None = None) -> Page:
        """The page of a reply; afterwards `request` is the one that follows it.

        With `repeated` it was asked for before the page in front of it had come, and begins with so many items of that.
        Raises `ListMoved` where the list was another one when this was answered.
        """
        body = reply.json()
        items = self._items_in(reply, body)
        told = told_in_headers(reply.headers) if self.plan.reads_headers else body
        total = _number_of_items(self.value_in_reply(self.plan.total, told))
        if repeated is not None:
            if (total or 0) < (self.total or 0) or list(map(self._item_mark, items[:repeated])) != self._last[
                :repeated
            ]:
                raise ListMoved
            items = items[repeated:]
        self._last = list(map(self._item_mark, items[-1:]))
        self.total, self.received_before, self.received = total, self.received, len(items)
        self.page += 1
        if self.total is None or not self.plan.kind.counted:
            self.repeats.check_items(items, self.page)
        following, position = self.plan.kind.following(self, reply, told)
        items = self._unseen_items(items)
        if self.left is not None:
            items = items[: self.left]
            self.left -= len(items)
        self.request = self._with_size(following) if following is not None and self.left != 0 else None
        return Page(items, reply, position, self.total)

    def page_at(self, offset: int, size: int) -> Request:
        """The request for a page of `size` items that starts at an offset."""
        request = self.request_at(self._first, str(offset))
        return _with_parameter(self.plan, request, self.plan.size, size)

    def _items_in(self, reply: Reply, body: Any) -> list[Any]:
        found = body if self.plan.items is None else self.value_in_reply(self.plan.items, body)
        return listed_in(reply, found, self.plan.items)

    def _unseen_items(self, items: list[Any]) -> list[Any]:
        """Without those of earlier pages: what was inserted meanwhile moves others to the next page."""
        if self.plan.unique is None:
            return items
        found = []
        for item in items:
            mark = self.value_in_reply(self.plan.unique, item)
            if not isinstance(mark, str | int) or self._seen.add(mark):  # a list or table names nothing
                found.append(item)
        return found

    def _item_mark(self, item: Any) -> Any:
        return item if self.plan.unique is None else self.value_in_reply(self.plan.unique, item)

    def value_in_reply(self, expression: str | None, body: Any) -> Any:
        """What an expression of the plan finds in a reply."""
        try:
            return evaluate(expression, body) if expression else None
        except TemplateError:  # a body of another shape does not say it
            return None

    def _first_offset(self, start: str | None) -> int:
        if not (self.plan.kind.counted or self.plan.kind.numbered) or start is None:
            return 0
        offset = _number_of_items(start)
        if offset is None:
            raise UsageError(f"expected a whole number for {self.plan.send}, not {start!r}")
        return offset if self.plan.kind.counted else 0

    def request_at(self, request: Request, position: str) -> Request:
        """The request for the page that starts there."""
        number = parse_whole_number(position) if self.plan.kind.counted or self.plan.kind.numbered else None
        return _with_parameter(self.plan, request, self.plan.send, position if number is None else number)

    def position_of(self, request: Request) -> str | None:
        """Where the page starts that a request asks for, as far as it says."""
        return _sent_value(self.plan, request, self.plan.send)

    def _with_size(self, request: Request) -> Request:
        """Never more than is still wanted, and a page's length only where somebody asked for one."""
        size = self.size
        if self.left is not None:
            size = min(size or self.plan.largest or self.plan.usual, self.left)
        return _with_parameter(self.plan, request, self.plan.size, size)


def _number_of_items(value: Any) -> int | None:
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


# Pages by a start index: the next one starts behind what was received.


def following_by_offset(walk: Walk, reply: Reply, told: Any) -> Following:
    """On by what was received, never by what was asked for; an empty page ends where the reply tells nothing."""
    request = reply.request
    last = walk.value_in_reply(walk.plan.last, told)
    walk.offset += walk.received
    if walk.received == 0 and last is False:
        raise CallsheetError(f"{request.name}: an empty page at {walk.offset} says that more would follow")
    if walk.received == 0 or last or (last is None and walk.total is not None and walk.offset >= walk.total):
        return None, None
    walk.repeats.check_content(reply.content, walk.page)
    return walk.request_at(request, str(walk.offset)), str(walk.offset)


OFFSET = PageKind(following_by_offset, counted=True, ahead=True)
ARRAY = PageKind(following_by_offset, counted=True, bare=True)


# Pages by their number, where the reply need not tell how many there are.


def following_by_page(walk: Walk, reply: Reply, told: Any) -> Following:
    """The next number; an empty page is the end where the reply tells none. Services may lower a page's length."""
    last = walk.value_in_reply(walk.plan.last, told)
    walk.offset += walk.received
    if walk.received == 0 and last is False:
        raise CallsheetError(f"{reply.request.name}: page {walk.page} is empty and says that more would follow")
    is_whole = walk.start in (None, str(walk.plan.first))  # else it is not known how many went before
    is_all = is_whole and walk.total is not None and walk.offset >= walk.total
    if walk.received == 0 or last or (last is None and is_all):
        return None, None
    number = str(int(walk.position_of(reply.request) or walk.plan.first) + 1)
    return walk.request_at(reply.request, number), number


PAGE = PageKind(following_by_page, numbered=True)


# Pages by an opaque word that each reply gives for the next one.


_KINDS = {bool: "truth value", dict: "table", list: "list"}


def following_by_token(walk: Walk, reply: Reply, told: Any) -> Following:
    token = walk.value_in_reply(walk.plan.next, told)
    if token is None or token == "" or walk.value_in_reply(walk.plan.last, told):
        return None, None
    if isinstance(token, bool) or not isinstance(token, str | int):
        shown = f"{walk.plan.next!r} of the answer is a {_KINDS.get(type(token), 'number')}"
        raise CallsheetError(f"{reply.request.name}: expected the word for the next page, but {shown}")
    walk.repeats.check_cursor(str(token), walk.page + 1)
    return walk.request_at(reply.request, str(token)), str(token)


TOKEN = PageKind(following_by_token, needs=("send", "next"))


# A next link out of a reply → the next request, to the same service only.


_SHOWN = 80


def next_request(request: Request, link: str, reply_url: str, root: Any) -> Request:
    """`link` is absolute or relative: to `root` where the reply gives one, else to the reply's own URL.

    Of `root` only the path counts. Raises `CallsheetError`, before anything is sent, for another origin and for what
    is no link: a reply does not decide who gets the credential.
    """
    try:
        path, query = _path_and_query(request, link, reply_url, root)
    except (ValueError, UsageError):
        raise _invalid_link(request, link) from None
    inside = _relative_path(path, urlsplit(request.root).path)
    return replace(request, path=inside, query=tuple(parse_qsl(query, keep_blank_values=True)))


def _path_and_query(request: Request, link: str, reply_url: str, root: Any) -> tuple[str, str]:
    """Path and query; `ValueError` or `UsageError` for what has none."""
    parts = urlsplit(link)
    if parts.netloc:
        parts = _same_service(request, urljoin(request.origin, link))
    elif parts.scheme:
        raise _invalid_link(request, link)
    elif isinstance(root, str) and link.startswith("/"):
        parts = parts._replace(path=urlsplit(root).path.rstrip("/") + parts.path)
    else:
        parts = urlsplit(urljoin(reply_url, link))
    if parts.path and not parts.path.startswith("/"):
        raise _invalid_link(request, link)
    return parts.path, parts.query


def _same_service(request: Request, absolute: str) -> SplitResult:
    if url_origin(absolute) != request.origin:
        raise CallsheetError(
            f"{request.name}: the next page would be on {url_origin(absolute)}, which is not this site",
            hint="nothing was sent there",
        )
    return urlsplit(absolute)


def _invalid_link(request: Request, link: str) -> CallsheetError:
    details = Redactor().url(link)
    shown = repr(details[:_SHOWN]) + "…" * (len(details) > _SHOWN)
    return CallsheetError(
        f"{request.name}: the service gave {shown} as the link to the next page, which is not a valid address",
        hint="nothing was sent there",
    )


def _relative_path(path: str, base: str) -> str:
    """The path without the service's own base path, which a link may or may not repeat."""
    return path[len(base) :] if base and (path + "/").startswith(base + "/") else path


# Pages by the URL of the next one, which each reply names.


def following_by_link(walk: Walk, reply: Reply, told: Any) -> Following:
    request = reply.request
    link = walk.value_in_reply(walk.plan.next, told)
    if not link or walk.value_in_reply(walk.plan.last, told):
        return None, None
    if not isinstance(link, str):
        raise CallsheetError(f"{request.name}: expected a link to the next page, not {type(link).__name__}")
    walk.repeats.check_cursor(link, walk.page + 1)
    found = next_request(request, link, reply.url, walk.value_in_reply(walk.plan.root, told))
    walk.repeats.check_cursor(found.url, walk.page + 1)
    return found, dict(found.query).get(walk.plan.send or "", link)


LINK = PageKind(following_by_link, needs=("next",))
