"""Long tables of which a part is tried where the slow tests are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(rows: Iterable[Any], one_in: int) -> list[Any]:
    """All rows for `parametrize`; the first of so many, and of the next ones, are the only ones not marked `slow`.

    A row that is a tuple has a value for each of several names.
    """
    return [row if number % one_in == 0 else _slow(row) for number, row in enumerate(rows)]


def _slow(row: Any) -> Any:
    if hasattr(row, "marks"):  # what `pytest.param` gives
        return pytest.param(*row.values, id=row.id, marks=[*row.marks, pytest.mark.slow])
    values = row if isinstance(row, tuple) else (row,)
    return pytest.param(*values, marks=pytest.mark.slow)
