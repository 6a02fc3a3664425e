"""Pages by an opaque word that each reply gives for the next one."""

from __future__ import annotations

from typing import Any

from ...errors import CallsheetError
from ..http.reply import Reply
from .plan import PageKind
from .walk import Following, Walk

_KINDS = {bool: "truth value", dict: "table", list: "list"}


def following(walk: Walk, reply: Reply, told: Any) -> Following:
    token = walk.value(walk.plan.next, told)
    if token is None or token == "" or walk.value(walk.plan.last, told):
        return None, None
    if isinstance(token, bool) or not isinstance(token, str | int):
        shown = f"{walk.plan.next!r} of the answer is a {_KINDS.get(type(token), 'number')}"
        raise CallsheetError(f"{reply.request.name}: expected the word for the next page, but {shown}")
    walk.repeats.check_cursor(str(token), walk.page + 1)
    return walk.request_at(reply.request, str(token)), str(token)


TOKEN = PageKind(following, needs=("send", "next"))
