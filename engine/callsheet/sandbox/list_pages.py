"""A page of a list, in the way that the operation's own definition says how pages are asked for."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ..client.pagination.paging_plan import page_kind
from .entities import RefusedError

if TYPE_CHECKING:
    from ..language.shape.rest import PaginatorDefinition


_USUAL, _MOST = 50, 5000


class Window(NamedTuple):
    """Which items are asked for."""

    start: int
    size: int


def page_window(paginator: PaginatorDefinition, params: Mapping[str, Any], most: int | None) -> Window:
    """Raises `RefusedError` for what is no number or no token of ours."""
    size = _number_in_query(params, paginator.get("size"), most or _USUAL)
    sent = params.get(paginator.get("send", ""))
    kind = page_kind(paginator["kind"])
    if kind.numbered or _numbers_links(paginator):
        start = (max(_number_in_query(params, paginator.get("send"), 1), 1) - 1) * size
    elif kind.counted:
        start = _number_in_query(params, paginator.get("send"), 0)
    else:
        start = _position_of_token(sent) if sent else 0
    return Window(start, min(size, most or _MOST))


def _numbers_links(paginator: PaginatorDefinition) -> bool:
    """Whether links to pages name them by numbers: those in headers do."""
    return paginator["kind"] == "link" and paginator.get("reads") == "headers"


def _number_in_query(params: Mapping[str, Any], name: str | None, usual: int) -> int:
    given = params.get(name) if name else None
    if given in (None, ""):
        return usual
    text = str(given)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RefusedError(400, f"{name} is not a number: {text}")
    return int(text)


def page_token(start: int) -> str:
    """The word that asks for the items from `start` on: nothing that a client could make up by counting."""
    return base64.urlsafe_b64encode(f"items {start}".encode()).decode().rstrip("=")


def _position_of_token(text: Any) -> int:
    try:
        word, _, number = base64.urlsafe_b64decode(f"{text}==").decode().partition(" ")
        if word == "items" and number.isdigit():
            return int(number)
    except ValueError:
        pass
    raise RefusedError(400, "the page token is not valid")


def page_facts(
    paginator: PaginatorDefinition,
    asked: Window,
    items: list[Any],
    total: int,
    path: str,
    query: Iterable[tuple[str, str]],
) -> dict[str, Any]:
    """What the table that a page stands in may tell of it."""
    after = asked.start + len(items)
    is_last = after >= total
    next_token = None if is_last else page_token(after)
    link = None
    if next_token:
        place: Any = next_token if paginator["kind"] == "link" else after
        place = after // asked.size + 1 if _numbers_links(paginator) else place
        send = paginator.get("send", "cursor")
        pairs = [*(pair for pair in query if pair[0] != send), (send, str(place))]
        link = path + "?" + "&".join(f"{quote(name)}={quote(value)}" for name, value in pairs)
    return {
        "items": items,
        "start": asked.start,
        "size": asked.size,
        "count": len(items),
        "total": total,
        "last": is_last,
        "next": next_token,
        "after": None if is_last else after,
        "link": link,
    }
