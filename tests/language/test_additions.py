"""What a person adds beside the shipped definitions leaves these as sound as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callsheet import registry
from callsheet.catalog.compile import qualified_names
from callsheet.language.check import problems_in
from callsheet.language.layers import Layer
from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.problem import word_problem
from callsheet.language.source_file import Definitions


def columns_added(shipped: Definitions) -> list[str]:
    """To every view a column that most of what is printed with it lacks."""
    column = '{ name = "OWN", value = "own_field" }'
    return [f'[extend.view."{id}"]\ncolumns = [{column}]\n' for kind, id in shipped if kind == "view"]


def commands_in_place_of_suggestions(shipped: Definitions) -> list[str]:
    """For every word that a group answers with another command: it becomes a command."""
    lines = []
    for definition in shipped.of_kind("group"):
        for word in (each for each in definition.table.get("instead", {}) if " " not in each):
            name = json.dumps(f"{definition.id} {word}")
            lines.append(f'[command.{name}]\nhelp = "One of my own"\nbuiltin = "version"\nsafety = "local"\n')
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("program", ["suite", "lms"])
def test_what_is_added_leaves_what_is_shipped_sound(program: str, tmp_path: Path) -> None:
    world = definition_layers(program, {}, own=False)
    shipped = load_definitions(world)
    text = "\n".join(["language = 2", *columns_added(shipped), *commands_in_place_of_suggestions(shipped)])
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    definitions = load_definitions([*world, Layer(str(tmp_path))])
    problems = problems_in(definitions, {"operation": qualified_names(definitions)}, registry.registered_names())
    assert [word_problem(problem, definitions) for problem in problems] == []
