"""A property is tried with the same values in every run, whichever tests ran before it in its process."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.draws import SEED

pytestmark = pytest.mark.skipif(SEED != 0, reason="fresh draws are wanted")


def drawn() -> list[Any]:
    values: list[Any] = []

    @settings(max_examples=300)
    @given(st.integers(), st.text(), st.binary())
    def collect(number: int, text: str, data: bytes) -> None:
        values.append((number, text, data))

    collect()
    return values


def test_draws_are_the_same_again_and_with_more_modules(tmp_path: Path) -> None:
    before = drawn()
    path = tmp_path / "loaded_by_others.py"
    path.write_text("\n".join(f"N{n}, T{n} = {10**6 + n}, 'a constant {n}'" for n in range(400)), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        assert drawn() == before
