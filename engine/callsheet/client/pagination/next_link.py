"""A next link out of a reply → the next request, to the same service only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

from ...errors import CallsheetError, UsageError
from ...urls import url_origin
from ..http.redact import Redactor
from ..request.model import Request

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
