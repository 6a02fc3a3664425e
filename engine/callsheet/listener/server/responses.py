"""The answers a sender can get, made once."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

Message = dict[str, Any]


class Response(tuple[Message, Message]):  # noqa: SLOT001 - a tuple with slots cannot be
    """The two messages of an ASGI response. `head` is the status line, `tail` all that follows the date.

    `closes` tells whether it says that the connection ends.
    """

    head: bytes
    tail: bytes
    closes: bool
    _date: bytes | None = None
    _raw: bytes

    def with_date(self, date: bytes) -> bytes:
        """As it is written; many are in the same second."""
        if self._date is not date:
            self._raw = b"%sdate: %s\r\n%s" % (self.head, date, self.tail)
            self._date = date
        return self._raw

    def with_close(self, date: bytes) -> bytes:
        """The same, saying that it is the last of its connection."""
        end = b"" if self.closes else b"connection: close\r\n"
        return b"%sdate: %s\r\n%s%s" % (self.head, date, end, self.tail)


RETRY_AFTER = b"5"
_CLOSE = (b"connection", b"close")
_RETRY = (b"retry-after", RETRY_AFTER)

_TEXTS = {
    400: b'{"error":"not an event"}',
    401: b'{"error":"not genuine"}',
    404: b'{"error":"nothing here"}',
    405: b'{"error":"method not allowed"}',
    408: b'{"error":"too slow"}',
    413: b'{"error":"body too large"}',
    415: b'{"error":"encoded bodies are not accepted"}',
    431: b'{"error":"headers too large"}',
    500: b'{"error":"handling failed"}',
    503: b'{"error":"busy"}',
}


def make_response(status: int, body: bytes = b"", headers: tuple[tuple[bytes, bytes], ...] = ()) -> Response:
    """A body is JSON unless a header says otherwise. A 204 has no length (RFC 9110, section 8.6)."""
    length = () if status == HTTPStatus.NO_CONTENT else ((b"content-length", str(len(body)).encode()),)
    lines = [*length, *headers]
    if body and not any(name == b"content-type" for name, _ in headers):
        lines.append((b"content-type", b"application/json"))
    response = Response(
        (
            {"type": "http.response.start", "status": status, "headers": lines},
            {"type": "http.response.body", "body": body},
        )
    )
    response.closes = _CLOSE in headers
    response.head = b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode())
    response.tail = b"".join(b"%s: %s\r\n" % header for header in lines) + b"\r\n" + body
    return response


OK = int(HTTPStatus.OK)
DONE = make_response(OK)
BY_STATUS: dict[int, Response] = {status: make_response(status, text) for status, text in _TEXTS.items()}
BY_STATUS[200] = DONE
BY_STATUS[503] = make_response(503, _TEXTS[503], (_RETRY,))
DRAINING = make_response(503, b'{"error":"stopping"}', (_RETRY, _CLOSE))
HEALTHY = make_response(200, b'{"status":"ok"}')
READY = make_response(200, b'{"status":"ready"}')
NOT_READY = make_response(503, b'{"status":"not ready"}', (_RETRY,))


def success_response(status: int) -> Response:
    """The answer to an event that was accepted, as its sender expects it."""
    return DONE if status == OK else make_response(status)


def challenge_response(body: bytes, content_type: bytes) -> Response:
    """What a sender asked for is shown as it is, and is never taken for a page (`nosniff`). Nothing is a 204."""
    headers = ((b"content-type", content_type), (b"x-content-type-options", b"nosniff"))
    return make_response(OK, body, headers) if body else make_response(HTTPStatus.NO_CONTENT)


def not_allowed(methods: bytes) -> Response:
    return make_response(405, _TEXTS[405], ((b"allow", methods),))


def connection_close_response(status: int, phrase: bytes) -> bytes:
    """A whole response that ends its connection, for what never gets as far as a request."""
    body = _TEXTS[status]
    retry = b"retry-after: " + RETRY_AFTER + b"\r\n" if status == 503 else b""
    head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%sconnection: close\r\n\r\n"
    return head % (status, phrase, len(body), retry) + body


LAST_BAD = connection_close_response(400, b"Bad Request")
LAST_TOO_SLOW = connection_close_response(408, b"Request Timeout")
LAST_TOO_LARGE = connection_close_response(413, b"Content Too Large")
LAST_HEADERS_TOO_LARGE = connection_close_response(431, b"Request Header Fields Too Large")
LAST_BUSY = connection_close_response(503, b"Service Unavailable")
