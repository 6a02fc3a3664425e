"""The figures of a listener, and those of several workers as one listener's."""

from __future__ import annotations

import json
from typing import Any

from callsheet.listener.telemetry.metrics import MergedMetrics, Metrics

PLAIN = "text/plain"


def counting(scale: int) -> Metrics:
    metrics = Metrics()
    metrics.start_registry()
    metrics.received = 3 * scale
    metrics.outcomes["lms", "accepted"] = 2 * scale
    metrics.rejected["signature"] = scale
    metrics.readings["depth"] = ("Waiting.", "state", lambda: {"waiting": 4.0 * scale, "dead": 0.0})
    metrics.readings["dropped_total"] = ("Lost.", "", lambda: {"": 5.0 * scale})
    metrics.readings["age_seconds"] = ("Age.", "", lambda: {"": 6.0 * scale})
    metrics.shared.add("depth")
    metrics.largest.add("age_seconds")
    metrics.observe_handler("r/1", 0.3, succeeded=True)
    metrics.observe_handler("r/1", 4.0 * scale, succeeded=False)
    return metrics


def values(page: bytes) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in page.decode().splitlines() if not line.startswith("#"))


def test_a_page_of_one() -> None:
    page, kind = counting(1).metrics_page(PLAIN)
    assert kind.startswith("text/plain")
    found = values(page)
    expected = {
        "listener_deliveries_received_total": "3.0",
        'listener_events_total{outcome="accepted",source="lms"}': "2.0",
        'listener_deliveries_rejected_total{reason="signature"}': "1.0",
        'listener_depth{state="waiting"}': "4.0",
        'listener_depth{state="dead"}': "0.0",
        "listener_dropped_total": "5.0",
        "listener_age_seconds": "6.0",
        'listener_handler_duration_seconds_count{handler="r/1",result="failed"}': "1.0",
        'listener_handler_duration_seconds_sum{handler="r/1",result="succeeded"}': "0.3",
    }
    assert {name: found.get(name) for name in expected} == expected
    buckets = [
        name for name in found if name.startswith("listener_handler_duration_seconds_bucket") and "failed" in name
    ]
    assert [name.partition('le="')[2].partition('"')[0] for name in buckets] == [
        "0.005", "0.02", "0.1", "0.5", "1.0", "2.0", "5.0", "10.0", "15.0", "+Inf",
    ]  # fmt: skip
    assert [found[name] for name in buckets] == ["0.0"] * 6 + ["1.0"] * 4
    assert b"# TYPE listener_depth gauge" in page
    assert b"# TYPE listener_dropped_total counter" in page or b"# TYPE listener_dropped counter" in page


def test_a_page_of_several_adds_up_what_is_not_shared() -> None:
    one, two = counting(1), counting(10)
    others: list[Any] = json.loads(json.dumps(two.current_families()))
    page, _ = one.merged_page(PLAIN, {0: one.current_families(), 1: others})
    found = values(page)
    expected = {
        "listener_deliveries_received_total": "33.0",
        'listener_events_total{outcome="accepted",source="lms"}': "22.0",
        'listener_depth{state="waiting"}': "4.0",
        "listener_dropped_total": "55.0",
        "listener_age_seconds": "60.0",
        'listener_handler_duration_seconds_count{handler="r/1",result="failed"}': "2.0",
    }
    assert {name: found.get(name) for name in expected} == expected
    collected = [name for name in found if name.startswith("python_gc_collections_total")]
    assert {'worker="0"' in name for name in collected} == {True, False}
    assert all("worker=" in name for name in found if name.startswith(("process_", "python_")))
    assert not any("worker=" in name for name in found if name.startswith("listener_"))


def test_what_only_one_worker_has_is_shown_as_it_is() -> None:
    families: dict[int, list[Any]] = {0: [], 1: [["x", "Help.", "gauge", [["x", {"a": "1"}, 2.0]]]]}
    (only,) = MergedMetrics(families, (), ("x",)).collect()
    assert [(sample.name, sample.labels, sample.value) for sample in only.samples] == [("x", {"a": "1"}, 2.0)]
    assert (only.name, only.documentation, only.type) == ("x", "Help.", "gauge")


def test_nothing_is_kept_where_nobody_looks() -> None:
    quiet = Metrics()
    quiet.observe_handler("r/1", 1.0, succeeded=True)
    assert quiet.current_families() == []
