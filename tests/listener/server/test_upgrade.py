"""The offer to speak another protocol is left out of a head; everything else stays."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from callsheet.listener.server.http_protocol import without_upgrade
from support.listening import listening

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


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_thousands_of_offers_in_one_piece_are_all_answered(tmp_path: Path) -> None:
    offer = b"GET /health HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n"
    last = b"GET /health HTTP/1.1\r\nConnection: close, upgrade\r\nUpgrade: a\r\n\r\n"
    with listening(tmp_path) as listener, listener.connect() as connection:
        sender = threading.Thread(target=connection.sendall, args=(offer * 4000 + last,))
        sender.start()
        received = b"".join(iter(lambda: connection.recv(65536), b""))
        sender.join()
        assert received.count(b"HTTP/1.1 200 OK") == 4001
        assert "internal" not in listener.err
