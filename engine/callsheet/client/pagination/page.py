"""Pages by their number, where the reply need not tell how many there are."""

from __future__ import annotations

from typing import Any

from ...errors import CallsheetError
from ..http.reply import Reply
from .plan import PageKind
from .walk import Following, Walk


def following(walk: Walk, reply: Reply, told: Any) -> Following:
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


PAGE = PageKind(following, numbered=True)
