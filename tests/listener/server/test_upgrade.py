"""The offer to speak another protocol is left out of a head; everything else stays."""

from __future__ import annotations

import pytest

from callsheet.listener.server.upgrade import without_upgrade

HOST = (b"host", b"h")


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ([HOST], b"host: h\r\n"),
        (
            [HOST, (b"connection", b"Upgrade, HTTP2-Settings"), (b"upgrade", b"h2c"), (b"http2-settings", b"x")],
            b"host: h\r\n",
        ),
        ([(b"connection", b"close, Upgrade"), (b"upgrade", b"h2c"), HOST], b"connection: close\r\nhost: h\r\n"),
        ([(b"connection", b"keep-alive"), (b"x-upgrade", b"y")], b"connection: keep-alive\r\nx-upgrade: y\r\n"),
    ],
)
def test_what_is_left(headers: list[tuple[bytes, bytes]], kept: bytes) -> None:
    assert without_upgrade(b"POST", b"/x?y", "1.1", headers) == b"POST /x?y HTTP/1.1\r\n" + kept + b"\r\n"


def test_a_tunnel_is_no_request_to_answer() -> None:
    assert without_upgrade(b"CONNECT", b"h:1", "1.1", [HOST]) is None
