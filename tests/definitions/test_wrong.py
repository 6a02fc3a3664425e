"""Wrong definitions, and what is said of each: `wrong/cases.txt` holds a line of words, then the definition."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet import registry
from callsheet.errors import DefinitionError
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from support.places import CASES

HERE = Path(__file__).parent / "wrong"
LINES = (HERE / "cases.txt").read_text(encoding="utf-8").splitlines()
WRONG = list(zip(LINES[::2], (line.strip() for line in LINES[1::2]), strict=True))


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


def test_what_they_are_laid_over_is_sound(tmp_path: Path) -> None:
    assert said_of("", tmp_path) == []
