"""A simulated site does what its steps say, and answers as the published documents do."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.language.compiled_jmespath import is_true
from callsheet.language.template import evaluate
from callsheet.sandbox.simulated_site import SandboxSite
from support.places import CASES
from support.simulated import ask, problems, site

STEPS = tomllib.loads((CASES / "sandbox/cloud.toml").read_text(encoding="utf-8"))["step"]


@pytest.fixture(scope="module")
def cloud() -> Iterator[SandboxSite]:
    found = site()
    yield found
    found.close()


def test_each_step_is_answered_as_it_says(cloud: SandboxSite) -> None:
    """One test for all: each step goes on where the one before it left the site."""
    wrong = {f"{place}: {step['request']}": told for place, step in enumerate(STEPS) if (told := _wrong(cloud, step))}
    assert wrong == {}


def _wrong(cloud: SandboxSite, step: dict[str, Any]) -> list[str]:
    told = ask(cloud, step["request"], step.get("body"))
    found = [] if step.get("undocumented") else problems(step["request"], told)
    if told.status != step.get("status", 200):
        found.append(f"status {told.status}: {told.body}")
    if "true" in step and not is_true(evaluate(step["true"], told.body)):
        found.append(f"not true: {step['true']}: {told.body}")
    return found
