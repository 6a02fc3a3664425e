"""How many connections are served where the system allows few open files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from callsheet.errors import UsageError
from callsheet.listener import machine_limits as descriptors
from callsheet.listener.machine_limits import ConnectionLimits, connection_limits
from support.listening import command, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
if sys.platform != "win32":
    import resource


def allowed(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, *, refused: bool = False) -> list[tuple[int, int]]:
    asked: list[tuple[int, int]] = []

    def put(_: int, limits: tuple[int, int]) -> None:
        asked.append(limits)
        if refused:
            raise ValueError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", put)
    return asked


ENOUGH = ConnectionLimits(1024, 48, None)
NEEDED = 1024 + 96 + 4 * 64


@pytest.mark.parametrize(
    ("soft", "hard", "asked", "found"),
    [
        (NEEDED, NEEDED, [], ENOUGH),
        (-1, -1, [], ENOUGH),
        (256, -1, [(NEEDED, -1)], ENOUGH),
        (256, 9999, [(NEEDED, 9999)], ENOUGH),
        (NEEDED - 1, NEEDED - 1, [(NEEDED - 1, NEEDED - 1)], ConnectionLimits(1023, 48, NEEDED - 1)),
        (256, 1024, [(1024, 1024)], ConnectionLimits(672, 48, 1024)),
        (64, 64, [(64, 64)], ConnectionLimits(16, 12, 64)),
        (32, 32, [(32, 32)], ConnectionLimits(1, 7, 32)),
    ],
)
def test_what_there_is_is_divided(
    soft: int, hard: int, asked: list[tuple[int, int]], found: ConnectionLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = allowed(monkeypatch, soft, hard)
    assert connection_limits(1024, 64) == found
    assert tried == asked


def test_a_limit_that_cannot_be_raised_is_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed(monkeypatch, 256, 9999, refused=True)
    assert connection_limits(1024, 64) == ConnectionLimits(128, 32, 256)


def test_where_nothing_is_told_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_raise_limit", lambda _: None)
    assert connection_limits(5, 1) == ConnectionLimits(5, 48, None)


def test_too_few_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed(monkeypatch, 31, 31)
    with pytest.raises(UsageError, match=r"31 open files are allowed \(ulimit -n\), and at least 32 are needed"):
        connection_limits(1024, 64)


@pytest.mark.parametrize("option", [(), ("--inbox", "in.db")], ids=["memory", "inbox"])
def test_a_listener_says_so(option: tuple[str, ...], tmp_path: Path) -> None:
    words = command("listen", "--addr", ":0", *option)
    ended = subprocess.run(
        ["bash", "-c", 'ulimit -n 20; exec "$@"', "bash", *words],
        capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (
        2, "error: 20 open files are allowed (ulimit -n), and at least 32 are needed")  # fmt: skip
