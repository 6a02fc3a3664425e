"""Which events meet which routes: by type, by source, by condition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.listener.routing.route import RoutingTable, accepts, make_route

SOURCES = ("shop", "bank")
TYPES = {(source, type_): {} for source in SOURCES for type_ in ("paid", "refunded")}


def event(source: str, type_: str, **body: Any) -> Any:
    return SimpleNamespace(source=SimpleNamespace(name=source), type=type_, fast_scope={"body": body})


def met(definitions: dict[str, dict[str, Any]], *events: Any, types: Any = TYPES) -> list[set[str]]:
    handler: Any = SimpleNamespace(concurrency_limits=())
    routes = [
        make_route(name, {"do": [{"handler": "append"}], **definition}, [handler])  # type: ignore[typeddict-item]
        for name, definition in definitions.items()
    ]
    table = RoutingTable(types, routes)
    return [{job.id.partition("/")[0] for job in table.jobs(table.plan(each), each)} for each in events]


def test_a_route_is_for_the_sources_that_it_names() -> None:
    routes = {"all": {}, "shop": {"source": ["shop"]}, "bank": {"source": ["bank"]}, "both": {"source": [*SOURCES]}}
    shop, bank = met(routes, event("shop", "paid"), event("bank", "paid"))
    assert shop == {"all", "shop", "both"}
    assert bank == {"all", "bank", "both"}


@given(
    named=st.none() | st.lists(st.sampled_from(SOURCES), min_size=1),
    on=st.none() | st.lists(st.sampled_from(["paid", "re*", "*", "other"])),
    source=st.sampled_from(SOURCES),
    type_=st.sampled_from(["paid", "refunded"]),
)
def test_source_and_type_both_have_to_fit(
    named: list[str] | None, on: list[str] | None, source: str, type_: str
) -> None:
    definition: Any = {name: value for name, value in (("source", named), ("on", on)) if value is not None}
    fits = {"paid": {"paid", "*"}, "refunded": {"re*", "*"}}[type_]
    wanted = (named is None or source in named) and (on is None or bool(fits & {*on}))
    assert accepts(definition, source, type_) is wanted
    assert met({"r": definition}, event(source, type_)) == [{"r"} if wanted else set()]


@pytest.mark.parametrize(("body", "wanted"), [({"order": 1}, True), ({"order": None}, False), ({}, False)])
def test_what_an_event_of_a_type_requires(body: dict[str, Any], wanted: bool) -> None:
    types: Any = {("shop", "paid"): {"requires": "body.order"}, ("shop", "*"): {}}
    table = RoutingTable(types, [])
    plan = table.plan(event("shop", "paid"))
    assert plan.requires is not None
    assert plan.requires(event("shop", "paid", **body).fast_scope) is wanted
    assert table.plan(event("shop", "other")).requires is None
