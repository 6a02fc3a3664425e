"""The measure of comparison: an ASGI application that checks a signature, reads the JSON and answers, no more."""

from __future__ import annotations

import hmac
import json
import sys
from typing import Any

import uvicorn

SECRET = b"benchmark"
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
REFUSED = {"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]}
BODY = {"type": "http.response.body", "body": b""}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message["more_body"]:
            break
    given = next((value for name, value in scope["headers"] if name == b"x-lms-signature"), b"")
    genuine = hmac.compare_digest(hmac.digest(SECRET, body, "sha256").hex().encode(), given)
    if genuine:
        json.loads(body)
    await send(START if genuine else REFUSED)
    await send(BODY)


if __name__ == "__main__":
    uvicorn.run(
        app, port=int(sys.argv[1]), loop="uvloop", http="httptools", access_log=False, lifespan="off", log_level="error"
    )
