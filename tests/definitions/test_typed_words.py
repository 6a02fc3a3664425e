"""What a person typed is compared with nothing before it is known what it means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.commands.steps.converters import step_acts
from callsheet.language.functions import parse_expression
from callsheet.language.merge import on_deployment
from callsheet.language.parameters import to_identifier
from support.cases import nobody


def comparisons(node: Any) -> Iterator[Any]:
    if node["type"] == "comparator":
        yield node["children"]
    for child in node["children"]:
        if isinstance(child, dict):
            yield from comparisons(child)


def fields(node: Any) -> set[str]:
    """The names that an expression starts at."""
    if node["type"] == "field":
        return {node["value"]}
    children = [child for child in node["children"] if isinstance(child, dict)]
    if node["type"] == "subexpression":
        children = children[:1]
    return set().union(*map(fields, children))


def is_typed_elsewhere(when: str, words: set[str]) -> bool:
    """Whether a condition compares one of the words with something that a person did not write into it."""
    for sides in comparisons(parse_expression(when).parsed):
        names = [fields(side) for side in sides]
        if any(name & words for name in names) and all(names):
            return True
    return False


@pytest.mark.parametrize(
    ("when", "found"), [("id != front.id", True), ("to_string(front.x) == id", True), ("id == 'a'", False)]
)
def test_the_check_finds_such_a_comparison(when: str, found: bool) -> None:
    assert is_typed_elsewhere(when, {"id"}) is found


def test_nothing_is_refused_by_a_word_that_was_not_looked_up_yet(tmp_path_factory: pytest.TempPathFactory) -> None:
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    commands = catalog.records_of_kind("command")
    catalog.close()
    assert commands
    for path, command in commands.items():
        for deployment in ("cloud", "datacenter"):
            here = on_deployment(command, deployment)
            words = {to_identifier(param["name"]) for param in here.get("params", []) if "lookup" in param}
            for step in here.get("step", []):
                if step_acts(step):
                    break
                if "fail" in step and "when" in step:
                    assert not is_typed_elsewhere(step["when"], words), f"{path}: {step['when']}"
