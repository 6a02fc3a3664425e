"""Pages, one after another or, where offset and total are known, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from typing import Any

from ..http.reply import Reply
from ..request.model import Request
from .ahead import in_order
from .fetch import Fetching
from .plan import PagePlan
from .walk import ListMoved, Page, Walk

WORKERS = 10
_LIKELY_LONG = 2  # pages; a list that has more is worth asking ahead for, although that may ask for one too many
SendRequest = Callable[[Request], Reply]


def fetch_pages(
    send: SendRequest,
    plan: PagePlan,
    request: Request,
    *,
    size: int | None = None,
    most: int | None = None,
    start: str | None = None,
    workers: int = WORKERS,
    fetching: Fetching | None = None,
    seen: Sequence[Any] = (),
) -> Iterator[Page]:
    """Pages as they are asked for; one page is in memory, or a bounded number where they come in parallel.

    `size` is the length of a page, `most` the number of items to stop after: no more than that is asked for.
    `start` is where the first page starts (offset, token or cursor). What follows the first page is read by
    `fetching` where that applies. `seen` are ids of items that came before, and do not come again.
    A page that makes no progress, and a next
    link to another host, is a `CallsheetError`.
    """
    if seen and fetching and fetching.applies():
        yield from fetching.rest(send, plan, seen, most)
        return
    walk = Walk(plan, request, size=size, most=most, start=start, seen=seen)
    while walk.request is not None:
        page = walk.add_page(send(walk.request))
        yield page
        if walk.request is not None and walk.page == 1 and start is None and fetching and fetching.applies():
            yield from fetching.rest(send, plan, map(fetching.id_of, page.items), walk.left)
            return
        if workers > 1 and _can_fetch_ahead(walk):
            yield from _fetch_ahead(send, walk, workers)
        elif workers > 1 and _can_guess(walk):
            yield from _guess_ahead(send, walk, workers)


def _can_fetch_ahead(walk: Walk) -> bool:
    """Safe for reads by offset whose reply told the total, and worth it for two pages or more."""
    plan, request = walk.plan, walk.request
    if request is None or not plan.kind.ahead or plan.in_body or request.method != "GET" or not plan.size:
        return False
    return walk.received > 0 and _end_offset(walk) - walk.offset > walk.received


def _can_guess(walk: Walk) -> bool:
    """The same where no reply tells the total: from the second page on, when the last two were of one length."""
    plan, request = walk.plan, walk.request
    if request is None or not plan.kind.ahead or plan.total or plan.in_body or request.method != "GET" or not plan.size:
        return False
    return walk.page >= _LIKELY_LONG and walk.received_before == walk.received > 1


def _guess_ahead(send: SendRequest, walk: Walk, workers: int) -> Iterator[Page]:
    """Pages as long as the last one, more and more at once, until one is the last or shorter.

    Each begins with the last item of the one in front of it: nothing else shows that the list was the same for both.
    """
    length, first = walk.received, walk.offset - 1
    step = length - 1
    starts = count(first, step) if walk.left is None else range(first, first + walk.left, step)
    with (
        closing(in_order(send, (walk.at(at, length) for at in starts), workers, gently=True)) as replies,
        suppress(ListMoved),
    ):
        for at, reply in zip(count(first, step), replies, strict=False):
            if walk.request is None or walk.offset != at + 1:
                return
            yield walk.add_page(reply, repeated=1)


def _end_offset(walk: Walk) -> int:
    """The offset after the last item that is wanted."""
    total = walk.total or 0
    return total if walk.left is None else min(total, walk.offset + walk.left)


def _fetch_ahead(send: SendRequest, walk: Walk, workers: int) -> Iterator[Page]:
    """The known rest, in pages as long as the last one; given up at the first page that is shorter than that.

    Or that tells a smaller total than the one in front of it: then it was answered before something new came.
    """
    length, end = walk.received, _end_offset(walk)
    starts = range(walk.offset, end, length)
    jobs = (walk.at(at, min(length, end - at)) for at in starts)
    with closing(in_order(send, jobs, min(workers, len(starts)))) as replies, suppress(ListMoved):
        for at, reply in zip(starts, replies, strict=True):
            if walk.request is None or walk.offset != at:
                return
            yield walk.add_page(reply, repeated=0)
