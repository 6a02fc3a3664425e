"""A program made of a test's own definitions and the common ones alone, which compiles quickly."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callsheet.language import layers, programs

from .places import DEFINITIONS


@contextmanager
def own_program(root: Path, definitions: str) -> Iterator[Path]:
    """While it lasts, `definitions` are what is shipped of the program `demo`. Gives the folder that it is in."""
    shutil.copytree(DEFINITIONS / "common", root / "shipped" / "common")
    (root / "shipped" / "demo").mkdir()
    (root / "shipped" / "demo" / "shop.toml").write_text(definitions, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for module in (layers, programs):
            patch.setattr(module, "shipped_definitions", lambda: (str(root / "shipped"), False))
        yield root
