"""Servers as processes, the load on them, and the processor time that both took."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LUA = str(HERE / "listener_load.lua")
CONNECTIONS = 32
_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Seconds of processor time: of a server and its workers, and of programs that they started and that ended."""

    own: float
    programs: float


class Result(NamedTuple):
    """`cost` and `programs` are microseconds of processor time a request, `p99` milliseconds."""

    rate: float
    p99: float
    cost: float = 0.0
    programs: float = 0.0
    requests: int = 0


class Server(NamedTuple):
    url: str
    process: int
    sent: Counter[Path]  # how many requests of which file it has had

    def cost(self) -> Cost:
        own = programs = 0.0
        for process in _tree(self.process):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                own += (int(fields[11]) + int(fields[12])) / _TICKS
                programs += (int(fields[13]) + int(fields[14])) / _TICKS
        return Cost(own, programs)


def _tree(process: int) -> Iterator[int]:
    yield process
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split():
            yield from _tree(int(child))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    for _ in range(2400):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise SystemExit("a process did not start")


@contextlib.contextmanager
def running(*command: str, port: int, definitions: str = "", cores: str = "0") -> Iterator[Server]:
    environ = {**os.environ, "CALLSHEET_HOME": tempfile.gettempdir() + "/callsheet-benchmark"}
    environ |= {"LMS_DEFINITIONS": definitions} if definitions else {}
    process = subprocess.Popen(
        ["taskset", "-c", cores, *command], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port)
        yield Server(f"http://127.0.0.1:{port}/webhook", process.pid, Counter())
    finally:
        process.terminate()
        process.wait(30)


# Sets up spans that go nowhere, as far as this process: made, ended and thrown away.
TRACED = """from opentelemetry import trace; from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
SpanExporter.export = lambda *_: SpanExportResult.SUCCESS; provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(SpanExporter())); trace.set_tracer_provider(provider)
import runpy; runpy.run_module("callsheet", run_name="__main__", alter_sys=True)
"""


def listening(
    *arguments: str, definitions: str = "", cores: str = "0", traced: bool = False
) -> contextlib.AbstractContextManager[Server]:
    port = free_port()
    start = ("-c", TRACED) if traced else ("-m", "callsheet")
    command = (sys.executable, *start, "lms", "webhook", "listen", "--addr", f":{port}", *arguments)
    return running(*command, port=port, definitions=definitions, cores=cores)


def bare() -> contextlib.AbstractContextManager[Server]:
    port = free_port()
    return running(sys.executable, str(HERE / "listener_bare.py"), str(port), port=port)


def start_load(
    url: str, requests: Path, seconds: float, connections: int, pause: int = 0, skip: int = 0, cores: str = "1"
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["taskset", "-c", cores, "wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", LUA, url, "--",
         str(requests), str(pause), str(skip)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(load: subprocess.Popen[str], *, is_forged: bool = False) -> Result:
    text = load.communicate()[0]
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", text)
    if found is None:
        raise SystemExit(f"wrk printed no result:\n{text}")
    requests, duration, p99, refused, failed = map(int, found.groups())
    if failed or bool(refused) != is_forged:
        print(f"  {failed} requests failed on the way, {refused} were refused")
    return Result(requests / duration * 1e6, p99 / 1000, requests=requests)


def load(
    server: Server,
    requests: Path,
    seconds: float,
    connections: int = CONNECTIONS,
    pause: int = 0,
    cores: str = "1",
) -> Result:
    """It goes on in the file where the server's last one ended: an event that is known costs less than a new one."""
    before = server.cost()
    result = finish(start_load(server.url, requests, seconds, connections, pause, server.sent[requests], cores))
    server.sent[requests] += result.requests + connections  # some were under way at the end
    after = server.cost()
    own, programs = ((new - old) / result.requests * 1e6 for new, old in zip(after, before, strict=True))
    return result._replace(cost=own, programs=programs)
