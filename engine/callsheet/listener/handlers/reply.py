"""The answer that a route makes: of the event, and of what its handler gave."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import DefinitionError
from ...language.template import fill_template, to_text
from . import MAX_RESULT, HandlerFailed
from .content import encode_content, fill_headers

if TYPE_CHECKING:
    from ...language.shape.listener import ReplyDefinition
    from ..verify.event import Event

_SET_BY_THE_SERVER = {"connection", "content-length", "date", "keep-alive", "trailer", "transfer-encoding", "upgrade"}
_STATUSES = {int(status) for status in HTTPStatus if 200 <= status < 300 or status >= 400}
_WITHOUT_BODY = {HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT}


class MadeReply(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    @property
    def accepts(self) -> bool:
        """Whether the sender is told that its event is dealt with."""
        return self.status < 300


class RouteReply:
    """Raises `DefinitionError` for what no answer can have."""

    def __init__(self, table: ReplyDefinition) -> None:
        self._status = table.get("status", int(HTTPStatus.OK))
        self._headers = {name.lower(): text for name, text in table.get("headers", {}).items()}
        self._body = table.get("body")
        if taken := sorted(_SET_BY_THE_SERVER & self._headers.keys()):
            raise DefinitionError(f"headers: {taken[0]!r} is set by the program")
        if "{" not in str(self._status):
            try:
                self._check(self._status, b"" if self._body is None else b"some")
            except HandlerFailed as failed:
                raise DefinitionError(str(failed).removeprefix("reply: ")) from None

    def make(self, event: Event, result: Any) -> MadeReply:
        """`result` is what the handler gave. Raises `HandlerFailed` for what cannot be sent."""
        scope = {**event.scope, "result": result}
        body, content_type = encode_content(fill_template(self._body, scope))
        headers = {b"content-type": content_type} if body else {}
        headers |= {b"x-content-type-options": b"nosniff", **fill_headers(self._headers, scope)}
        size = len(body) + sum(len(name) + len(value) for name, value in headers.items())
        if size > MAX_RESULT:
            raise HandlerFailed(f"reply: {size} bytes, more than {MAX_RESULT}")
        return MadeReply(self._check(fill_template(self._status, scope), body), body, tuple(headers.items()))

    @staticmethod
    def _check(status: Any, body: bytes) -> int:
        number = int(status) if isinstance(status, str) and status.isascii() and status.isdigit() else status
        if type(number) is not int or number not in _STATUSES:
            raise HandlerFailed(
                f"reply: status: expected a status of HTTP, 200 to 299 or 400 to 599, not {to_text(status)[:40]!r}"
            )
        if body and number in _WITHOUT_BODY:
            raise HandlerFailed(f"reply: an answer {number} has no body")
        return number
