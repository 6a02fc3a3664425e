"""A key set server that can be told how to behave, and tokens that it proves or does not."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa


@functools.cache
def private_key(number: int = 0) -> rsa.RSAPrivateKey:
    """Made once for each number; they take long to make."""
    del number
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def jwk(kid: str | None, key: rsa.RSAPrivateKey | None = None, **more: Any) -> dict[str, Any]:
    public = (key or private_key()).public_key().public_numbers()
    plain = {"kty": "RSA", "kid": kid, "alg": "RS256", "use": "sig", "n": number(public.n), "e": number(public.e)}
    return {name: value for name, value in {**plain, **more}.items() if value is not None}


def token(claims: Any, kid: Any = "k1", key: rsa.RSAPrivateKey | None = None, **header: Any) -> str:
    head = {"alg": "RS256", "kid": kid, "typ": "JWT", **header}
    head = {name: value for name, value in head.items() if value is not None}
    signed = f"{encode(json.dumps(head).encode())}.{encode(json.dumps(claims).encode())}"
    made = (key or private_key()).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{encode(made)}"


class KeyServer:
    """`keys` is what it lists; `status`, `delay`, `body` and `location` override how it answers."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys = list(keys)
        self.status = 200
        self.delay = 0.0
        self.body: bytes | None = None
        self.location: str | None = None
        self.fetches = 0
        self.url = ""

    def answer(self) -> bytes:
        return json.dumps({"keys": self.keys}).encode() if self.body is None else self.body


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


@contextlib.contextmanager
def key_server(*keys: dict[str, Any], port: int = 0) -> Iterator[KeyServer]:
    state = KeyServer(*keys)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.fetches += 1
            time.sleep(state.delay)
            body = state.answer()
            with contextlib.suppress(OSError):
                self.send_response(state.status)
                if state.location:
                    self.send_header("Location", state.location)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = _Server(("127.0.0.1", port), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/jwks.json"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
