"""What a dry run gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from ..client.request.model import Request


class PlannedRequest(NamedTuple):
    """A request that a dry run would have sent. `curl` is a command that sends it, credentials redacted."""

    method: str
    url: str
    body: Any
    curl: str

    @classmethod
    def of(cls, request: Request, url: str, curl: str) -> Self:
        from ..client.request.model import Form, Json

        match request.body:
            case Json(value=value):
                body = value
            case Form(pairs=pairs):
                body = dict(pairs)
            case _:
                body = None
        return cls(request.method, url, body, curl)
