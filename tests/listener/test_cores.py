"""How many cores a listener counts on."""

from __future__ import annotations

import os

import pytest

from callsheet.listener.machine_limits import usable_cores


def test_cores_are_those_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for cores, usable in ((6, 6), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert usable_cores() == usable
