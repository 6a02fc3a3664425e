"""Connections that nothing comes by any more."""

from __future__ import annotations

from typing import Any, cast

import pytest

from callsheet.listener.server.http_protocol import IDLE, RESPONDING, LimitedProtocol


class Transport:
    """What was done to it; `unread` bytes wait for the sender."""

    def __init__(self, unread: int) -> None:
        self.unread = unread
        self.done: list[str] = []

    def get_write_buffer_size(self) -> int:
        return self.unread

    def close(self) -> None:
        self.done.append("close")

    def abort(self) -> None:
        self.done.append("abort")


class Limits:
    idle_timeout = 60.0


@pytest.mark.parametrize(
    ("phase", "unread", "now", "done"),
    [
        (IDLE, 0, 61, ["close"]),
        (IDLE, 100, 61, ["abort"]),  # closing waits until all was read, which may be never
        (IDLE, 100, 59, []),
        (RESPONDING, 0, 61, []),
    ],
)
def test_a_silent_connection_ends_whether_or_not_its_answers_were_read(
    phase: int, unread: int, now: float, done: list[str]
) -> None:
    connection = LimitedProtocol.__new__(LimitedProtocol)
    transport = Transport(unread)
    connection.transport, connection.limits = cast("Any", transport), cast("Any", Limits)
    connection.phase, connection.phase_start = phase, 0.0
    connection.close_if_slow(now)
    assert transport.done == done
