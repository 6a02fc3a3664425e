"""Pages by an opaque word that each reply gives for the next one."""

from __future__ import annotations

from typing import Any

from ..http.reply import Reply
from .plan import PageKind
from .walk import Following, Walk


def following(walk: Walk, reply: Reply, told: Any) -> Following:
    token = walk.value(walk.plan.next, told)
    if token is None or token == "" or walk.value(walk.plan.last, told):
        return None, None
    walk.repeats.check_cursor(str(token), walk.page + 1)
    return walk.request_at(reply.request, str(token)), str(token)


TOKEN = PageKind(following, needs=("send", "next"))
