"""The faults of `tests/faults/` can be planted in the code as it is. `scripts/faults.py` tells which test notices."""

from __future__ import annotations

import sys

import pytest

from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from faults import Fault, faults

ALL = list(faults())


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted_and_names_tests_that_are_there(fault: Fault) -> None:
    planted = fault.planted((ROOT / fault.file).read_text(encoding="utf-8"))
    if fault.file.endswith(".py"):
        compile(planted, fault.file, "exec")
    for test in fault.tests:
        file, _, function = test.partition("::")
        assert (ROOT / file).exists(), test
        assert not function or f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_a_fault_whose_text_is_gone_is_told() -> None:
    with pytest.raises(ValueError, match="its text stands 0 times"):
        ALL[0].planted("")
