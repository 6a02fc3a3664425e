"""Whatever calls an operation is refused where it gives it an argument that the operation does not take."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from callsheet.catalog.compile import qualified_names
from callsheet.language.check import problems_in
from callsheet.language.desugar import is_derived
from callsheet.language.load import definition_layers, load_definitions
from callsheet.registry import registered_names

# What other definitions have taken up when files are read: a change of it comes too late.
LAID_OUT = {
    *(("resource", "find"), ("resource", "snapshot"), ("resource", "names")),
    *(("part", "step"), ("input", "step"), ("steps", "step")),
}


def calls_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    if isinstance(value, dict):
        if isinstance(value.get("call"), str):
            yield path, value
        for key, part in value.items():
            yield from calls_in(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from calls_in(part, (*path, place))


@pytest.mark.slow
def test_an_argument_that_no_operation_takes_is_refused_wherever_there_is_a_call() -> None:
    definitions = load_definitions(definition_layers("suite", {}, own=False))
    given: dict[tuple[str, ...], str] = {}
    for definition in definitions.values():
        definition.table = deepcopy(definition.table)
        for path, table in calls_in(definition.table):
            form = (definition.kind, *("#" if isinstance(key, int) else key for key in path))
            if form[:2] not in LAID_OUT and form not in given and not is_derived(definition, definitions):
                given[form] = f"no-such-argument-{len(given)}"
                table["args"] = {**table.get("args", {}), given[form]: "1"}
    assert len(given) > 40
    problems = problems_in(definitions, {"operation": qualified_names(definitions)}, registered_names())
    told = {key for problem in problems for key in problem.finding.path}
    assert {form for form, name in given.items() if name not in told} == set()
