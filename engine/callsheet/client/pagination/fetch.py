"""A long list in two parts: the ids of its items in long pages, then the items themselves, many in a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...errors import CallsheetError, UsageError
from ...language.template import evaluate, fill_template, to_text
from ..listed import listed_in
from ..request.model import Json, Request
from .ahead import in_order
from .both_ends import BothEnds
from .walk import Page, Walk

if TYPE_CHECKING:
    from ...language.shape.rest import Fetch
    from ..http.reply import Reply
    from ..request.call import Call
    from .plan import PagePlan

WORKERS = 16


class Requests(Protocol):
    """What builds and checks requests, as `Builder` does."""

    def call(self, operation: str) -> Call: ...

    def build(self, operation: str, arguments: dict[str, Any], body: Any = None, *, strict: bool = True) -> Request: ...


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
        self._scope = {"given": _arguments(call, request)}
        self._note = note
        self._may_send = may_send

    def applies(self) -> bool:
        """False where the deployment lacks the operation, or a policy holds it back: then pages are read in turn."""
        definition = self._definition
        if "when" in definition and not evaluate(definition["when"], self._scope):
            return False
        try:
            self._requests.call(definition["call"])
        except UsageError:
            return False
        return self._may_send(self._request_for(["1"])) and self._may_send(self._request_for_ids())

    def count(self, send: Callable[[Request], Reply]) -> int | None:
        """How many items there are; None where that cannot be asked, since it is only for show."""
        count = self._definition.get("count")
        if count is None:
            return None
        body = fill_template(count["body"], self._scope) if "body" in count else None
        try:
            request = self._requests.build(count["call"], fill_template(count.get("args", {}), self._scope) or {}, body)
            found = evaluate(count["value"], send(request).json()) if self._may_send(request) else None
        except CallsheetError:
            return None
        return found if isinstance(found, int) else None

    def rest(
        self, send: Callable[[Request], Reply], plan: PagePlan, seen: Iterable[Any], most: int | None
    ) -> Iterator[Page]:
        """The items whose ids are not among the `seen`, in the order of the list, at most so many."""
        ids = self._fresh(send, plan, [to_text(id) for id in seen], most)
        ids = islice(ids, most)  # what is new meanwhile must not make it more
        groups = iter(lambda: list(islice(ids, self._definition["size"])), [])
        missing = 0
        jobs = (_Job(group, self._request_for(group)) for group in groups)
        with closing(in_order(lambda job: self._read(send, job), jobs, WORKERS)) as pages:
            for page, lacking in pages:
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
        return self._requests.build(definition["call"], arguments, body, strict=False)

    def _fresh(
        self, send: Callable[[Request], Reply], plan: PagePlan, known: list[str], most: int | None
    ) -> Iterator[str]:
        """The ids of the list that are not `known`, each once."""
        seen = set(known)
        for id in self._ids(send, plan, known, most):
            if id not in seen:
                seen.add(id)
                yield id

    def _ids(
        self, send: Callable[[Request], Reply], plan: PagePlan, known: list[str], most: int | None
    ) -> Iterator[str]:
        if most is None and self._has_two_ends():
            ends = BothEnds(send, *self._walks(plan), self.id_of)
            if ends.begin(known):
                yield from ends.ids()
                return
        wanted = most if most is None else most + len(known)
        walk = Walk(plan, self._request_for_ids(), size=None, most=wanted, start=None)
        while walk.request is not None:
            yield from map(self.id_of, walk.add_page(send(walk.request)).items)

    def _has_two_ends(self) -> bool:
        ends = self._definition.get("both_ends")
        return ends is not None and ("when" not in ends or bool(evaluate(ends["when"], self._scope)))

    def _walks(self, plan: PagePlan) -> tuple[Walk, Walk]:
        ends = self._definition["both_ends"]
        requests = [self._request_for_ids(ends["forwards"]), self._request_for_ids(ends["backwards"])]
        forwards, backwards = (Walk(plan, request, size=None, most=None, start=None) for request in requests)
        return forwards, backwards

    def _read(self, send: Callable[[Request], Reply], job: _Job) -> tuple[Page, int]:
        """The items of these ids in their order, and how many of them there no longer are."""
        reply = send(job.request)
        body, under = reply.json(), self._definition["items"]
        items = listed_in(reply, evaluate(under, body), under)
        by_id = {self.id_of(item): item for item in items}
        found = [by_id[id] for id in job.ids if id in by_id]
        return Page(found, reply, None, None), len(job.ids) - len(found)

    def _request_for_ids(self, order: Mapping[str, Any] = MappingProxyType({})) -> Request:
        """For the first page of ids; `order` are arguments that say how they are sorted."""
        replaced = {**self._definition["list"], **order}
        wanted, body = fill_template(replaced, self._scope) or {}, self._request.body
        if isinstance(body, Json):
            kept = {key: value for key, value in body.value.items() if key not in replaced}
            return replace(self._request, body=replace(body, value={**kept, **wanted}))
        pairs = [pair for pair in self._request.query if pair[0] not in replaced]
        more = [(name, to_text(each)) for name, value in wanted.items() for each in _listed(value)]
        return replace(self._request, query=(*pairs, *more))

    def id_of(self, item: Any) -> str:
        found = evaluate(self._definition["id"], item)
        if found is None:
            raise CallsheetError(f"{self._request.name}: an item has no {self._definition['id']!r} to read it by")
        return to_text(found)


def _arguments(call: Call, request: Request) -> dict[str, Any]:
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


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
