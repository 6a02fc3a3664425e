"""The ways of asking for the next page: by offset, page, token, or the link that a reply names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

from ...errors import CallsheetError, UsageError
from ...urls import url_origin
from ..http.redact import Redactor
from ..http.reply import Reply
from ..request.model import Request
from .plan import PageKind
from .walk import Following, Walk

# Pages by a start index: the next one starts behind what was received.


def following_by_offset(walk: Walk, reply: Reply, told: Any) -> Following:
    """On by what was received, never by what was asked for; an empty page ends where the reply tells nothing."""
    request = reply.request
    last = walk.value(walk.plan.last, told)
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
    last = walk.value(walk.plan.last, told)
    walk.offset += walk.received
    if walk.received == 0 and last is False:
        raise CallsheetError(f"{reply.request.name}: page {walk.page} is empty and says that more would follow")
    is_whole = walk.start in (None, str(walk.plan.first))  # else it is not known how many went before
    is_all = is_whole and walk.total is not None and walk.offset >= walk.total
    if walk.received == 0 or last or (last is None and is_all):
        return None, None
    number = str(int(walk.position(reply.request) or walk.plan.first) + 1)
    return walk.request_at(reply.request, number), number


PAGE = PageKind(following_by_page, numbered=True)


# Pages by an opaque word that each reply gives for the next one.


_KINDS = {bool: "truth value", dict: "table", list: "list"}


def following_by_token(walk: Walk, reply: Reply, told: Any) -> Following:
    token = walk.value(walk.plan.next, told)
    if token is None or token == "" or walk.value(walk.plan.last, told):
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
    link = walk.value(walk.plan.next, told)
    if not link or walk.value(walk.plan.last, told):
        return None, None
    if not isinstance(link, str):
        raise CallsheetError(f"{request.name}: expected a link to the next page, not {type(link).__name__}")
    walk.repeats.check_cursor(link, walk.page + 1)
    found = next_request(request, link, reply.url, walk.value(walk.plan.root, told))
    walk.repeats.check_cursor(found.url, walk.page + 1)
    return found, dict(found.query).get(walk.plan.send or "", link)


LINK = PageKind(following_by_link, needs=("next",))
