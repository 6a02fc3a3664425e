"""Which events meet which routes: by type, by source, by condition."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.catalog.catalog import open_catalog
from callsheet.errors import UsageError
from callsheet.listener import route_set
from callsheet.listener.handlers import HandlerContext
from callsheet.listener.route_set import RouteSelection, read_routes
from callsheet.listener.routes import RoutingTable, check_event_types, is_for_type, make_route, split_commas

SOURCES = ("shop", "bank")
TYPES = {(source, type_): {} for source in SOURCES for type_ in ("paid", "refunded")}


def event(source: str, type_: str, **body: Any) -> Any:
    return SimpleNamespace(source=SimpleNamespace(name=source), type=type_, fast_scope={"body": body})


def met(definitions: dict[str, dict[str, Any]], *events: Any, types: Any = TYPES) -> list[set[str]]:
    handler: Any = SimpleNamespace(concurrency_limits=())
    routes = [
        make_route(name, {"do": [{"handler": "append"}], **definition}, [handler], print)  # type: ignore[typeddict-item]
        for name, definition in definitions.items()
    ]
    table = RoutingTable(types, routes)
    return [
        {job.id.partition("/")[0] for job in table.jobs_for_event(table.plan_of_event(each), each)} for each in events
    ]


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
    assert is_for_type(definition, source, type_) is wanted
    assert met({"r": definition}, event(source, type_)) == [{"r"} if wanted else set()]


@pytest.mark.parametrize(("body", "wanted"), [({"order": 1}, True), ({"order": None}, False), ({}, False)])
def test_what_an_event_of_a_type_requires(body: dict[str, Any], wanted: bool) -> None:
    types: Any = {("shop", "paid"): {"requires": "body.order"}, ("shop", "*"): {}}
    table = RoutingTable(types, [])
    plan = table.plan_of_event(event("shop", "paid"))
    assert plan.requires is not None
    assert plan.requires(event("shop", "paid", **body).fast_scope) is wanted
    assert table.plan_of_event(event("shop", "other")).requires is None


@pytest.mark.parametrize(
    ("source", "on", "problem"),
    [
        ("", "push", None),
        ("", "grade_change", None),
        ("github", "push", None),
        ("lms", "push", "unknown event type 'push'"),
        ("lms", "pus[h]", "no event matches 'pus[h]'"),
    ],
)
def test_the_types_of_a_route_are_those_of_the_sources_that_it_names(
    source: str, on: str, problem: str | None, tmp_path: Path
) -> None:
    named = f'source = ["{source}"]\n' if source else ""
    routes = tmp_path / "routes.toml"
    routes.write_text(
        f'[route.r]\n{named}on = ["{on}"]\ndo = [{{ handler = "append", file = "x" }}]\n', encoding="utf-8"
    )
    context = HandlerContext("", {}, frozenset(), lambda _: None, 1.0, lambda *_: 0)
    with closing(open_catalog("lms", {"CALLSHEET_HOME": str(tmp_path)})) as catalog:
        wanted = RouteSelection(("lms", "github"), (), (str(routes),), ())
        if problem is None:
            assert [route.name for route in read_routes(catalog, wanted, context).routes] == ["r"]
        else:
            with pytest.raises(UsageError) as caught:
                read_routes(catalog, wanted, context)
            assert f'{routes}:3: route "r": on.0: {problem}' in caught.value.details[0]


def test_places_in_files_are_looked_up_only_for_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking one up reads the whole file: with a thousand routes that was a minute before anything was served."""
    looked_up = []
    monkeypatch.setattr(route_set, "place_of", lambda definition, path: looked_up.append(path) or "a place")
    do = 'do = [{ handler = "append", file = "x" }]'
    good = "".join(f'[route.r{number}]\non = ["grade_change"]\n{do}\n' for number in range(20))
    routes = tmp_path / "routes.toml"
    context = HandlerContext("", {}, frozenset(), lambda _: None, 1.0, lambda *_: 0)
    with closing(open_catalog("lms", {"CALLSHEET_HOME": str(tmp_path)})) as catalog:
        routes.write_text(good, encoding="utf-8")
        assert len(read_routes(catalog, RouteSelection(("lms",), (), (str(routes),), ()), context).routes) == 20
        assert not looked_up
        routes.write_text(f'{good}[route.bad]\non = ["grade_change", "no_such"]\n{do}\n', encoding="utf-8")
        with pytest.raises(UsageError, match="a place: unknown event type 'no_such'"):
            read_routes(catalog, RouteSelection(("lms",), (), (str(routes),), ()), context)
        assert looked_up == [("on", 1)]


def test_words_are_parted_by_commas() -> None:
    assert split_commas(["a, b", "c", " ,d,,"]) == ["a", "b", "c", "d"]
    assert split_commas([]) == []


@pytest.mark.parametrize(
    ("word", "name", "may"),
    [
        ("paid", "paid", True),
        ("paid", "paid_late", False),
        ("pa*", "paid", True),
        ("x*", "paid", False),
        ("paid", "pa*", True),
        ("other", "pa*", False),
        ("x*", "pa*", True),  # both are patterns: taken for granted
    ],
)
def test_a_word_may_mean_a_type(word: str, name: str, may: bool) -> None:
    types = {("shop", name): {}}
    if may:
        check_event_types([word], types, str)
        return
    with pytest.raises(UsageError, match=r"^0: "):
        check_event_types([word], types, str)


def test_a_misspelt_type_is_no_event_of_a_source_that_takes_every_word() -> None:
    types: dict[tuple[str, str], Any] = {("shop", "order.paid"): {}, ("other", "*"): {}}
    check_event_types(["order.paid", "order.paid*", "invoice.sent"], types, str)
    with pytest.raises(UsageError, match=r"^0: unknown event type 'order.piad', did you mean 'order.paid'"):
        check_event_types(["order.piad"], types, str)


def test_what_a_word_cannot_mean_is_said_with_what_is_near() -> None:
    with pytest.raises(UsageError, match=r"place 1: unknown event type 'pait'.*paid"):
        check_event_types(["paid", "pait"], TYPES, "place {}".format)
    with pytest.raises(UsageError, match=r"place 0: no event matches 'x\*'"):
        check_event_types(["x*"], TYPES, "place {}".format)


@pytest.mark.parametrize(
    ("when", "met_by"),
    [
        ("body.a == `1`", [1, 1.0]),
        ("body.a == 'x'", ["x"]),
        ("body.a == ''", [""]),
        ("body.a == `true`", [True]),
        ("body.a == `null`", [None]),
        ("body.a < `2`", [1, 1.0, -1]),
        ("`2` > body.a", [1, 1.0, -1]),
        ("`1` <= body.a", [1, 1.0, 5]),
        ("body.a < 'x'", ["", "1"]),
    ],
)
def test_a_condition_that_is_looked_up_means_what_it_says(when: str, met_by: list[Any]) -> None:
    """A number is no text and no boolean; texts are compared as the library compares them."""
    values = [1, 1.0, -1, 5, "x", "", "1", True, False, None]
    found = met({"r": {"when": when}}, *(event("shop", "paid", a=value) for value in values))
    assert [repr(value) for value, routes in zip(values, found, strict=True) if routes] == [*map(repr, met_by)]
