"""Pages by a start index: the next one starts behind what was received."""

from __future__ import annotations

from typing import Any

from ...errors import CallsheetError
from ..http.reply import Reply
from .plan import PageKind
from .walk import Following, Walk


def following(walk: Walk, reply: Reply, told: Any) -> Following:
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


OFFSET = PageKind(following, counted=True, ahead=True)
ARRAY = PageKind(following, counted=True, bare=True)
