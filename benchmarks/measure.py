"""Whole processes, several times in turn: medians, and ratios of what ran in the same minute."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    seconds: float
    peak_mib: float
    processor: float  # seconds


def once(command: Sequence[str], environ: Mapping[str, str]) -> Run:
    """One run with its output thrown away; raises when it fails.

    Python may keep what it compiles, as it does of an installed program, whatever the environment says.
    """
    environ = {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    with process:
        error = process.stderr.read().decode() if process.stderr else ""
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}\n{error}")
    peak = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    return Run(seconds, peak, usage.ru_utime + usage.ru_stime)


def in_turn(
    commands: Mapping[str, Sequence[str]], environ: Mapping[str, str], rounds: int = 15
) -> dict[str, list[Run]]:
    """Every command once a round, after one round that is not counted."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            run = once(command, environ)
            if number:
                runs[name].append(run)
    return runs


def median_ms(runs: Sequence[Run]) -> float:
    return statistics.median(run.seconds for run in runs) * 1000


def ratio(runs: Sequence[Run], base: Sequence[Run]) -> float:
    """The median of the ratios of each round."""
    return statistics.median(run.seconds / other.seconds for run, other in zip(runs, base, strict=True))


def report(runs: Mapping[str, Sequence[Run]], base: str) -> None:
    for name, each in runs.items():
        peak = statistics.median(run.peak_mib for run in each)
        print(f"{name:44} {median_ms(each):7.1f} ms   {ratio(each, runs[base]):5.2f} x   {peak:6.1f} MiB")
