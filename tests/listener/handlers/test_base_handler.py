"""What all handlers share: their input, the variables they see, their limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.listener.handlers import HandlerContext
from callsheet.listener.handlers.base_handler import Base

ENVIRON = {"PATH": "/bin", "LMS_SECRET": "a", "LMS_QUEUE_CREDENTIALS": "b", "SUITE_TOKEN": "c"}
HIDDEN = frozenset({"LMS_SECRET", "LMS_QUEUE_CREDENTIALS", "SUITE_TOKEN", "NOT_SET"})
EVENT: Any = SimpleNamespace(data=b"as it came", record_text='{"id": "\u00fc"}', payload_text='{"b": 1}')


def handler(**table: Any) -> Base:
    context: Any = HandlerContext("", ENVIRON, HIDDEN, lambda _: None, 10.0, lambda *_: 0)
    return Base({"handler": "exec", **table}, context)  # type: ignore[typeddict-item]  # keys of a kind


@pytest.mark.parametrize(
    ("chosen", "data"),
    [
        (None, b'{"id": "\xc3\xbc"}\n'),
        ("event", b'{"id": "\xc3\xbc"}\n'),
        ("payload", b'{"b": 1}\n'),
        ("raw", b"as it came"),
        ("none", b""),
    ],
)
def test_its_input_is_what_was_chosen(chosen: str | None, data: bytes) -> None:
    assert handler(**({} if chosen is None else {"input": chosen})).input_of(EVENT) == data


@pytest.mark.parametrize(
    ("secrets", "prefix", "seen"),
    [
        ([], None, {"PATH"}),
        (["LMS_SECRET"], None, {"PATH", "LMS_SECRET"}),
        ([], "SUITE", {"PATH", "SUITE_TOKEN"}),
        (["LMS_SECRET"], "SUITE", {"PATH", "LMS_SECRET", "SUITE_TOKEN"}),
        ([], "SUI", {"PATH"}),
    ],
)
def test_it_sees_no_secret_but_those_that_are_its_own(secrets: list[str], prefix: str | None, seen: set[str]) -> None:
    assert handler(secrets=secrets).variables_for_handler(prefix) == {name: ENVIRON[name] for name in seen}


def test_a_secret_that_is_not_set_is_named() -> None:
    with pytest.raises(UsageError, match="handler 'exec': secrets: A is not set"):
        handler(secrets=["LMS_SECRET", "B", "A"]).variables_for_handler()


def test_its_limits_are_its_own_or_those_of_all() -> None:
    plain, own = handler(), handler(timeout="2s", concurrency=3)
    assert (plain.timeout, plain.concurrency_limits) == (10.0, ())
    assert (own.timeout, [limit.limit for limit in own.concurrency_limits]) == (2.0, [3])
    assert (plain.overdue_runs, plain.is_stuck, plain.configuration_warnings()) == (0, False, [])
