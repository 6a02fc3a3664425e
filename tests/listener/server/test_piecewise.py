"""Pipelined requests cost a bounded amount of memory, and leave others their turn."""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading
from pathlib import Path

import pytest

from support.listening import Listener, event, listening
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

SMALL = b"GET / HTTP/1.1\r\n\r\n"
SLOW = '[route.slow]\ndo = [{ handler = "exec", run = ["sleep", "0.2"] }]\n'
MIB = 1024 * 1024


def post(body: bytes) -> bytes:
    return b"POST /webhook HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def answers(connection: socket.socket, data: bytes) -> bytes:
    """All that comes while this is sent, until the connection ends."""
    sender = threading.Thread(target=connection.sendall, args=(data,))
    sender.start()
    received = b"".join(iter(lambda: connection.recv(65536), b""))
    sender.join()
    return received


def test_many_small_requests_in_one_write_take_little_memory(tmp_path: Path) -> None:
    count = 40_000
    last = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
    with listening(tmp_path) as listener, listener.connect() as connection:
        connection.settimeout(PATIENCE)
        before = listener.memory()
        received = answers(connection, SMALL * (count - 1) + last)
        assert len(re.findall(rb"HTTP/1\.1 404 ", received)) == count
        assert listener.memory() - before < 16 * MIB


@pytest.mark.parametrize("sent", [SMALL, post(b"")], ids=["pages", "deliveries"])
def test_requests_whose_answers_nobody_reads_take_little_memory(tmp_path: Path, sent: bytes) -> None:
    with listening(tmp_path) as listener:
        before = listener.memory()
        connections = [flooded(listener, sent) for _ in range(12)]
        assert listener.request("GET", "/health").status == 200
        assert listener.memory() - before < 32 * MIB
        for each in connections:
            each.close()


def flooded(listener: Listener, sent: bytes) -> socket.socket:
    """A connection that takes no answers, and has taken all that it can of this."""
    connection = listener.connect()
    connection.settimeout(0.1)
    with contextlib.suppress(TimeoutError):
        connection.sendall(sent * (4 * MIB // len(sent)))
    return connection


def test_what_comes_while_an_answer_is_made_is_answered_in_order(tmp_path: Path) -> None:
    """Larger than one piece, behind deliveries that take a while, and the sender has closed its half."""
    bodies = [event("first"), event("second", pad="x" * 20_000), event("third", pad="y" * 300_000), b"{}"]
    with listening(tmp_path, routes=SLOW) as listener, listener.connect() as connection:
        connection.settimeout(PATIENCE)
        sender = threading.Thread(target=send_all, args=(connection, b"".join(map(post, bodies)) + SMALL))
        sender.start()
        received = b"".join(iter(lambda: connection.recv(65536), b""))
        sender.join()
        assert re.findall(rb"HTTP/1\.1 (\d+)", received) == [b"200", b"200", b"200", b"400", b"404"]


def send_all(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
