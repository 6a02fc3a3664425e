"""Pages by the URL of the next one, which each reply names."""

from __future__ import annotations

from typing import Any

from ...errors import CallsheetError
from ..http.reply import Reply
from .next_link import next_request
from .plan import PageKind
from .walk import Following, Walk


def following(walk: Walk, reply: Reply, told: Any) -> Following:
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


LINK = PageKind(following, needs=("next",))
