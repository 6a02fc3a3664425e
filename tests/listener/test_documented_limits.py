"""The numbers that the pages about the listener promise are those that the engine has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.durations import duration_seconds
from callsheet.listener import byte_budget as budget
from callsheet.listener import supervisor
from callsheet.listener.handlers import exec_handler as process
from callsheet.listener.handlers import process_start as start_queue
from callsheet.listener.handlers.target import RetrySchedule
from callsheet.listener.queue.jetstream import jetstream_queue
from callsheet.listener.queue.sqlite import file_queue as sqlite_queue
from callsheet.listener.queue.sqlite import inbox_writer
from callsheet.listener.verify import key_set as fetch
from callsheet.listener.verify import key_set as keyset
from support.cases import nobody
from support.places import ROOT


@pytest.fixture(scope="module")
def definition(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    catalog = open_catalog("lms", nobody(tmp_path_factory))
    try:
        return catalog.listeners.get("webhook")
    finally:
        catalog.close()


def own(key: str, unit: float = 1) -> Callable[[Mapping[str, Any]], float]:
    def read(definition: Mapping[str, Any]) -> float:
        value = definition[key]
        return (duration_seconds(value) if isinstance(value, str) else value) / unit

    return read


def is_(value: float) -> Callable[[Mapping[str, Any]], float]:
    return lambda _: value


PROMISED: list[tuple[str, str, Callable[[Mapping[str, Any]], float]]] = [
    ("listener", r"Headers must be complete within (\d+) s", own("header_timeout")),
    ("listener", r"A body must be complete within (\d+) s", own("body_timeout")),
    ("listener", r"An idle connection is closed after (\d+) s", own("idle_timeout")),
    ("listener", r"Headers may have\s+(\d+) KiB", own("max_header", 1024)),
    ("listener", r"(\d+) connections may be open", own("max_connections")),
    ("verification", r"the set is fetched at once, but not more often than every (\d+) s", is_(keyset.COOLDOWN)),
    ("routes", r"`timeout` \((\d+) s\)", own("timeout")),
    ("listener", r"let running handlers finish for up to (\d+) s", own("drain_timeout")),
    ("routes", r"The first (\d+) KiB of its output", is_(process.MAX_OUTPUT / 1024)),
    ("routes", r"a start waits up to (\d+) ms", is_(start_queue.MAX_DELAY * 1000)),
    ("listener", r"nobody for (\d+) s", is_(supervisor.HUNG_AFTER * supervisor.LOOK_EVERY)),
    ("listener", r"Deliveries may take (\d+) MiB", is_(budget.DEFAULT / 2**20)),
    ("delivery", r"usually\s+(\d+) milliseconds of them at most", is_(inbox_writer.MAX_DELAY * 1000)),
    ("delivery", r"can take up to (\d+) s longer,", is_(fetch.TIMEOUT)),
    ("delivery", r"up to (\d+) s\s+longer with `--workers`", is_(fetch.TIMEOUT + 2 * keyset.LOCK_TIMEOUT)),
    ("delivery", r"the last (\S+), for a day", own("dedup_size")),
    ("delivery", r"A handler has (\d+) s", own("timeout")),
    ("delivery", r"waits at most (\d+) s for a place", own("queue_timeout")),
    ("delivery", r"senders get 503 within (\d+) s", own("put_timeout")),
    ("delivery", r"to (\d+) s, then after twice that", own("backoff")),
    ("delivery", r"up to an hour. After (\d+) attempts the event is dead", own("max_attempts")),
    ("delivery", r"renews its claim every (\d+) s", is_(sqlite_queue.HEARTBEAT)),
    ("delivery", r"stopped\s+for longer than (\d+) s", is_(sqlite_queue.LEASE)),
    ("delivery", r"handles its events after at most (\d+) s", is_(sqlite_queue.LEASE + sqlite_queue.HEARTBEAT)),
    ("delivery", r"does not answer within (\d+) s", is_(jetstream_queue.TIMEOUT)),
]


@pytest.mark.parametrize(("page", "words", "value"), PROMISED, ids=lambda part: part if isinstance(part, str) else "")
def test_a_number_in_the_documentation_holds(
    page: str, words: str, value: Callable[[Mapping[str, Any]], float], definition: Mapping[str, Any]
) -> None:
    (number,) = re.findall(words, (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert float(number.replace(",", "")) == value(definition)


def test_limits_that_the_documentation_says_in_words(definition: Mapping[str, Any]) -> None:
    assert process.TERMINATE_TIMEOUT == 1.0, "another second to end"
    assert duration_seconds(definition["dedup_window"]) == 24 * 3600, "for a day"
    assert duration_seconds(definition["backoff_max"]) == 3600, "up to an hour"


def test_a_failed_run_waits_twice_as_long_each_time_up_to_a_bound() -> None:
    schedule = RetrySchedule(100, 5.0, 3600.0)
    for attempts in range(1, 100):
        whole = min(3600.0, 5.0 * 2 ** (attempts - 1))
        waits = [schedule.delay_after(attempts, 0.0) or 0.0 for _ in range(50)]
        assert whole / 2 <= min(waits) < max(waits) <= whole
