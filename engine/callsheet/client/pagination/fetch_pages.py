"""Pages, one after another or several at once, and long lists whose ids are read before their items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...errors import CallsheetError, UsageError
from ...language.template import evaluate, fill_template, to_text
from ..http.reply import Reply
from ..listed import listed_in
from ..request.http_request import Json, Request
from .in_parallel import in_order
from .page_walk import ListMoved, Page, SeenIds, Walk
from .paging_plan import PagePlan

if TYPE_CHECKING:
    from ...language.shape.rest import Fetch
    from ..request.operation_call import Call


# The ids of a list, read from both of its ends at once: a chain of pages is half as long then.


class BothEnds:
    """Two walks over one list, the second in the opposite order. `id_of` names an item."""

    def __init__(
        self, send: Callable[[Request], Reply], forwards: Walk, backwards: Walk, id_of: Callable[[Any], str]
    ) -> None:
        self._send = send
        self._walks = (forwards, backwards)
        self._id_of = id_of
        self._front: list[str] = []
        self._back: list[str] = []
        self._known: tuple[set[str], set[str]] = (set(), set())
        self._common = 0  # ids that came from both ends

    def read_first_pages(self, known: Sequence[str]) -> bool:
        """Read the first page of each end. False where the list as it was read so far, `known`, begins otherwise."""
        self._read_next_pages()
        both = min(len(known), len(self._front))
        return self._front[:both] == list(known[:both])

    def iterate_ids(self) -> Iterator[str]:
        """All ids in the order of the first walk, which goes on alone where the second does not meet it."""
        told = 0
        while True:
            yield from self._front[told:]
            told = len(self._front)
            if self._have_met():
                yield from reversed(self._back[: -self._common])
                return
            if self._common or not all(walk.request for walk in self._walks):
                yield from self._rest_forwards()
                return
            self._read_next_pages()

    def _read_next_pages(self) -> None:
        """One more page from each end, asked for at the same time."""
        requests = [walk.request for walk in self._walks if walk.request is not None]
        with closing(in_order(self._send, requests, len(requests))) as replies:
            for place, (walk, reply) in enumerate(zip(self._walks, replies, strict=True)):
                self._add_ids(place, [self._id_of(item) for item in walk.add_page(reply).items])

    def _add_ids(self, place: int, ids: list[str]) -> None:
        (self._front, self._back)[place].extend(ids)
        self._common += sum(id in self._known[1 - place] for id in ids)
        self._known[place].update(ids)

    def _rest_forwards(self) -> Iterator[str]:
        walk = self._walks[0]
        while walk.request is not None:
            yield from [self._id_of(item) for item in walk.add_page(self._send(walk.request)).items]

    def _have_met(self) -> bool:
        """Whether both end with the same ids in opposite orders: with others, the service does not sort as asked."""
        return self._common > 0 and self._front[-self._common :] == self._back[: -self._common - 1 : -1]


# A long list in two parts: the ids of its items in long pages, then the items themselves, many in a call.


WORKERS = 16


class Requests(Protocol):
    """What builds and checks requests, as `Builder` does."""

    def operation_call(self, operation: str) -> Call: ...

    def build_request(
        self, operation: str, arguments: dict[str, Any], body: Any = None, *, strict: bool = True
    ) -> Request: ...


class _Job(NamedTuple):
    ids: list[str]
    request: Request


class Fetching:
    """How one list is read by ids.

    `note` is told what was left out; `may_send` is false of what a policy holds back.
    """

    def __init__(
        self,
        requests: Requests,
        call: Call,
        request: Request,
        definition: Fetch,
        *,
        note: Callable[[str], None],
        may_send: Callable[[Request], bool],
    ) -> None:
        self._requests = requests
        self._request = request
        self._definition = definition
        self._scope = {"given": _arguments_of_request(call, request)}
        self._note = note
        self._may_send = may_send

    def is_possible(self) -> bool:
        """False where the deployment lacks the operation, or a policy holds it back: then pages are read in turn."""
        definition = self._definition
        if "when" in definition and not evaluate(definition["when"], self._scope):
            return False
        try:
            self._requests.operation_call(definition["call"])
        except UsageError:
            return False
        return self._may_send(self._request_for(["1"])) and self._may_send(self._request_for_ids())

    def count_items(self, send: Callable[[Request], Reply]) -> int | None:
        """How many items there are; None where that cannot be asked, since it is only for show."""
        count = self._definition.get("count")
        if count is None:
            return None
        body = fill_template(count["body"], self._scope) if "body" in count else None
        try:
            request = self._requests.build_request(
                count["call"], fill_template(count.get("args", {}), self._scope) or {}, body
            )
            found = evaluate(count["value"], send(request).json()) if self._may_send(request) else None
        except CallsheetError:
            return None
        return found if isinstance(found, int) else None

    def remaining_pages(
        self, send: Callable[[Request], Reply], plan: PagePlan, seen: Iterable[Any], most: int | None
    ) -> Iterator[Page]:
        """The items whose ids are not among the `seen`, in the order of the list, at most so many."""
        ids = self._new_ids(send, plan, [to_text(id) for id in seen], most)
        ids = islice(ids, most)  # what is new meanwhile must not make it more
        groups = iter(lambda: list(islice(ids, self._definition["size"])), [])
        missing = 0
        jobs = (_Job(group, self._request_for(group)) for group in groups)
        # What waits to be taken waits as it was sent: read, it takes some four times as much memory.
        with closing(in_order(lambda job: (job.ids, send(job.request)), jobs, WORKERS)) as replies:
            for page, lacking in map(self._read_items, replies):
                missing += lacking
                yield page
        if missing:
            items = "item was" if missing == 1 else "items were"
            self._note(f"{missing} {items} deleted or hidden while the list was read, and left out")

    def _request_for(self, ids: list[str]) -> Request:
        scope = {**self._scope, "ids": ids}
        definition = self._definition
        body = fill_template(definition["body"], scope) if "body" in definition else None
        arguments = fill_template(definition.get("args", {}), scope) or {}
        # What a person gave was checked for the list itself; checking thousands of ids again takes longer than sending.
        return self._requests.build_request(definition["call"], arguments, body, strict=False)

    def _new_ids(
        self, send: Callable[[Request], Reply], plan: PagePlan, known: list[str], most: int | None
    ) -> Iterator[str]:
        """The ids of the list that are not `known`: each once, where the walk over it leaves out what comes again."""
        seen = SeenIds(known)
        return (id for id in self._listed_ids(send, plan, known, most) if seen.add(id))

    def _listed_ids(
        self, send: Callable[[Request], Reply], plan: PagePlan, known: list[str], most: int | None
    ) -> Iterator[str]:
        if most is None and self._has_two_ends():
            ends = BothEnds(send, *self._walks_from_both_ends(plan), self.id_of)
            if ends.read_first_pages(known):
                yield from ends.iterate_ids()
                return
        wanted = most if most is None else most + len(known)
        walk = Walk(plan, self._request_for_ids(), size=None, most=wanted, start=None)
        while walk.request is not None:
            yield from map(self.id_of, walk.add_page(send(walk.request)).items)

    def _has_two_ends(self) -> bool:
        ends = self._definition.get("both_ends")
        return ends is not None and ("when" not in ends or bool(evaluate(ends["when"], self._scope)))

    def _walks_from_both_ends(self, plan: PagePlan) -> tuple[Walk, Walk]:
        ends = self._definition["both_ends"]
        requests = [self._request_for_ids(ends["forwards"]), self._request_for_ids(ends["backwards"])]
        forwards, backwards = (Walk(plan, request, size=None, most=None, start=None) for request in requests)
        return forwards, backwards

    def _read_items(self, answered: tuple[list[str], Reply]) -> tuple[Page, int]:
        """The items of these ids in their order, and how many of them there no longer are."""
        ids, reply = answered
        body, under = reply.json(), self._definition["items"]
        items = listed_in(reply, evaluate(under, body), under)
        by_id = {self.id_of(item): item for item in items}
        found = [by_id[id] for id in ids if id in by_id]
        return Page(found, reply, None, None), len(ids) - len(found)

    def _request_for_ids(self, order: Mapping[str, Any] = MappingProxyType({})) -> Request:
        """For the first page of ids; `order` are arguments that say how they are sorted."""
        replaced = {**self._definition["list"], **order}
        wanted, body = fill_template(replaced, self._scope) or {}, self._request.body
        if isinstance(body, Json):
            kept = {key: value for key, value in body.value.items() if key not in replaced}
            return replace(self._request, body=replace(body, value={**kept, **wanted}))
        pairs = [pair for pair in self._request.query if pair[0] not in replaced]
        more = [(name, to_text(each)) for name, value in wanted.items() for each in _as_list(value)]
        return replace(self._request, query=(*pairs, *more))

    def id_of(self, item: Any) -> str:
        found = evaluate(self._definition["id"], item)
        if found is None:
            raise CallsheetError(f"{self._request.name}: an item has no {self._definition['id']!r} to read it by")
        return to_text(found)


def _arguments_of_request(call: Call, request: Request) -> dict[str, Any]:
    """What a request was built from: a list where the operation takes one, else text; or the keys of its body."""
    if isinstance(request.body, Json):
        return dict(request.body.value or {})
    lists = {param["name"] for param in call.params if param.get("type") == "array"}
    found: dict[str, Any] = {}
    for name, text in request.query:
        if name in lists:
            found.setdefault(name, []).append(text)
        else:
            found[name] = text
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# Pages, one after another or, where offset and total are known, several at once.


PAGE_WORKERS = 10
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
    workers: int = PAGE_WORKERS,
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
    if seen and fetching and fetching.is_possible():
        yield from fetching.remaining_pages(send, plan, seen, most)
        return
    walk = Walk(plan, request, size=size, most=most, start=start, seen=seen)
    while walk.request is not None:
        page = walk.add_page(send(walk.request))
        yield page
        if walk.request is not None and walk.page == 1 and start is None and fetching and fetching.is_possible():
            yield from fetching.remaining_pages(send, plan, map(fetching.id_of, page.items), walk.left)
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
        closing(in_order(send, (walk.page_at(at, length) for at in starts), workers, gently=True)) as replies,
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
    jobs = (walk.page_at(at, min(length, end - at)) for at in starts)
    with closing(in_order(send, jobs, min(workers, len(starts)))) as replies, suppress(ListMoved):
        for at, reply in zip(starts, replies, strict=True):
            if walk.request is None or walk.offset != at:
                return
            yield walk.add_page(reply, repeated=0)
