"""The listener against a bare application, in one run: `python3 benchmarks/listener.py [seconds] [rounds]`.

Servers run on the first core, the load (wrk) on the second. Rounds of all servers alternate, and the figure is the
median of the ratios of neighbours, so that what else the machine does touches both sides alike.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import rsa
from listener_made import COUNT, SECRET, TOKENS, forged, key_set, signed, signed_many_fields, tokens, write

HERE = Path(__file__).parent
LUA = str(HERE / "listener_load.lua")
CONNECTIONS = 32


class Result(NamedTuple):
    rate: float
    p99: float  # milliseconds
    cost: float = 0.0  # microseconds of processor time a request


class Server(NamedTuple):
    url: str
    process: int

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def running(*command: str, port: int, definitions: str = "") -> Iterator[Server]:
    environ = {**os.environ, "CALLSHEET_HOME": tempfile.gettempdir() + "/callsheet-benchmark"}
    environ |= {"LMS_DEFINITIONS": definitions} if definitions else {}
    process = subprocess.Popen(
        ["taskset", "-c", "0", sys.executable, *command],
        env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield Server(f"http://127.0.0.1:{port}/webhook", process.pid)
    finally:
        process.terminate()
        process.wait(30)


def listening(*arguments: str, definitions: str = "") -> contextlib.AbstractContextManager[Server]:
    port = free_port()
    command = ("-m", "callsheet", "lms", "webhook", "listen", "--addr", f":{port}", *arguments)
    return running(*command, port=port, definitions=definitions)


def bare() -> contextlib.AbstractContextManager[Server]:
    port = free_port()
    return running(str(HERE / "listener_bare.py"), str(port), port=port)


def start_load(url: str, requests: Path, seconds: float, connections: int, pause: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", LUA, url, "--", str(requests),
         str(pause)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(load: subprocess.Popen[str]) -> Result:
    text = load.communicate()[0]
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", text)
    if found is None:
        raise SystemExit(f"wrk printed no result:\n{text}")
    requests, duration, p99, _, failed = map(int, found.groups())
    if failed:
        print(f"  {failed} requests failed on the way")
    return Result(requests / duration * 1e6, p99 / 1000)


def load(server: Server, requests: Path, seconds: float, connections: int = CONNECTIONS, pause: int = 0) -> Result:
    before = server.cpu()
    result = finish(start_load(server.url, requests, seconds, connections, pause))
    return result._replace(cost=(server.cpu() - before) / (result.rate * seconds) * 1e6)


def compared(name: str, first: Callable[[], Result], second: Callable[[], Result], rounds: int, bar: float) -> Result:
    """Print the ratio of the second to the first; returns the second's median result."""
    pairs = [(first(), second()) for _ in range(rounds)]
    ratio = statistics.median(own.rate / other.rate for other, own in pairs)
    by_cost = statistics.median(other.cost / own.cost for other, own in pairs)
    best = sorted((own for _, own in pairs), key=lambda result: result.rate)[rounds // 2]
    base = statistics.median(other.rate for other, _ in pairs)
    figures = f"{best.rate:8.0f}/s against {base:8.0f}/s, {best.cost:5.1f} us of processor time each"
    print(
        f"{name:24} ratio {ratio:5.2f}, by processor time {by_cost:5.2f} (bar {bar}); {figures}; p99 {best.p99:.2f} ms",
        flush=True,
    )
    return best


def programs(server: Server, requests: Path, seconds: float) -> None:
    """A program is started for every event; it does nothing."""
    result = load(server, requests, seconds)
    print(f"{'a program for every event':34} {result.rate:8.0f}/s  p99 {result.p99:.2f} ms (bar 1000/s)", flush=True)


def routes(folder: Path, count: int, kind: str) -> Path:
    """One route that never matches, or many: told apart by a fixed value, or by a comparison."""
    path = folder / f"{kind}-{count}.toml"
    conditions: dict[str, Callable[[int], str]] = {
        "equal": lambda number: f"body.course_id == `{number + 100_000}`",
        "order": lambda number: f"body.score < `{-number}`",
        "type": lambda number: f"body.score < `{-number}`",
    }
    on = '["quiz_submitted"]' if kind == "type" else '["grade_change"]'
    rest = f'on = {on}\ndo = [{{ handler = "append", file = "x" }}]\n'
    text = (f'[route.r{number}]\nwhen = "{conditions[kind](number)}"\n{rest}' for number in range(count))
    path.write_text("\n".join(text), encoding="utf-8")
    return path


def latency(server: Server, requests: Path, most: float, seconds: float) -> None:
    """At four fifths of the maximum: a pause of 3 ms, and as many connections as give that rate."""
    connections = max(1, round(most * 0.8 * 0.0036))
    result = load(server, requests, seconds, connections, 3)
    share = f"{result.rate:8.0f}/s  ({result.rate / most:.0%})"
    print(f"{'p99 at about 80 % of the maximum':34} {share}  p99 {result.p99:.2f} ms (bar 15)", flush=True)


def flood(server: Server, good: Path, bad: Path, seconds: float) -> None:
    alone = load(server, good, seconds, 8, 3)
    attack = start_load(server.url, bad, seconds + 1, 8, 3)
    together = load(server, good, seconds, 8, 3)
    forgeries = finish(attack)
    print(
        f"{'good tokens in a flood of forged':34} p99 {alone.p99:.2f} ms alone, {together.p99:.2f} ms under "
        f"{forgeries.rate:.0f} forged/s: {together.p99 / alone.p99:.2f} (bar 2)"
    )


def main(arguments: Sequence[str]) -> None:
    seconds = float(arguments[0]) if arguments else 5
    rounds = int(arguments[1]) if len(arguments) > 1 else 5
    os.environ["LMS_SECRET"] = SECRET.decode()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as held:
        folder = Path(name)
        hmacs = write(folder / "signed", signed, COUNT)
        base = held.enter_context(bare())
        own = held.enter_context(listening())
        best = compared(
            "signatures", lambda: load(base, hmacs, seconds), lambda: load(own, hmacs, seconds), rounds, 0.9
        )
        fields = write(folder / "fields", signed_many_fields, COUNT)
        compared("30 fields", lambda: load(base, fields, seconds), lambda: load(own, fields, seconds), rounds, 0.9)
        latency(own, hmacs, best.rate, seconds)
        with listening("--handler", "true") as started:
            programs(started, fields, seconds)
        with listening("--inbox", str(folder / "inbox.db")) as inbox:
            compared(
                "inbox (bar 3000/s)", lambda: load(base, hmacs, seconds), lambda: load(inbox, hmacs, seconds), rounds, 0
            )
        for kind, bar in (("type", 0.8), ("equal", 0.8), ("order", 0.8)):
            one, many = (str(routes(folder, count, kind)) for count in (1, 1000))
            with listening("--routes", one) as first, listening("--routes", many) as second:
                compared(
                    f"1000 routes, {kind}", lambda url=first: load(url, hmacs, seconds),  # type: ignore[misc]
                    lambda url=second: load(url, hmacs, seconds), rounds, bar,  # type: ignore[misc]
                )  # fmt: skip
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        good = write(folder / "tokens", tokens(key), TOKENS)
        bad = write(folder / "forged", forged, TOKENS)
        (folder / "jwks.json").write_bytes(key_set(key))
        # Signing is slow, so there are few tokens: remember fewer, so that each is new when its turn comes again.
        (folder / "definitions").mkdir()
        (folder / "definitions" / "few.toml").write_text(f"[listener.webhook]\nremember = {TOKENS // 2}\n", "utf-8")
        port = free_port()
        command = ("-m", "http.server", str(port), "--bind", "127.0.0.1", "-d", name)
        jwks = f"http://127.0.0.1:{port}/jwks.json"
        few = str(folder / "definitions")
        with running(*command, port=port), listening("--jwks-url", jwks, definitions=few) as proved:
            compared("tokens", lambda: load(base, hmacs, seconds), lambda: load(proved, good, seconds), rounds, 0.5)
            flood(proved, good, bad, seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
