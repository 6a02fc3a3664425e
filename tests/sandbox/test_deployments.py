"""A simulated site answers what its deployment has: paths, parameters and forms of texts, and nothing else."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.client.request.operation_call import replace_base
from callsheet.language.compiled_jmespath import is_true
from callsheet.language.merge import on_deployment
from callsheet.language.template import evaluate
from callsheet.sandbox.simulated_site import SandboxRequest, SandboxSite
from support.places import CASES
from support.simulated import ask, site

STEPS = {"cloud": "older-paths.toml", "datacenter": "datacenter.toml"}


@pytest.fixture(scope="module", params=list(STEPS))
def simulated(request: pytest.FixtureRequest) -> Iterator[SandboxSite]:
    found = site(request.param)
    yield found
    found.close()


def test_each_step_is_answered_as_it_says(simulated: SandboxSite) -> None:
    steps = tomllib.loads((CASES / "sandbox" / STEPS[simulated.deployment]).read_text(encoding="utf-8"))["step"]
    told = {f"{place}: {step['request']}": _wrong(simulated, step) for place, step in enumerate(steps)}
    assert {step: wrong for step, wrong in told.items() if wrong} == {}


def _wrong(simulated: SandboxSite, step: dict[str, Any]) -> list[str]:
    told = ask(simulated, step["request"], step.get("body"))
    found = [] if told.status == step.get("status", 200) else [f"status {told.status}: {told.body}"]
    if "true" in step and not is_true(evaluate(step["true"], told.body)):
        found.append(f"not true: {step['true']}: {told.body}")
    return found


def _shape(http: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", http)


def _paths(simulated: SandboxSite, deployment: str) -> Iterator[tuple[str, str, bool]]:
    """Of every operation its id, its method and path on a deployment, and whether it is there."""
    for id, operation in simulated.catalog.operations.all().items():
        product = simulated.catalog.products.get(operation["product"])
        here, family = on_deployment(operation, deployment), on_deployment(product, deployment)
        method, _, path = here["http"].partition(" ")
        if here["http"] == operation["http"]:
            path = replace_base(path, product.get("base", ""), family.get("base", ""))
        path = simulated.other_bases.path_below(path).path
        yield id, f"{method} {path}", not (here.get("unavailable") or family.get("unavailable"))


def test_of_all_operations_only_those_of_the_deployment_are_there(simulated: SandboxSite) -> None:
    """Each is asked for where it is on the other deployment, too."""
    own = {id: _shape(http) for id, http, is_there in _paths(simulated, simulated.deployment) if is_there}
    asked = {http for deployment in STEPS for _, http, _ in _paths(simulated, deployment)}
    there = set(own.values())
    missing = 0
    for http in asked:
        match = simulated.routes.find_route(*http.split(" "))
        is_found = match is not None and own[match.operation] == _shape(http)
        assert is_found == (_shape(http) in there), http
        if match is None:
            missing += 1
            assert SandboxSite.answer_request(simulated, SandboxRequest(*http.split(" "), {}, b"")).status in (
                404,
                405,
            ), http
    assert missing > 20


def _documents(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if value.get("type") == "doc":
            yield value
        for part in value.values():
            yield from _documents(part)
    elif isinstance(value, list):
        for part in value:
            yield from _documents(part)


@pytest.fixture(scope="module")
def cloud() -> Iterator[SandboxSite]:
    found = site()
    assert ask(found, "POST /rest/api/2/issue/DEMO-1/comment", {"body": "x"}).status == 201
    yield found
    found.close()


PARTS = ["*a*", "b", "h1. c", "* d", "{{e}}", "|f|", "\\", "{code}", "[g|http://h]", " "]


@pytest.mark.slow
@settings(max_examples=30)
@given(parts=st.lists(st.sampled_from(PARTS)))
def test_below_the_older_base_every_text_is_a_text(cloud: SandboxSite, parts: list[str]) -> None:
    text = "\n".join(parts)
    assert ask(cloud, "PUT /rest/api/2/issue/DEMO-1", {"fields": {"description": text}}).status == 204
    assert ask(cloud, "PUT /rest/api/2/issue/DEMO-1/comment/10000", {"body": text}).status == 200
    newest = ask(cloud, "GET /rest/api/3/issue/DEMO-1?fields=description,comment").body["fields"]
    assert newest["description"]["type"] == newest["comment"]["comments"][0]["body"]["type"] == "doc"
    older = ask(cloud, "GET /rest/api/2/issue/DEMO-1").body
    assert list(_documents(older)) == []
    shown = older["fields"]["description"]
    assert ask(cloud, "PUT /rest/api/2/issue/DEMO-1", {"fields": {"description": shown}}).status == 204
    assert ask(cloud, "GET /rest/api/2/issue/DEMO-1").body["fields"]["description"] == shown
