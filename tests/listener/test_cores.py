"""How many cores a listener counts on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callsheet.listener import machine_limits
from callsheet.listener.machine_limits import usable_cores


def test_cores_are_those_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_limits, "_OWN_GROUP", os.devnull)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for cores, usable in ((6, 6), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert usable_cores() == usable


UNIFIED, OLD = "0::/app/one\n", "3:cpu,cpuacct:/app/one\n4:memory:/other\n"


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        (UNIFIED, {"app/one/cpu.max": "200000 100000\n", "app/cpu.max": "max 100000\n"}, 2),
        (UNIFIED, {"app/one/cpu.max": "max 100000\n", "app/cpu.max": "150000 100000\n"}, 2),
        (UNIFIED, {"app/one/cpu.max": "5000 100000\n"}, 1),
        (UNIFIED, {"app/one/cpu.max": "max 100000\n"}, 8),
        (UNIFIED, {}, 8),
        (OLD, {"cpu/app/one/cpu.cfs_quota_us": "300000\n", "cpu/app/one/cpu.cfs_period_us": "100000\n"}, 3),
        (OLD, {"cpu/app/one/cpu.cfs_quota_us": "-1\n", "cpu/app/one/cpu.cfs_period_us": "100000\n"}, 8),
        ("", {}, 8),
    ],
)
def test_a_quota_of_the_control_group_counts_as_cores(
    own: str, files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As containers have it: they see all cores of the machine."""
    for name, text in {**files, "own": own}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(machine_limits, "_GROUPS", str(tmp_path))
    monkeypatch.setattr(machine_limits, "_OWN_GROUP", str(tmp_path / "own"))
    assert usable_cores() == cores
