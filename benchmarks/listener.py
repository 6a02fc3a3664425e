"""The listener against a bare application, in one run: `python3 benchmarks/listener.py [seconds] [rounds] [row ...]`.

Servers run on the first core, the load (wrk) on the second. Rounds of all servers alternate, and the figure is the
median of the ratios of neighbours, so that what else the machine does touches both sides alike. With 3 seconds and 3
rounds, the default, all rows take five minutes. Rows: signatures, fields, tokens, programs, inbox, extras, latency,
routes, workers.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import rsa
from listener_made import (
    COUNT,
    SECRET,
    TOKENS,
    forged,
    key_set,
    signed,
    signed_lists,
    signed_many_fields,
    tokens,
    write,
)
from listener_processes import HERE, Result, Server, bare, finish, free_port, listening, load, running, start_load

APPEND = '[route.r]\ndo = [{{ handler = "append", file = "{file}" }}]\n'


class Bench(NamedTuple):
    folder: Path
    seconds: float
    rounds: int
    base: Server  # the bare application
    signed: Path

    def load(self, server: Server, requests: Path | None = None) -> Result:
        return load(server, requests or self.signed, self.seconds)


def compared(
    name: str, first: Callable[[], Result], second: Callable[[], Result], rounds: int, bar: str, *, show: bool = True
) -> Result:
    """Print the ratio of the second to the first; returns the second's median result."""
    pairs = [(first(), second()) for _ in range(rounds)]
    ratio = statistics.median(own.rate / other.rate for other, own in pairs)
    by_cost = statistics.median(other.cost / own.cost for other, own in pairs)
    middle = sorted((own for _, own in pairs), key=lambda result: result.rate)[rounds // 2]
    base = statistics.median(other.rate for other, _ in pairs)
    base_cost = statistics.median(other.cost for other, _ in pairs)
    cost = statistics.median(own.cost for _, own in pairs)
    ratios = f"ratio {ratio:4.2f}, by processor time {by_cost:4.2f}, " if show else ""
    print(
        f"{name:27} {middle.rate:6.0f}/s, {cost:5.1f} us each, p99 {middle.p99:.2f} ms; {ratios}"
        f"bare {base:6.0f}/s, {base_cost:4.1f} us (wanted {bar})",
        flush=True,
    )
    return middle


def signatures(bench: Bench) -> None:
    with listening() as own:
        compared(
            "signatures, one long text", lambda: bench.load(bench.base), lambda: bench.load(own), bench.rounds, "0.9"
        )


def fields(bench: Bench) -> None:
    made = write(bench.folder / "fields", signed_many_fields, COUNT)
    with listening() as own:
        first, second = lambda: bench.load(bench.base, made), lambda: bench.load(own, made)
        compared("signatures, 30 fields", first, second, bench.rounds, "0.9")


def inbox(bench: Bench) -> None:
    """New events only: an event that is known is neither written nor synced."""
    made = write(bench.folder / "inbox", signed_many_fields, COUNT)
    with listening("--inbox", str(bench.folder / "plain.db")) as own:
        compared(
            "inbox, no handler",
            lambda: bench.load(bench.base, made),
            lambda: bench.load(own, made),
            bench.rounds,
            "3000/s",
            show=False,
        )
        _check_new(own, made)
    file = bench.folder / "handled"
    routes = bench.folder / "append.toml"
    routes.write_text(APPEND.format(file=file), encoding="utf-8")
    handled: list[float] = []
    with listening("--inbox", str(bench.folder / "handled.db"), "--routes", str(routes)) as own:

        def once() -> Result:
            before, cost = _lines(file), own.cost().own
            result = bench.load(own, made)
            ended = time.perf_counter()
            while (lines := _lines(file) - before) < result.requests:  # what was accepted is still being handled
                time.sleep(0.01)
            handled.append(lines / (bench.seconds + time.perf_counter() - ended))
            return result._replace(cost=(own.cost().own - cost) / lines * 1e6)

        bar = "4000/s, reach 8000/s"
        compared("inbox, a line for each", lambda: bench.load(bench.base, made), once, bench.rounds, bar, show=False)
        _check_new(own, made)
    print(f"{'':27} {statistics.median(handled):6.0f}/s handled, to the last one", flush=True)


# Beside a line of a file for each event: what one more thing costs. `{}` is the folder.
EXTRAS = {
    "the same once more": ("", ()),
    "send": (', send = "{{body.field_1}} {{id}}"', ()),
    "envelope of CloudEvents": (', envelope = "cloudevents"', ()),
    "reply": ('}}]\n[route.r.reply]\nbody = {{ got = "{{id}}" }}\n# ', ()),
    "a rate and a circuit": (', rate = "1000000/s", circuit = {{ failures = 5, pause = "1s" }}', ()),
    "the page": ("", ("--ui",)),
    "spans": ("", ("spans",)),
    "ten events in a delivery": ("", ("--source", "many")),
}
MANY = """[source.many]
title  = "Many"
path   = "/webhook"
events = "payload.events"
type   = "payload.event_type"
id     = "payload.id"
body   = "payload.body"
hmac   = { header = "X-Lms-Signature", algorithm = "sha256", encoding = "hex", env = "LMS_SECRET" }
[event."many.any"]
source   = "many"
type     = "*"
category = "Many"
"""


def extras(bench: Bench) -> None:
    """Processor time of an event, against a listener that has nothing more than a line of a file for each."""
    (bench.folder / "extras").mkdir()
    (bench.folder / "extras" / "many.toml").write_text(MANY, encoding="utf-8")
    one, ten = (write(bench.folder / str(count), signed_lists(count), COUNT // count) for count in (1, 10))
    fields = write(bench.folder / "fields", signed_many_fields, COUNT)
    for name, (more, _) in {"": ("", ()), **EXTRAS}.items():
        (bench.folder / f"{name}.toml").write_text(_route_with(bench.folder / "out", more), encoding="utf-8")
    for name, (_, options) in EXTRAS.items():
        lists = "many" in options
        with (
            _listening_with(bench, "", ("--source", "many") if lists else ()) as plain,
            _listening_with(bench, name, options) as own,
        ):
            pairs = [
                (bench.load(plain, one if lists else fields), bench.load(own, ten if lists else fields))
                for _ in range(bench.rounds)
            ]
        each = 10 if lists else 1
        ratio = statistics.median(second.cost / each / first.cost for first, second in pairs)
        first, second = (statistics.median(pair[place].cost for pair in pairs) for place in (0, 1))
        print(f"{name:27} {second / each:6.1f} us of an event, {first:.1f} without it: {ratio:.2f}", flush=True)


def _route_with(file: Path, more: str) -> str:
    return APPEND.format(file=file).replace('" }]', '"' + more.replace("{{", "{").replace("}}", "}") + " }]")


def _listening_with(bench: Bench, name: str, options: Sequence[str]) -> contextlib.AbstractContextManager[Server]:
    words = ("--routes", str(bench.folder / f"{name}.toml"), *(option for option in options if option != "spans"))
    return listening(*words, definitions=str(bench.folder / "extras"), traced="spans" in options)


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _check_new(own: Server, requests: Path) -> None:
    if own.sent[requests] > COUNT:
        print("  events came twice: fewer seconds or rounds, or a larger COUNT in listener_made.py")


def programs(bench: Bench) -> None:
    """A program that does nothing for every event, and what starting it costs without a listener."""
    alone, own_results, others = [], [], []
    with listening("--handler", "true") as own, _other_listener(bench.folder) as other:
        for _ in range(bench.rounds):
            command = [
                "taskset",
                "-c",
                "0",
                sys.executable,
                str(HERE / "listener_bare.py"),
                "start",
                str(bench.seconds),
            ]
            alone.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            own_results.append(bench.load(own))
            if other is not None:
                others.append(bench.load(other))
    middle = sorted(own_results, key=lambda result: result.rate)[bench.rounds // 2]
    print(
        f"{'a program for every event':27} {middle.rate:6.0f}/s, {middle.cost:.0f} us of the listener and "
        f"{middle.programs:.0f} us of the program each, p99 {middle.p99:.0f} ms; started alone, one after the other "
        f"{statistics.median(alone):.0f}/s (wanted 1000/s)"
    )
    if others:
        rate, cost, programs = (
            statistics.median(getattr(each, name) for each in others) for name in ("rate", "cost", "programs")
        )
        ratio = statistics.median(own.rate / other.rate for own, other in zip(own_results, others, strict=True))
        print(
            f"{'':27} {rate:6.0f}/s with adnanh/webhook, {cost:.0f} and {programs:.0f} us: ratio {ratio:4.2f}",
            flush=True,
        )


@contextlib.contextmanager
def _other_listener(folder: Path) -> Iterator[Server | None]:
    """adnanh/webhook, where it is on the PATH, waiting for its programs as ours does."""
    if (found := shutil.which("webhook")) is None:
        yield None
        return
    hook = {"id": "webhook", "execute-command": shutil.which("true"), "include-command-output-in-response": True}
    (folder / "hooks.json").write_text(json.dumps([hook]), encoding="utf-8")
    port = free_port()
    options = ("-hooks", str(folder / "hooks.json"), "-ip", "127.0.0.1", "-port", str(port), "-urlprefix", "")
    with running(found, *options, port=port) as server:
        yield server


def latency(bench: Bench) -> None:
    """At four fifths of the maximum: a pause of 3 ms, and as many connections as give that rate."""
    with listening() as own:
        most = bench.load(own).rate
        result = load(own, bench.signed, bench.seconds, max(1, round(most * 0.8 * 0.0036)), 3)
    share = f"{result.rate / most:.0%} of the maximum"
    print(
        f"{'p99 below the maximum':27} {result.rate:6.0f}/s ({share}), p99 {result.p99:.2f} ms (wanted 15)", flush=True
    )


def routes(bench: Bench) -> None:
    for kind in ("type", "equal"):
        one, many = (str(_routes(bench.folder, count, kind)) for count in (1, 1000))
        with listening("--routes", one) as first, listening("--routes", many) as second:
            pairs = [(bench.load(first), bench.load(second)) for _ in range(max(1, bench.rounds - 1))]
        ratio = statistics.median(own.rate / other.rate for other, own in pairs)
        by_cost = statistics.median(other.cost / own.cost for other, own in pairs)
        print(
            f"{f'1000 routes by {kind}':27} ratio {ratio:4.2f} to one, by processor time {by_cost:4.2f} (wanted 0.8)",
            flush=True,
        )


def _routes(folder: Path, count: int, kind: str) -> Path:
    """Routes that never match, told apart by type or by a fixed value."""
    path = folder / f"{kind}-{count}.toml"
    on = '["quiz_submitted"]' if kind == "type" else '["grade_change"]'
    rest = f'on = {on}\ndo = [{{ handler = "append", file = "x" }}]\n'
    text = (f'[route.r{number}]\nwhen = "body.course_id == `{number + 100_000}`"\n{rest}' for number in range(count))
    path.write_text("\n".join(text), encoding="utf-8")
    return path


def all_tokens(bench: Bench) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    good = write(bench.folder / "tokens", tokens(key), TOKENS)
    bad = write(bench.folder / "forged", forged, TOKENS)
    (bench.folder / "jwks.json").write_bytes(key_set(key))
    # Signing is slow, so there are few tokens: remember fewer, so that each is new when its turn comes again.
    (bench.folder / "definitions").mkdir()
    few = f"[listener.webhook]\ndedup_size = {TOKENS // 2}\n"
    (bench.folder / "definitions" / "few.toml").write_text(few, encoding="utf-8")
    port = free_port()
    command = (sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "-d", str(bench.folder))
    jwks = f"http://127.0.0.1:{port}/jwks.json"
    with (
        running(*command, port=port),
        listening("--jwks-url", jwks, definitions=str(bench.folder / "definitions")) as own,
    ):
        compared("tokens (RS256)", lambda: bench.load(bench.base), lambda: bench.load(own, good), bench.rounds, "0.5")
        _flood(own, good, bad, bench.seconds)


def _flood(server: Server, good: Path, bad: Path, seconds: float) -> None:
    alone = load(server, good, seconds, 8, 3)
    attack = start_load(server.url, bad, seconds + 1, 8, 3)
    together = load(server, good, seconds, 8, 3)
    forgeries = finish(attack, is_forged=True)
    print(
        f"{'good tokens, forged ones':27} p99 {alone.p99:.2f} ms alone, {together.p99:.2f} ms under "
        f"{forgeries.rate:.0f} forged/s: {together.p99 / alone.p99:.2f} (wanted 2)",
        flush=True,
    )


def workers(bench: Bench) -> None:
    """One and two workers on both cores, which the load shares: what counts is the processor time of an event."""
    routes = bench.folder / "lines.toml"
    routes.write_text(APPEND.format(file=bench.folder / "lines"), encoding="utf-8")
    kinds = {
        "no handler": (),
        "a program for each": ("--handler", "true"),
        "a line for each": ("--routes", str(routes)),
        "inbox, a line for each": ("--routes", str(routes), "--inbox", str(bench.folder / "{}.db")),
    }
    for kind, options in kinds.items():
        with contextlib.ExitStack() as held:
            one, two = (
                held.enter_context(listening("--workers", count, *(o.format(count) for o in options), cores="0,1"))
                for count in ("1", "2")
            )
            pairs = [
                tuple(load(server, bench.signed, bench.seconds, 64, cores="0,1") for server in (one, two))
                for _ in range(max(1, bench.rounds - 1))
            ]
        pairs = [tuple(each._replace(cost=each.cost + each.programs) for each in pair) for pair in pairs]
        costs = [statistics.median(pair[place].cost for pair in pairs) for place in (0, 1)]
        rates = [statistics.median(pair[place].rate for pair in pairs) for place in (0, 1)]
        scale = statistics.median(2 * first.cost / second.cost for first, second in pairs)
        print(
            f"{'2 workers, ' + kind:27} {scale:4.2f} times one by processor time: {costs[0]:.1f} us each with one, "
            f"{costs[1]:.1f} with two; {rates[0]:.0f}/s and {rates[1]:.0f}/s beside the load (wanted 1.7)",
            flush=True,
        )


ROWS: dict[str, Callable[[Bench], None]] = {
    "signatures": signatures, "fields": fields, "tokens": all_tokens, "programs": programs, "inbox": inbox,
    "extras": extras, "latency": latency, "routes": routes, "workers": workers,
}  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    numbers = [float(word) for word in arguments if word not in ROWS]
    chosen = [word for word in arguments if word in ROWS] or list(ROWS)
    seconds, rounds = (*numbers, 3, 3)[:2] if len(numbers) < 2 else numbers[:2]
    os.environ["LMS_SECRET"] = SECRET.decode()
    with tempfile.TemporaryDirectory() as name, bare() as base:
        folder = Path(name)
        bench = Bench(folder, seconds, int(rounds), base, write(folder / "signed", signed, COUNT))
        for row in chosen:
            ROWS[row](bench)


if __name__ == "__main__":
    main(sys.argv[1:])
