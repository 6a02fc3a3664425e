"""Tests see neither the settings of the person who runs them nor, on CI, the luck of the draw."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from support.fakesite import FakeSite
from support.shell import Shell, leaks

# On CI the same examples every time: a change is judged by what it changed. Elsewhere new ones are tried.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SUITE_", "LMS_", "CALLSHEET_", "_SUITE", "_LMS")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def running_site() -> Iterator[FakeSite]:
    site = FakeSite()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def site(running_site: FakeSite) -> FakeSite:
    running_site.reset()
    return running_site


@pytest.fixture(scope="session")
def overlay(running_site: FakeSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("overlay")
    (directory / "overlay.toml").write_text(running_site.overlay())
    return directory


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compiled once for all tests; searched for secrets when they are over."""
    directory = tmp_path_factory.mktemp("cache")
    yield directory
    assert [path for path in directory.rglob("*") if path.is_file() and leaks(path.read_bytes())] == []


@pytest.fixture
def shell(tmp_path: Path, overlay: Path, cache: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path, overlay, cache)
    yield shell
    shell.check()
