"""Definitions that were checked before: only what a change can make unsound is checked again, and nothing is missed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from callsheet import registry
from callsheet.catalog.compile import qualified_names
from callsheet.errors import DefinitionError
from callsheet.language.affected import Key, affected_definitions, digests_of
from callsheet.language.check import problems_in
from callsheet.language.layers import Layer
from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.problem import word_problem
from callsheet.language.source_file import Definitions
from support.places import CASES, TESTS

WRONG = TESTS / "definitions" / "wrong"
LINES = [line.strip() for line in (WRONG / "cases.txt").read_text(encoding="utf-8").splitlines()[1::2]]
# Nobody refers to these by name, or all do.
_ALONE = ("program", "deployment", "renamed", "product", "service")


def text_of(definitions: Definitions, key: Key) -> str:
    return str(definitions[key].table) if key in definitions else ""


def told(definitions: Definitions, only: set[Key] | None) -> set[str]:
    problems = problems_in(definitions, {"operation": qualified_names(definitions)}, registry.registered_names(), only)
    return {word_problem(problem, definitions) for problem in problems}


def difference(world: Sequence[Layer], before: Definitions, own: Path, text: str) -> set[str] | None:
    """What only one of both checks tells; None where the definitions cannot be read."""
    own.mkdir(exist_ok=True)
    (own / "own.toml").write_text(text, encoding="utf-8")
    try:
        definitions = load_definitions([*world, Layer(str(own))])
    except DefinitionError:
        return None
    digests = digests_of(before)
    affected = affected_definitions(definitions, digests, lambda key: text_of(before, key))
    return told(definitions, None) ^ told(definitions, set(affected))


@pytest.mark.slow
def test_every_wrong_definition_is_found_among_the_affected(tmp_path: Path) -> None:
    world = [Layer(str(CASES / "language"), shipped=True), Layer(str(WRONG), shipped=True)]
    before = load_definitions(world)
    found = [difference(world, before, tmp_path / "own", text.replace(" ;; ", "\n")) for text in LINES]
    assert [line for line, each in zip(LINES, found, strict=True) if each] == []
    assert sum(each is not None for each in found) > len(LINES) / 2


@pytest.mark.slow
def test_what_needs_something_that_is_taken_away_or_hidden_is_affected(tmp_path: Path) -> None:
    world = definition_layers("suite", {}, own=False)
    before = load_definitions(world)
    keys = [(kind, id) for kind, id in before if kind not in _ALONE and not before[kind, id].within]
    chosen = random.Random(20).sample(keys, 6)
    texts = [f'language = 2\n[extend.{kind}."{id}"]\nremove = true\n' for kind, id in chosen]
    commands = [id for kind, id in random.Random(21).sample(keys, len(keys)) if kind == "command" and " " in id][:2]
    texts += [
        f'language = 2\n[command."{id} more"]\nhelp = "More"\ncall = "getIssue"\nargs = {{ issueIdOrKey = "1" }}\n'
        f'[group."{id}"]\nhelp = "Several"\n'
        for id in commands
    ]
    assert [text for text in texts if difference(world, before, tmp_path / "own", text)] == []


def test_a_command_of_ones_own_leaves_nearly_all_others_alone(tmp_path: Path) -> None:
    world = definition_layers("suite", {}, own=False)
    before = load_definitions(world)
    (tmp_path / "own.toml").write_text('language = 2\n[command."hello"]\nhelp = "Say it"\nbuiltin = "version"\n')
    definitions = load_definitions([*world, Layer(str(tmp_path))])
    affected = affected_definitions(definitions, digests_of(before), lambda key: text_of(before, key))
    many = {key for key in affected if key[0] in ("command", "operation", "schema", "view")}
    assert ("command", "hello") in many
    assert len(many) < 0.05 * len(definitions)
