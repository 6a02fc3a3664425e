"""What is said of conditions, whatever stands in them."""

from __future__ import annotations

import pytest

from callsheet.language.conditions import (
    all_results,
    compared_paths,
    comparison_faults,
    conditions_joined,
    fixed_truth,
    never_holds,
    word_faults,
    written_results,
)
from callsheet.language.functions import Functions
from callsheet.language.value_kinds import kind_of_result, type_faults, types_of_samples

TYPES = {"a": "string", "b": "array", "c": "object", "d": "number", "e": "boolean"}
ARGUMENTS = [[], ["a"], ["b", "a"], ["'x'", "b", "c"], ["['x', `1`]", "d", "e", "&a"], ["&a", "b[].c"]]


@pytest.mark.parametrize("name", sorted(Functions.FUNCTION_TABLE))
def test_calls_with_any_arguments_are_judged(name: str) -> None:
    """Whatever they are joined with; those with too few or too many are told elsewhere."""
    for arguments in ARGUMENTS:
        call = f"{name}({', '.join(arguments)})"
        for text in (call, f"{call} == 'x'", f"!{call} && {call} > `1`", f"a || {call}[?{call}].x"):
            list(compared_paths(text)) + list(compared_paths(text, only_equal=True))
            list(comparison_faults(text)) + list(type_faults(text, types_of_samples([{"b": [1]}], "a")))
            never_holds(text, "a", [{"b": [1]}, "x"])
            list(type_faults(text, TYPES)) + list(word_faults(text))
            list(written_results(text, {"a": ["x"]}))
            assert fixed_truth(text) in (None, True, False)
            assert kind_of_result(text) in ("", "string", "number", "boolean", "array", "object")
            assert conditions_joined(text)
            assert all_results(text) is None
