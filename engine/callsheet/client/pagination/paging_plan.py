"""How one operation is paged: its paginator, what it says differently, and where its parameters travel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from ... import registry
from ...errors import DefinitionError
from ..request.http_request import Request, is_json_media

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import Fetch, OperationParam, PagedOperation
    from ..request.operation_call import Call


USUAL = 50  # a page's length where the definition tells neither default nor maximum


class PageKind(NamedTuple):
    """A way of paging. `following` takes the walk, a reply and what it tells (body or headers)."""

    following: Callable[..., tuple[Request | None, str | None]]
    counted: bool = False  # a page starts at a number of items
    ahead: bool = False  # pages may be asked for before the one in front of them has come
    bare: bool = False  # a reply is the list of items itself
    numbered: bool = False  # pages have numbers
    needs: tuple[str, ...] = ("send",)  # without these keys of a paginator there is no way to the next page


@cache
def page_kind(name: str) -> PageKind:
    return cast("PageKind", registry.resolve_entry(registry.PAGINATION[name]))


@dataclass(frozen=True, slots=True)
class PagePlan:
    """`items` and `root` are expressions over a reply's body, `next`, `last` and `total` over body or headers.

    `first` is the number of the first page where pages have numbers. Pages are `usual` long where nothing is said, at
    most `greatest`, and `largest` where many items are wanted; None: as the service likes. No two items share `unique`.
    """

    kind: PageKind
    send: str | None
    size: str | None
    in_body: bool
    items: str | None
    next: str | None
    last: str | None
    total: str | None
    root: str | None
    usual: int
    greatest: int | None
    largest: int | None
    reads_headers: bool
    first: int
    unique: str | None
    fetch: Fetch | None


def plan_of(catalog: Catalog, call: Call) -> PagePlan | None:
    """None for an operation that answers everything at once."""
    paging = call.operation.get("paginate")
    if not paging:
        return None
    paginator = catalog.paginators.get(paging["using"])
    merged = cast("PagedOperation", {**paginator, "items": None, **paging})
    kind = page_kind(merged["kind"])
    if missing := [key for key in kind.needs if not merged.get(key)]:
        raise DefinitionError(f"{call.id}: paginator {paging['using']!r} does not say {missing[0]!r}")
    size = merged.get("size")
    length = _find_parameter(call, size)
    greatest = int(length["maximum"]) if "maximum" in length else None
    in_body = _is_body_key(call, merged.get("send") or size)
    is_documented = any(param["name"] == size for param in call.params)
    return PagePlan(
        kind=kind,
        send=merged.get("send"),
        size=size if is_documented or in_body else None,  # what is not documented is not sent
        in_body=in_body,
        items=merged.get("items"),
        next=merged.get("next"),
        last=merged.get("last"),
        total=merged.get("total"),
        root=merged.get("root"),
        usual=int(length.get("default") or min(greatest or USUAL, USUAL)),
        greatest=greatest,
        largest=_smaller_limit(merged.get("largest"), greatest) if length else None,
        reads_headers=merged.get("reads") == "headers",
        first=merged.get("first", 1),
        unique=merged.get("unique"),
        fetch=merged.get("fetch"),
    )


def _smaller_limit(one: int | None, other: int | None) -> int | None:
    known = [number for number in (one, other) if number is not None]
    return min(known, default=None)


def _find_parameter(call: Call, name: str | None) -> OperationParam:
    found = [param for param in call.params if param["name"] == name]
    return found[0] if found else cast("OperationParam", {})


def _is_body_key(call: Call, name: str | None) -> bool:
    """The parameter is a key of the JSON body: the operation takes one and documents no such query parameter."""
    body = call.operation.get("body")
    return body is not None and is_json_media(body.get("media", "application/json")) and not _find_parameter(call, name)
