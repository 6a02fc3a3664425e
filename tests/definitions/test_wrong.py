"""Wrong definitions, and what is said of each: `wrong/cases.txt` holds a line of words, then the definition.

`wrong/sound.txt` holds definitions beside them that are right.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet import registry
from callsheet.errors import DefinitionError
from callsheet.language.check import adapter_of, check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.language.shape import KINDS
from callsheet.language.shape.base import EXPECTED
from support.places import CASES

HERE = Path(__file__).parent / "wrong"
LINES = (HERE / "cases.txt").read_text(encoding="utf-8").splitlines()
WRONG = list(zip(LINES[::2], (line.strip() for line in LINES[1::2]), strict=True))

SOUND = (HERE / "sound.txt").read_text(encoding="utf-8").splitlines()


def said_of(text: str, directory: Path) -> list[str]:
    path = directory / "own.toml"
    path.write_text(text.replace(" ;; ", "\n"), encoding="utf-8")
    world = [Layer(str(CASES / "language"), shipped=True), Layer(str(HERE), shipped=True)]
    try:
        check_definitions(load_definitions([*world, Layer(str(directory))]), {}, registry.registered_names())
    except DefinitionError as error:
        return [detail.partition(": ")[2] for detail in error.details if detail.startswith(str(path))]
    return []


@pytest.mark.parametrize(("said", "definition"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_definition_is_refused_with_what_is_wrong(said: str, definition: str, tmp_path: Path) -> None:
    assert said in said_of(definition, tmp_path)


@pytest.mark.parametrize("definition", SOUND, ids=range(len(SOUND)))
def test_what_looks_much_like_a_wrong_one_and_is_sound_is_accepted(definition: str, tmp_path: Path) -> None:
    assert said_of(definition, tmp_path) == []


def test_a_date_without_quotes_is_told_once(tmp_path: Path) -> None:
    params, rest = '[{ name = "o", default = 2026-01-01 }]', 'call = "listOrders", args = { q = "{o}" }'
    told = 'command "orders x": params.0.default: expected a text: write the date in quotes'
    assert said_of(f'command."orders x" = {{ help = "x", params = {params}, {rest} }}', tmp_path) == [told]


def patterns_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        yield from (pattern for each in schema.values() for pattern in patterns_in(each))
    elif isinstance(schema, list):
        yield from (pattern for each in schema for pattern in patterns_in(each))


def test_what_does_not_fit_is_told_in_words_and_not_by_a_pattern() -> None:
    patterns = {pattern for kind in KINDS for pattern in patterns_in(adapter_of(kind).json_schema())}
    assert len(patterns) > 20
    assert patterns - EXPECTED.keys() == set()
    for words in EXPECTED.values():
        assert not set(words) & set("^$\\[]*"), words


def test_what_they_are_laid_over_is_sound(tmp_path: Path) -> None:
    assert said_of("", tmp_path) == []
