"""The answers a sender can get, made once."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

Message = dict[str, Any]


class Answer(tuple[Message, Message]):  # noqa: SLOT001 - a tuple with slots cannot be
    """The two messages of an ASGI response. `head` is the status line, `tail` all that follows the date."""

    head: bytes
    tail: bytes


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


def answer(status: int, body: bytes = b"", headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """A body is JSON unless a header says otherwise."""
    own = [(b"content-length", str(len(body)).encode()), *headers]
    if body and not any(name == b"content-type" for name, _ in headers):
        own.append((b"content-type", b"application/json"))
    made = Answer(
        (
            {"type": "http.response.start", "status": status, "headers": own},
            {"type": "http.response.body", "body": body},
        )
    )
    made.head = b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode())
    made.tail = b"".join(b"%s: %s\r\n" % header for header in own) + b"\r\n" + body
    return made


DONE = answer(200)
BY_STATUS: dict[int, Answer] = {status: answer(status, text) for status, text in _TEXTS.items()}
BY_STATUS[200] = DONE
BY_STATUS[503] = answer(503, _TEXTS[503], (_RETRY,))
DRAINING = answer(503, b'{"error":"stopping"}', (_RETRY, _CLOSE))
HEALTHY = answer(200, b'{"status":"ok"}')
READY = answer(200, b'{"status":"ready"}')
NOT_READY = answer(503, b'{"status":"not ready"}', (_RETRY,))


def not_allowed(methods: bytes) -> Answer:
    return answer(405, _TEXTS[405], ((b"allow", methods),))


def raw(status: int, phrase: bytes) -> bytes:
    """A whole response that ends its connection, for what never gets as far as a request."""
    body = _TEXTS[status]
    retry = b"retry-after: " + RETRY_AFTER + b"\r\n" if status == 503 else b""
    head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%sconnection: close\r\n\r\n"
    return head % (status, phrase, len(body), retry) + body
