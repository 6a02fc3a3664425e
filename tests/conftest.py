"""Tests see neither the settings of the person who runs them nor the luck of the draw."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.sites.credentials import encrypted
from support import compiled, draws
from support.canary import leaking_files, leaks
from support.fakesite import FakeSite
from support.shell import Shell
from support.watch import Watch, watching

# All that is collected lasts as long as the run: the collector need not look at it, now or after each test.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000)  # what tests leave behind is little: looking for it took a twentieth of the run
    gc.enable()


draws.load_profile()

# The zone of who runs them is such a setting, too: times that cases show are those of this one.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# jsonschema imports it where it is installed, for formats that nothing checks here; each worker would take seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# A shell starts what runs in its background with signals ignored, and children inherit that; the tests send them.
for _name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"):
    if hasattr(signal, _name) and signal.getsignal(getattr(signal, _name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, _name), signal.default_int_handler if _name == "SIGINT" else signal.SIG_DFL)


_HANDLED = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)]


def _of_this_process() -> dict[str, Any]:
    return {
        "priority": os.nice(0) if hasattr(os, "nice") else 0,
        "folder": os.getcwd(),
        "handlers": [signal.getsignal(number) for number in _HANDLED],
    }


@pytest.fixture(autouse=True)
def _process() -> Iterator[None]:
    """A test leaves its process as it was: the tests after it would be slow, or elsewhere, or deaf to signals."""
    before = _of_this_process()
    yield
    assert _of_this_process() == before


@pytest.fixture(autouse=True)
def _nobody(_process: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SUITE_", "LMS_", "CALLSHEET_", "_SUITE", "_LMS")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def canary_watch() -> Iterator[Watch]:
    with watching() as watch:
        yield watch


@pytest.fixture(autouse=True)
def _canary(canary_watch: Watch, request: pytest.FixtureRequest) -> Iterator[None]:
    """No credential is written but where it was given, or an argument of a process, or leaves this machine."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    canary_watch.reset()
    yield
    assert canary_watch.found() == []
    assert folder is None or leaking_files(folder) == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """What a test left in its captured output is searched too."""
    report = yield
    if report.passed and any(leaks(text.encode("utf-8", "surrogatepass")) for _, text in report.sections):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: a secret stands in the captured output"
    return report


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> None:
    """A password is meant to cost time, which hundreds of tests with a key store are not about."""
    encrypted._COST.update(memory=1024, iterations=1)


@pytest.fixture(scope="session")
def running_site() -> Iterator[FakeSite]:
    site = FakeSite()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def site(running_site: FakeSite) -> Iterator[FakeSite]:
    running_site.reset()
    yield running_site
    running_site.nothing_leaked()


@pytest.fixture(scope="session")
def overlay(running_site: FakeSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("overlay")
    (directory / "overlay.toml").write_text(running_site.overlay())
    return directory


@pytest.fixture(scope="session", autouse=True)
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A worker of many begins with what all of them need; a process that runs a few tests compiles what they need."""
    own = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        compiled.fill(own / "shared-cache", own.parent / "compiled")


@pytest.fixture(scope="session", autouse=True)
def _sites() -> Iterator[None]:
    """Simulated sites that serve one test after another end when all tests have."""
    yield
    if simulated := sys.modules.get("support.simulated"):
        simulated.end_idle_sites()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compiled once for all tests; searched for secrets when they are over."""
    directory = tmp_path_factory.getbasetemp() / "shared-cache"  # the same as of the tests that make their own home
    directory.mkdir(exist_ok=True)
    yield directory
    assert leaking_files(directory) == []


@pytest.fixture
def shell(tmp_path: Path, overlay: Path, cache: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path, overlay, cache)
    yield shell
    shell.check()
