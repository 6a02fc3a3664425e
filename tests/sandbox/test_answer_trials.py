"""What `definitions check` finds out about commands and columns by asking the sandbox: `answer_trials.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet import registry
from callsheet.catalog.compile import qualified_names
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import definition_layers, load_definitions
from callsheet.sandbox import answer_trials
from callsheet.sandbox.answer_trials import trial_problems_of_answers

TABLE = tomllib.loads((Path(__file__).parent / "answer_trials.toml").read_text(encoding="utf-8"))


def said_of(texts: list[str], folder: Path) -> Iterator[str]:
    for place, text in enumerate(texts):
        (folder / f"own{place}.toml").write_text(text, encoding="utf-8")
    definitions = load_definitions([*definition_layers("suite", {}, own=False), Layer(str(folder))])
    check_definitions(definitions, {"operation": qualified_names(definitions)}, registry.registered_names())
    for owner, finding in trial_problems_of_answers("suite", definitions):
        yield f"{owner.kind} {owner.id}: {'.'.join(map(str, finding.path))}: {finding.text}"


def test_what_is_there_or_may_be_there_on_a_real_site_is_left_alone(tmp_path: Path) -> None:
    assert list(said_of(TABLE["sound"], tmp_path)) == []


def test_what_no_answer_has_is_told(tmp_path: Path) -> None:
    said = list(said_of([row["text"] for row in TABLE["wrong"]], tmp_path))
    assert sorted(said) == sorted(row["said"] for row in TABLE["wrong"])


def test_all_that_is_shipped_finds_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were somebody's own: hundreds of expressions over real answers, and none of them is judged wrong."""
    definitions = load_definitions(definition_layers("suite", {}, own=False))
    monkeypatch.setattr(
        answer_trials,
        "own_definitions",
        lambda found, *kinds: [each for each in found.values() if each.kind in kinds],
    )
    assert list(trial_problems_of_answers("suite", definitions)) == []
