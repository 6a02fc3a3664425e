"""The sandbox: how soon it answers, what a read costs, and 100,000 issues in its file.

    python3 benchmarks/sandbox.py [ISSUES]

Processor times are of the server alone, read from /proc (Linux); the load comes from one connection that is kept.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

ROUNDS = 7
READS = 4000
PATHS = ["/rest/api/3/issue/DEMO-{number}", "/wiki/api/v2/pages/98402?body-format=storage", "/rest/api/3/myself"]
QUERIES = [
    'project = DEMO AND summary ~ "number 77777"',
    'project = DEMO AND status = "In Progress" ORDER BY created DESC',
    "key = DEMO-500",
    "assignee = currentUser() AND labels = bulk ORDER BY rank",
]


@contextmanager
def sandbox(environ: Mapping[str, str], *words: str) -> Iterator[tuple[str, int, float]]:
    """Its address, its process, and the seconds until it answered."""
    command = [sys.executable, "-m", "callsheet", "suite", "sandbox", "start", "--quiet", "-o", "json", *words]
    began = time.perf_counter()
    told = json.loads(subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=True).stdout)
    seconds = time.perf_counter() - began
    try:
        yield told["base_url"], told["process"], seconds
    finally:
        subprocess.run([*command[:4], "sandbox", "stop", "--quiet"], env=dict(environ), check=True)


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(process: int, what: str = "VmRSS") -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def start(environ: Mapping[str, str]) -> None:
    seconds = []
    for number in range(ROUNDS + 1):
        with sandbox(environ) as (_, process, took):
            used = processor_seconds(process)
        if number:  # the first one compiles the definitions
            seconds.append(took)
    print(
        f"start, until it answers     {statistics.median(seconds):.2f} s; {used:.2f} s of processor time in the server"
    )


def reads(environ: Mapping[str, str]) -> None:
    with sandbox(environ) as (address, process, _):
        connection = http.client.HTTPConnection(urlsplit(address).netloc)
        for path in PATHS:
            _read(connection, path, 200)
            before, began = processor_seconds(process), time.perf_counter()
            _read(connection, path, READS)
            used, took = processor_seconds(process) - before, time.perf_counter() - began
            print(f"{path[:46]:46} {used / READS * 1000:.3f} ms of processor time, {READS / took:,.0f} a second")
        connection.close()


def _read(connection: http.client.HTTPConnection, path: str, times: int) -> None:
    for number in range(times):
        connection.request("GET", path.format(number=number % 10 + 1))
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {answer.read().decode()}")
        answer.read()


def large(environ: Mapping[str, str], issues: int, file: Path) -> None:
    with sandbox(environ, f"--state={file}") as (address, process, _):
        connection = http.client.HTTPConnection(urlsplit(address).netloc)
        small, began = memory_mib(process), time.perf_counter()
        for number in range(issues // 50):
            _fill(connection, number * 50)
        took = time.perf_counter() - began
        print(f"{issues:,} issues made in {took:.0f} s, {file.stat().st_size / 1e6:.0f} MB in the file")
        for query in QUERIES:
            before, began = processor_seconds(process), time.perf_counter()
            connection.request("GET", f"/rest/api/3/search/jql?fields=summary&maxResults=50&jql={quote(query)}")
            found = json.loads(connection.getresponse().read())["issues"]
            took, used = time.perf_counter() - began, processor_seconds(process) - before
            print(f"{query:66} {len(found):3} on the page, {took:.2f} s, {used:.2f} s of processor time")
        _read(connection, PATHS[0], READS)
        print(f"memory: {small:.0f} MiB at the start, {memory_mib(process):.0f} MiB now")
        print(f"at most {memory_mib(process, 'VmHWM'):.0f} MiB")
        connection.close()


def _fill(connection: http.client.HTTPConnection, first: int) -> None:
    fields = {"project": {"key": "DEMO"}, "issuetype": {"name": "Task"}, "labels": ["bulk"]}
    updates = [{"fields": {**fields, "summary": f"The sheet of music number {first + number}"}} for number in range(50)]
    connection.request(
        "POST", "/rest/api/3/issue/bulk", json.dumps({"issueUpdates": updates}), {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    if answer.status != 201:
        raise SystemExit(answer.read().decode())
    answer.read()


def main() -> None:
    issues = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home, "CALLSHEET_CACHE": f"{home}/cache"}
        start(environ)
        reads(environ)
        large(environ, issues, Path(home, "site.sqlite"))


if __name__ == "__main__":
    main()
