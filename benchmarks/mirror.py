"""A mirror of many issues: requests, processor time and memory of the first run, and of one after 100 changes.

    python3 benchmarks/mirror.py [ISSUES] [beside] [STORE...]

`beside` fills the same table by dlt's own REST source, too. The site is a sandbox on the same machine. Processor times
are of the program alone, so that others may use the machine.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sandbox import _fill as fill_issues
from sandbox import sandbox

CHANGED = 100
OVERLAP = 310  # seconds


class Cost(NamedTuple):
    """What one run took: requests, seconds of processor time and by the clock, MiB at the most."""

    requests: int
    processor: float
    seconds: float
    memory: float

    def __str__(self) -> str:
        times = f"{self.processor:7.1f} s of processor time, {self.seconds:7.1f} s"
        return f"{self.requests:6,} requests, {times}, {self.memory:.0f} MiB at most"


def cost_of(environ: Mapping[str, str], *words: str) -> Cost:
    """Raises `SystemExit` with what was said where the command fails."""
    words = "-m", "callsheet", "suite", *words, "--site", "sandbox", "-v", "-o", "json"
    return cost_of_python(environ, *words)


def cost_of_python(environ: Mapping[str, str], *words: str) -> Cost:
    command, began = [sys.executable, *words], time.perf_counter()
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, env=dict(environ), stdout=subprocess.DEVNULL, stderr=told)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        lines = told.read().splitlines()
    if process.returncode:
        raise SystemExit("\n".join(lines[-10:]))
    sent = sum(line.startswith(("> GET ", "> POST ", "> PUT ", "> DELETE ")) for line in lines)
    return Cost(sent, used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024)


def change(address: str, number: int) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    for issue in range(1, number + 1):
        body = json.dumps({"fields": {"summary": f"Changed {issue}"}})
        path = f"/rest/api/3/issue/DEMO-{issue * 37 + 20}"
        connection.request("PUT", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 204:
            raise SystemExit(f"{path}: {answer.status}")
    connection.close()


def main() -> None:
    issues = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home, "CALLSHEET_CACHE": f"{home}/cache"}
        file = str(Path(home, "mirror.sqlite"))
        with sandbox(environ, f"--state={home}/site.sqlite") as (address, _, _):
            connection = http.client.HTTPConnection(urlsplit(address).netloc)
            for number in range(issues // 50):
                fill_issues(connection, number * 50)
            connection.close()
            print(
                f"{issues:,} issues on the site; the first run begins when all are older than what a run asks for again"
            )
            time.sleep(OVERLAP)
            for what in ("the first run", "again", f"after {CHANGED} changes"):
                if what.startswith("after"):
                    change(address, CHANGED)
                print(f"{what:20} {cost_of(environ, 'mirror', file, 'issue')}")
                if "beside" in sys.argv:
                    cost = cost_of_python(
                        environ, str(Path(__file__).with_name("mirror_dlt.py")), address, f"{home}/dlt"
                    )
                    print(f"{'dlt':20} {cost}")
            for store in sys.argv[2:]:
                if store != "beside":
                    print(f"to {store:17} {cost_of(environ, 'mirror', file, 'issue', '--to', store)}")


if __name__ == "__main__":
    main()
