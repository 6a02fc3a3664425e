"""The measures of comparison, no more than has to be done.

`listener_bare.py PORT`: an ASGI application that checks a signature, reads the JSON and answers.
`listener_bare.py start SECONDS`: programs that do nothing, started one after the other; prints how many a second.
"""

from __future__ import annotations

import hmac
import json
import os
import shutil
import sys
import time
from typing import Any

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


def serve(port: int) -> None:
    import uvicorn

    uvicorn.run(app, port=port, loop="uvloop", http="httptools", access_log=False, lifespan="off", log_level="error")


def start_programs(seconds: float) -> float:
    program, started, count = shutil.which("true") or "true", time.perf_counter(), 0
    while (took := time.perf_counter() - started) < seconds:
        os.waitpid(os.posix_spawn(program, ["true"], os.environ, setpgroup=0), 0)
        count += 1
    return count / took


if __name__ == "__main__":
    if sys.argv[1] == "start":
        print(start_programs(float(sys.argv[2])))
    else:
        serve(int(sys.argv[1]))
