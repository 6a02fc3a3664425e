"""Routes that can never match are named with their reason, and no other is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.route_set import RouteSet, warnings_of_routes
from callsheet.listener.routes import RoutingTable, make_route

TYPES: dict[tuple[str, str], Any] = {("shop", "paid"): {}, ("shop", "refunded"): {}, ("bank", "moved"): {}}


def told(filters: list[str] | None = None, types: Any = TYPES, **definition: Any) -> list[str]:
    handler: Any = SimpleNamespace(concurrency_limits=())
    route = make_route("r", {"do": [{"handler": "append"}], **definition}, [handler], print)  # type: ignore[typeddict-item]
    found = warnings_of_routes(RouteSet(types, [route], RoutingTable(types, [route])), filters or [])
    assert all(text.startswith('route "r" can never match: ') for text in found)
    return [text.removeprefix('route "r" can never match: ') for text in found]


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"on": ["paid"]},
        {"on": ["pa*"], "source": ["shop"]},
        {"when": "body.a == `1`"},
        {"when": "payload.a || headers.b"},
        {"when": "event_type == 'paid'"},
        {"on": ["paid"], "when": "'paid' == event_type"},
        {"when": "body.a < `1`"},
        {"when": "body.a < 'x'"},
        {"when": "`true`"},
        {"when": "`0` < body.x"},
        {"when": "body.list[0].x"},
        {"when": "contains(body.a, 'x')"},
        {"when": "body.other == 'paid'"},
        {"on": ["paid"], "when": "event_type != 'moved'"},
    ],
)
def test_what_may_match_is_not_named(definition: dict[str, Any]) -> None:
    assert told(**definition) == []
    assert told(["paid"], **definition) == []


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ({"source": ["bank"], "on": ["paid"]}, "no source that is received sends such events"),
        ({"on": ["other"]}, "no source that is received sends such events"),
    ],
)
def test_what_cannot_match_is_named_with_its_reason(definition: dict[str, Any], reason: str) -> None:
    assert told(**definition) == [reason]


def test_a_filter_may_leave_nothing() -> None:
    assert told(["refunded", "mov*"], on=["paid"]) == ["--events leaves none of its types"]
    assert told(["refunded", "p*"], on=["paid"]) == []


def test_where_types_are_patterns_nothing_is_certain() -> None:
    open_ = {("shop", "*"): {}, ("bank", "moved"): {}}
    assert told(types=open_, on=["whatever"]) == []
    assert told(["other"], types=open_, on=["moved"]) == []
    assert told(types=open_, on=["*"], when="event_type == 'x'") == []
