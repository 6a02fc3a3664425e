"""A next link out of a reply → the next request, to the same service only."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl, urljoin, urlsplit

from ...errors import CallsheetError
from ...urls import origin
from ..request.model import Request


def linked(request: Request, link: str, reply_url: str, root: str | None) -> Request:
    """`link` is absolute or relative: to `root` where the reply gives one, else to the reply's own URL.

    Of `root` only the path counts. Raises `CallsheetError`, before anything is sent, for another origin: a
    reply does not decide who gets the credential.
    """
    absolute = urljoin(request.origin, link) if urlsplit(link).netloc else None
    if absolute is not None:
        if origin(absolute) != request.origin:
            raise CallsheetError(
                f"{request.name}: the next page would be on {origin(absolute)}, which is not this site",
                hint="nothing was sent there",
            )
        path, query = urlsplit(absolute).path, urlsplit(absolute).query
    elif root is not None and link.startswith("/"):
        path, query = urlsplit(root).path.rstrip("/") + urlsplit(link).path, urlsplit(link).query
    else:
        parts = urlsplit(urljoin(reply_url, link))
        path, query = parts.path, parts.query
    inside = _below(path, urlsplit(request.root).path)
    return replace(request, path=inside, query=tuple(parse_qsl(query, keep_blank_values=True)))


def _below(path: str, base: str) -> str:
    """The path without the service's own base path, which a link may or may not repeat."""
    return path[len(base) :] if base and (path + "/").startswith(base + "/") else path
