"""A program made of a test's own definitions and the common ones alone, which compiles quickly."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callsheet.language import layers
from callsheet.language import load as programs

from .places import DEFINITIONS

# A service that needs no credential, on one deployment. What follows goes on in the table of its product.
SHOP_SERVICE = """
[auth.none]
title = "Nothing"
scheme = "none"

[deployment.cloud]
title = "Cloud"
method = "none"

[service.shop]
title = "Shop"

[product.shop]
title = "Shop"
service = "shop"
"""


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
