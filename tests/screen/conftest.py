"""A program at a simulated site, for its screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.commands.context import Context
from support.canary import SITES, TOKEN
from support.simulated import serving


@pytest.fixture
def sandbox() -> Iterator[str]:
    with serving() as url:
        SITES.add(url)
        yield url


@pytest.fixture
def suite(sandbox: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    environ = {
        "CALLSHEET_HOME": str(tmp_path / "home"),
        "CALLSHEET_CACHE": str(cache),
        "SUITE_BASE_URL": sandbox,
        "SUITE_EMAIL": "robin@example.org",
        "SUITE_TOKEN": TOKEN,
    }
    monkeypatch.chdir(tmp_path)
    context = Context("suite", environ)
    yield context
    context.close()
