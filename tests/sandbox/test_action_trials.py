"""What `definitions check` finds out about a sandbox by asking it: `action_trials.toml`."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from tomlkit.exceptions import TOMLKitError

from callsheet import registry
from callsheet.errors import DefinitionError
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.problem import Finding
from callsheet.language.source_file import Definitions
from callsheet.sandbox.action_trials import trial_problems_of_actions
from support.draws import chance
from support.places import CASES
from support.wrong_parts import ODD, places, with_part

WORLD = [Layer(str(CASES / "language"), shipped=True), Layer(str(CASES.parent / "definitions" / "wrong"), shipped=True)]
TABLE = tomllib.loads((Path(__file__).parent / "action_trials.toml").read_text(encoding="utf-8"))
SOUND, WRONG = TABLE["sound"], TABLE["wrong"]


def definitions_with(text: str, folder: Path) -> Definitions:
    (folder / "own.toml").write_text(text, encoding="utf-8")
    definitions = load_definitions([*WORLD, Layer(str(folder))])
    check_definitions(definitions, {}, registry.registered_names())
    return definitions


def said_of(text: str, folder: Path) -> Iterator[str]:
    for owner, finding in trial_problems_of_actions("demo", definitions_with(text, folder)):
        yield f"{owner.kind} {owner.id}: {'.'.join(map(str, finding.path))}: {finding.text}"


def test_a_sandbox_that_does_what_it_is_for_is_left_alone(tmp_path: Path) -> None:
    assert list(said_of(SOUND, tmp_path)) == []


def test_what_a_function_decides_is_not_judged(tmp_path: Path) -> None:
    """Of `split(id, '-')[1]` nothing tells which ids have a second part."""
    condition = "item.state == 'closed'"
    assert SOUND.count(condition) == 1
    assert list(said_of(SOUND.replace(condition, "split(params.lineId, '-')[1]"), tmp_path)) == []


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row["said"])
def test_what_never_does_what_it_is_for_is_told(row: dict[str, str], tmp_path: Path) -> None:
    assert SOUND.count(row["right"]) == 1
    found = list(said_of(SOUND.replace(row["right"], row["wrong"]), tmp_path))
    assert found[0].startswith(row["said"])


def drawn_definitions(draws: random.Random, sound: dict[str, Any]) -> dict[str, Any]:
    """With a few parts that stand elsewhere in them, or that nobody would write."""
    for _ in range(draws.choice([1, 1, 2])):
        path = draws.choice([each for each in places(sound) if len(each) > 2])
        value = value_at(sound, path)
        alike = [found for each in places(sound) if type(found := value_at(sound, each)) is type(value)]
        part = draws.choice(alike if draws.random() < 0.7 else [each for each in ODD if each is not None])
        sound = with_part(sound, path, part)
    return sound


def value_at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@pytest.mark.draws
def test_whatever_is_written_is_told_or_tried(tmp_path: Path) -> None:
    draws, sound, tried = chance(5), tomllib.loads(SOUND), 0
    for _ in range(200):
        try:
            written = tomlkit.dumps(drawn_definitions(draws, sound))
            tried += bool(list(said_of(written, tmp_path)) or True)
        except (DefinitionError, TOMLKitError, UnicodeEncodeError):
            continue
    assert tried > 10


@pytest.mark.slow
def test_every_action_of_the_shipped_sandbox_does_what_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of some 250 is led, by requests made for it, to where it changes, lists or answers something."""
    definitions = load_definitions(definition_layers("suite", {}, own=False))
    for definition in definitions.values():
        monkeypatch.setattr(definition, "files", [file._replace(shipped=False) for file in definition.files])
    found: list[tuple[str, Finding]] = [
        (owner.id, finding) for owner, finding in trial_problems_of_actions("suite", definitions)
    ]
    assert found == []
