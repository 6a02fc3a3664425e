from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fakesite import FakeSite
from support.shell import Shell, leaks


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
