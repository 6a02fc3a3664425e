"""Programs as scripts have them, at a simulated site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import callsheet
from support.canary import SITES, TOKEN
from support.simulated import serving


@pytest.fixture(scope="session")
def sandbox() -> Iterator[str]:
    """The address of a sandbox. Tests that change something make what they change."""
    with serving() as url:
        SITES.add(url)
        yield url


@pytest.fixture(autouse=True)
def home(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALLSHEET_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CALLSHEET_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def suite(sandbox: str, home: Path) -> Iterator[callsheet.Program]:
    with callsheet.open("suite", base_url=sandbox, email="robin@example.org", token=TOKEN) as program:
        yield program
