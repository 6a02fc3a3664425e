"""How long each phase of a connection may take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.server import http_protocol as protocol
from callsheet.listener.server.http_protocol import LimitedProtocol

LIMITS = SimpleNamespace(header_timeout=10.0, body_timeout=15.0, idle_timeout=60.0)


@pytest.mark.parametrize(
    ("phase", "limit", "then"),
    [
        ("HEADERS", 10.0, "408 headers_too_slow"),
        ("BODY", 15.0, "408 body_too_slow"),
        ("IDLE", 60.0, "close"),
        ("IDLE with answers that nobody reads", 60.0, "abort"),
        ("CLOSING", 2.0, "abort"),
        ("RESPONDING", 1000.0, None),
    ],
)
def test_a_sender_is_parted_with_when_its_time_is_over(phase: str, limit: float, then: str | None) -> None:
    done: list[str] = []
    name, _, is_unread = phase.partition(" ")
    transport = SimpleNamespace(
        close=lambda: done.append("close"),
        abort=lambda: done.append("abort"),
        get_write_buffer_size=lambda: len(is_unread),
    )
    here: Any = SimpleNamespace(
        phase=getattr(protocol, name), phase_start=5.0, limits=LIMITS, transport=transport,
        full_since=None, is_held=lambda: False, close_idle=lambda: LimitedProtocol.close_idle(here),
        refuse_request=lambda status, why, _: done.append(f"{status} {why}"),
    )  # fmt: skip
    LimitedProtocol.close_if_slow(here, 5.0 + limit)
    assert done == []
    LimitedProtocol.close_if_slow(here, 5.125 + limit)
    assert done == ([then] if then else [])


def test_a_sender_that_takes_no_answers_is_parted_with() -> None:
    done: list[str] = []
    transport = SimpleNamespace(abort=lambda: done.append("abort"))
    here: Any = SimpleNamespace(
        phase=protocol.RESPONDING, phase_start=5.0, limits=LIMITS, transport=transport, full_since=7.0
    )
    LimitedProtocol.close_if_slow(here, 67.0)
    assert done == []
    LimitedProtocol.close_if_slow(here, 67.125)
    assert done == ["abort"]


@pytest.mark.parametrize("phase", [protocol.HEADERS, protocol.BODY])
def test_time_in_which_nothing_was_read_does_not_count(phase: int) -> None:
    held = [True]
    refused: list[str] = []
    here: Any = SimpleNamespace(
        phase=phase, phase_start=5.0, limits=LIMITS, full_since=None, is_held=lambda: held[0],
        refuse_request=lambda _, why, __: refused.append(why),
    )  # fmt: skip
    LimitedProtocol.close_if_slow(here, 25.0)
    held[0] = False
    LimitedProtocol.close_if_slow(here, 30.0)
    assert refused == []
    LimitedProtocol.close_if_slow(here, 45.0)
    assert len(refused) == 1


@pytest.mark.parametrize(
    ("value", "limit", "over"),
    [(b"10", 10, False), (b"11", 10, True), (b"9" * 18, 10**18, False), (b"1" * 19, 10**30, True), (b"x", 1, False)],
)
def test_a_length_that_is_announced(value: bytes, limit: int, over: bool) -> None:
    assert protocol._exceeds_limit(value, limit) is over
