"""What is the same for all items is worked out once, and each item still gets what it would have got alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.commands.steps.converters import overlay_values
from callsheet.commands.steps.lookup import precompute_each, precompute_value
from callsheet.errors import CallsheetError
from callsheet.language import functions as dates
from callsheet.language.template import Precomputed, evaluate, fill_template, is_true
from support.cases import nobody

TEMPLATES = [
    "plain",
    "{{braces}}",
    "{a}",
    "{item}",
    "{item.x}",
    "{a}-{item.x}",
    "{a && b || item}",
    "{list[?@ == $item.x]}",
    "{list[?@ == $b]}",
    "{map(&{add: @}, list || `[]`)}",
    "{map(&{add: [@, $item]}, list || `[]`)}",
    "{@}",
    "{length(@)}",
    "{keys(@)}",
    "{list[].{item: a}}",
    "{{a: a, b: item}}",
    "{length(a)}",
    "{nothing}",
    "{to_string(list)} {later}",
    7,
    None,
    True,
]
VALUES = st.sampled_from([None, False, 0, 1, "", "x", "{a}", [], ["x", "y"], {"x": "y"}, {"x": None}])
SCOPES = st.fixed_dictionaries({"a": VALUES, "b": VALUES, "list": st.sampled_from([None, [], ["x", "y"]])})
NESTED = st.recursive(
    st.sampled_from(TEMPLATES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
    max_leaves=6,
)


def outcome(value: Any, scope: dict[str, Any]) -> Any:
    try:
        return json.dumps(fill_template(value, scope))
    except CallsheetError as error:
        return str(error)


@given(NESTED, SCOPES, st.lists(VALUES, min_size=2, max_size=3))
@settings(max_examples=400)
def test_a_settled_template_gives_what_the_template_gives(value: Any, scope: dict[str, Any], items: list[Any]) -> None:
    found = precompute_value(value, {**scope, "later": "before"}, {"item", "later"})
    for item in items:
        inner = {**scope, "item": item, "later": item}
        assert outcome(found, inner) == outcome(value, inner)


def each_steps(catalog: Catalog) -> Iterator[tuple[str, Any]]:
    for name, command in catalog.commands.all().items():
        for place, step in enumerate(command.get("step", ())):
            if "each" in step:
                yield f"{name} {place}", step["each"]
                if "undo" in step["each"]:
                    yield f"{name} {place} undo", {**step["each"], "step": step["each"]["undo"]}


@pytest.fixture(scope="module")
def every_each(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with closing(open_catalog("suite", nobody(tmp_path_factory))) as catalog:
        return dict(each_steps(catalog))


WORDS: list[Any] = [None, True, "x", "me", "DEMO-1", ["x"], {"id": "7", "name": "x"}, {"fields": {"labels": []}}]


class AnyNames(dict[str, Any]):
    """A scope in which every name has some value, the same for the same seed."""

    def __init__(self, seed: int, **known: Any) -> None:
        super().__init__(known)
        self.seed = seed

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else random.Random(f"{self.seed} {name}").choice(WORDS)


class Noon(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Noon:
        return cls(2026, 1, 31, 12, tzinfo=tz)


@pytest.mark.parametrize("deployment", ["cloud", "datacenter"])
def test_shipped_steps_send_what_they_sent(
    deployment: str, every_each: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dates, "datetime", Noon)  # else it is a millisecond later
    assert every_each
    for name, each in every_each.items():
        sends_what_it_sent(name, each, deployment)


def sends_what_it_sent(name: str, each: Any, deployment: str) -> None:
    own = each.get("item", "item")
    for seed in range(8):
        scope = AnyNames(seed, site={"deployment": deployment})
        found = precompute_each(each, scope, 100, own, "was")
        for item in ("DEMO-1", "DEMO-2", {"id": "1"}):
            inner = AnyNames(seed, **{**scope, own: item, "was": {"fields": {"summary": item}}})
            for step, other in zip(each["step"], found["step"], strict=True):
                compare(name, step, other, inner)


def compare(name: str, step: Any, other: Any, scope: dict[str, Any]) -> None:
    for key in ("args", "files"):
        assert outcome(step.get(key), scope) == outcome(other.get(key), scope), name
    assert body_of(step, scope) == body_of(other, scope), name
    if isinstance(other.get("when"), Precomputed):
        assert other["when"].value == is_true(evaluate(step["when"], scope)), name
    else:
        assert other.get("when") == step.get("when"), name


def body_of(step: Any, scope: dict[str, Any]) -> str:
    try:
        layers = [fill_template(layer, scope) for layer in (step.get("body"), *step.get("over", ()))]
        return json.dumps(reduce(overlay_values, layers))
    except CallsheetError as error:
        return str(error)


def test_something_is_settled_in_an_edit_of_many(every_each: dict[str, Any]) -> None:
    """Without it each issue of 10,000 takes a quarter longer."""
    each = next(each for name, each in every_each.items() if name.startswith("issues label"))
    known = {"add": ["x"], "remove": None}
    step: Any = precompute_each(each, known, 20, "issue")["step"][0]
    assert isinstance(step["body"], Precomputed)
    assert step["args"] == {"issueIdOrKey": "{issue}"}
    assert precompute_each(each, known, 1, "issue") is each


def test_a_step_that_is_left_out_changes_nothing_for_the_others() -> None:
    """Else the steps behind one that no item needs would be looked at for each of 10,000."""
    each: Any = {
        "items": "issues",
        "step": [
            {"as": "before", "when": "local", "call": "getIssue"},
            {"when": "before.fields", "call": "dropIssue"},
            {"when": "before.fields", "fail": "{before.id}"},
            {"as": "after", "call": "getIssue"},
            {"when": "after.fields", "call": "dropIssue", "body": {"a": 1}, "over": ["{local}", "{before}", "{item}"]},
        ],
    }
    kinds = [
        [isinstance(step.get("when"), Precomputed) for step in precompute_each(each, scope, 20, "item")["step"]]
        for scope in ({}, {"local": "x"})
    ]
    assert kinds == [[True, True, False, False, False], [True, False, False, False, False]]
    step: Any = precompute_each(each, {}, 20, "item")["step"][-1]
    assert (step["body"].value, step["over"]) == ({"a": 1}, ["{item}"])
