"""Tests see neither the settings of the person who runs them nor, on CI, the luck of the draw."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# On CI the same examples every time: a change is judged by what it changed. Elsewhere new ones are tried.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SUITE_", "LMS_", "CALLSHEET_", "_SUITE", "_LMS")):
            monkeypatch.delenv(name)
