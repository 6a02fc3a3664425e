"""What goes to the network, and in how many pieces."""

from __future__ import annotations

from typing import Any

import httpcore
import pytest

from callsheet.client.http.connections import TimedStream

HEAD = b"PUT / HTTP/1.1\r\nHost: a\r\n\r\n"


class Wire(httpcore.NetworkStream):
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.written.append(buffer)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return b""

    def get_extra_info(self, info: str) -> Any:
        return None


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        ([HEAD, b"body", b""], [HEAD + b"body", b""]),
        ([HEAD, b""], [HEAD]),
        ([HEAD], [HEAD]),
        ([HEAD, b"one", b"two\r\n\r\n", b"", HEAD, b""], [HEAD + b"one", b"two\r\n\r\n", HEAD]),
        ([HEAD, HEAD, b""], [HEAD + HEAD, b""]),
    ],
)
def test_a_head_goes_with_what_follows_it(pieces: list[bytes], written: list[bytes]) -> None:
    """Else every request with a body would be two packets, and the service would wake up twice."""
    wire = Wire()
    stream = TimedStream(wire)
    for piece in pieces:
        stream.write(piece, 1.0)
    stream.read(1, 1.0)
    assert wire.written == written
