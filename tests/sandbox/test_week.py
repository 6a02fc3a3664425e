"""A week's work of four people, as the data in tests/cases/week says, against a simulated site."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.places import CASES
from support.scripted import Script, steps
from support.simulated import serving

WEEK = CASES / "week"
PEOPLE = ("robin", "kim", "jan", "noor")


@pytest.mark.slow
@pytest.mark.parametrize("deployment", ["cloud", "datacenter"])
def test_everybody_gets_through_the_week(
    deployment: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One after the other on one site: what one leaves is what the next one meets. The documents judge each answer."""
    suffix = "@example.org" if deployment == "cloud" else ""
    people = {name: f"{name}{suffix}" for name in PEOPLE}
    cache = tmp_path_factory.getbasetemp() / "shared-cache"
    wrong: dict[str, list[str]] = {}
    answers: set[str] = set()
    with serving(deployment=deployment, wrong=answers) as url:
        for person in ("developer", "lead", "agent", "writer"):
            script = Script(url, deployment, tmp_path / person, cache, people)
            wrong[person] = list(script.wrong(steps(WEEK / f"{person}.toml", deployment)))
    assert answers == set()
    assert wrong == {"developer": [], "lead": [], "agent": [], "writer": []}
