"""Files of requests for `listener_load.lua`: 1.2 KB events with unique ids, signed, as tokens, or forged."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

SECRET = b"benchmark"
# More than a listener remembers, so that going through the file again meets no event that it knows.
COUNT = 110_000
TOKENS = 12_000


def id_of(number: int) -> str:
    """Not one after the other: most senders' ids are random, and an index over those costs more."""
    return f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}"


def event(number: int) -> bytes:
    body = {"user_id": 21070000000000145 + number, "course_id": number % 1000, "score": 71.5, "text": "x" * 1000}
    made = {"id": id_of(number), "event_type": "grade_change", "event_time": "2026-01-01T00:00:00Z", "body": body}
    return json.dumps(made).encode()


def event_of_many_fields(number: int) -> bytes:
    """As senders write them: no long text, thirty short values of several types."""
    kinds = (lambda place: number + place, lambda place: f"value {place}", lambda place: place * 1.5)
    body = {f"field_{place}": kinds[place % 3](place) for place in range(30)}
    made = {"id": id_of(number), "event_type": "grade_change", "event_time": "2026-01-01T00:00:00Z", "body": body}
    return json.dumps(made).encode()


def request(body: bytes, header: str = "") -> bytes:
    head = f"POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{header}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def signed(number: int) -> bytes:
    return _signed(event(number))


def signed_many_fields(number: int) -> bytes:
    return _signed(event_of_many_fields(number))


def signed_lists(count: int) -> Callable[[int], bytes]:
    def make(number: int) -> bytes:
        events = b", ".join(event_of_many_fields(number * count + place) for place in range(count))
        return _signed(b'{"events": [' + events + b"]}")

    return make


def _signed(body: bytes) -> bytes:
    return request(body, f"X-Lms-Signature: {hmac.digest(SECRET, body, 'sha256').hex()}\r\n")


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def tokens(key: rsa.RSAPrivateKey) -> Callable[[int], bytes]:
    head = encode(json.dumps({"alg": "RS256", "kid": "k1", "typ": "JWT"}).encode())

    def make(number: int) -> bytes:
        text = f"{head}.{encode(event(number))}"
        return request(f"{text}.{encode(key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}".encode())

    return make


def forged(number: int) -> bytes:
    head = encode(json.dumps({"alg": "RS256", "kid": f"forged-{number}"}).encode())
    return request(f"{head}.{encode(event(number))}.{'A' * 342}".encode())


def key_set(key: rsa.RSAPrivateKey) -> bytes:
    public = key.public_key().public_numbers()
    size = (public.n.bit_length() + 7) // 8
    entry = {"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig", "n": encode(public.n.to_bytes(size, "big"))}
    return json.dumps({"keys": [{**entry, "e": "AQAB"}]}).encode()


def write(path: Path, make: Callable[[int], bytes], count: int) -> Path:
    def pieces() -> Iterator[bytes]:
        for number in range(count):
            made = make(number)
            yield b"%8d" % len(made) + made

    with path.open("wb") as file:
        file.writelines(pieces())
    return path
