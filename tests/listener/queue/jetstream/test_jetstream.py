"""Listeners and workers of one queue on a real server: nothing is lost, whoever is killed."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import itertools
import json
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from callsheet.listener.queue.jetstream.jetstream_queue import JetStreamQueue
from callsheet.listener.queue.jetstream.nats_connection import QueueAccess, QueueAddress
from support.listening import Listener, event, run, until
from support.nats import Crew, Server, nats_server, needs_server, ready

pytestmark = [pytest.mark.slow, needs_server, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]

APPEND = '[route.r]\ndo = [{ handler = "append", file = "got" }]\n'
QUICK = '[listener.webhook]\nbackoff = "200ms"\nmax_attempts = 3\n[queue.jetstream]\nlease = "3s"\n'


def ids(path: Path) -> collections.Counter[str]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return collections.Counter(json.loads(line)["id"] for line in text.splitlines())


def test_failures_are_repeated_given_up_read_and_replayed_as_in_a_file(tmp_path: Path) -> None:
    handler = tmp_path / "flaky"
    handler.write_text("#!/bin/sh\necho $EVENT_ID >> tried\ntest $EVENT_ID = good -o -e fixed\n", encoding="utf-8")
    handler.chmod(0o755)
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./flaky"] }, { handler = "append", file = "got" }]\n'
    with nats_server(tmp_path) as server, Crew(tmp_path, server, routes, QUICK) as crew:
        listener, worker = crew.listener(), crew.worker()
        ready(listener, worker)
        for name in ("worse", "bad", "good", "bad"):
            assert listener.post(event(name)).status == 200
        listener.logged("200 duplicate")
        worker.logged("200 handled")
        until(lambda: worker.err.count("500 given_up") == 2, "two that were given up")
        assert ids(tmp_path / "got") == {"worse": 1, "bad": 1, "good": 1}
        assert (tmp_path / "tried").read_text(encoding="utf-8").count("bad") == 3
        dead, _ = sorted(crew.inbox("dead"), key=lambda row: row["id"])
        assert (dead["state"], dead["id"], dead["attempts"]) == ("dead", "bad", 3)
        assert "exit code 1" in dead["error"]
        assert crew.inbox("show", "bad")["payload"]["id"] == "bad"
        assert crew.inbox("show", str(dead["key"]))["id"] == "bad"
        (tmp_path / "fixed").touch()
        (replayed,) = crew.inbox("replay", "bad")
        assert (replayed["state"], replayed["attempts"]) == ("waiting", 0)
        until(lambda: ids(tmp_path / "got")["bad"] == 2, "the replay")
        until(lambda: [row["id"] for row in crew.inbox("list")] == ["worse"], "the end")
        crew.inbox("purge", "--state", "dead", "--older", "0", "--yes")
        assert crew.inbox("list") == []
        assert worker.stop() == 0
        assert listener.stop() == 0


def test_each_target_is_tried_by_its_own_schedule_and_replayed_alone(tmp_path: Path) -> None:
    """As with an inbox; the events of a queue are gone when they are handled."""
    routes = """[route.r]
do = [
  { handler = "exec", name = "short", run = ["sh", "-c", "echo x >> short; test -e mended"], max_attempts = 2 },
  { handler = "exec", name = "long", run = ["sh", "-c", "echo x >> long; test -e there"], max_attempts = 100 },
  { handler = "append", name = "file", file = "got" },
]
"""
    soon = '[extend.listener.webhook]\nbackoff = "100ms"\nbackoff_max = "200ms"\n'

    def runs(name: str) -> int:
        path = tmp_path / name
        return path.read_text(encoding="utf-8").count("x") if path.exists() else 0

    with nats_server(tmp_path) as server, Crew(tmp_path, server, routes, soon) as crew:
        listener, worker = crew.listener(), crew.worker()
        ready(listener, worker)
        assert listener.post(event("a")).status == 200
        until(lambda: runs("long") >= 5, "five attempts")
        assert (runs("short"), ids(tmp_path / "got")) == (2, {"a": 1})
        (failed,) = crew.inbox("list", "--target", "r/short")
        assert (failed["id"], failed["state"], failed["attempts"], failed["error"]) == ("a", "dead", 2, "exit code 1")
        (waits,) = crew.inbox("list", "--target", "r/long")
        assert (waits["state"], waits["attempts"] >= 4) == ("waiting", True)
        done = run(tmp_path, "inbox", "list", "--queue", server.url, "--target", "r/shirt")
        assert (done.returncode, "did you mean 'r/short'?" in done.stderr) == (2, True)

        (tmp_path / "there").touch()
        worker.logged("500 given_up")
        (dead,) = crew.inbox("dead")
        assert dead["error"] == "r/short: exit code 1"
        assert sorted(crew.inbox("show", "a")["succeeded"]) == ["r/file", "r/long"]

        (tmp_path / "mended").touch()
        before = runs("long")
        crew.inbox("replay", "--state", "dead", "--target", "r/short")
        worker.logged("200 handled")
        assert (runs("short"), runs("long"), ids(tmp_path / "got")) == (3, before, {"a": 1})
        assert [worker.stop(), listener.stop()] == [0, 0]


def test_a_full_or_absent_queue_is_told_to_the_sender(tmp_path: Path) -> None:
    limited = "[queue.jetstream]\nmax_events = 2\n"
    with nats_server(tmp_path) as server, Crew(tmp_path, server, definitions=limited) as crew:
        listener = crew.listener()
        ready(listener)
        assert [listener.post(event(name)).status for name in "ab"] == [200, 200]
        answer = listener.post(event("c"))
        assert (answer.status, "retry-after" in answer.headers) == (503, True)
        assert listener.request("GET", "/ready").status == 503
        assert [row["id"] for row in crew.inbox("list", "--state", "waiting")] == ["b", "a"]
        assert [row["id"] for row in crew.inbox("list", "--max", "1")] == ["b"]
        server.kill()
        answer = listener.post(event("a"))
        assert (answer.status, "retry-after" in answer.headers) == (503, True)
        server.start()
        until(lambda: listener.post(event("a")).status == 200, "the connection")
        assert {row["id"] for row in crew.inbox("list")} == {"a", "b"}


def test_a_server_that_refuses_what_it_took_before_is_told_once(tmp_path: Path) -> None:
    users = "authorization {{ users = [{{ user: u, password: {} }}] }}"
    with nats_server(tmp_path, users.format("first")) as server, Crew(tmp_path, server) as crew:
        crew.environ["LMS_QUEUE_CREDENTIALS"] = "u:first"
        listener = crew.listener()
        ready(listener)
        for password in ("second", "first"):
            server.kill()
            server.config = users.format(password)
            server.start()
            listener.logged("not allowed any more" if password == "second" else "again")
        until(lambda: listener.post(event("a")).status == 200, "the connection")
        assert listener.err.count("not allowed any more") == 1
        assert listener.stop() == 0


def test_a_listener_that_gets_no_events_is_ready_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not ready is sent nothing, and would never learn that there is room again."""
    access = QueueAccess(QueueAddress(("nats://127.0.0.1:9",), "EVENTS"), {}, None, "1s")
    definition: Any = {"subject": "callsheet"}
    queue = JetStreamQueue(access, definition, lambda _: None, consumes=False)
    queue._connection = SimpleNamespace(is_connected=True)
    queue._failure, queue._failed_at = "full", time.monotonic()
    assert queue.problem == "full"
    monkeypatch.setattr("callsheet.listener.queue.jetstream.jetstream_queue.FAILURE_LASTS", 0.0)
    assert queue.problem is None


def test_what_a_killed_worker_held_is_taken_by_another_and_only_what_is_missing_runs(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho x >> started\ntest -e second || sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    jobs = '{ handler = "append", file = "got" }, { handler = "exec", run = ["./slow"], timeout = "2m" }'
    routes = f"[route.r]\ndo = [{jobs}]\n"
    with nats_server(tmp_path) as server, Crew(tmp_path, server, routes, QUICK) as crew:
        listener, first = crew.listener(), crew.worker()
        ready(listener, first)
        assert listener.post(event("k")).status == 200
        until((tmp_path / "started").exists, "the start")
        until(lambda: crew.inbox("show", "k")["succeeded"] == ["r/1"], "the note of the first success")
        assert [row["state"] for row in crew.inbox("list")] == ["running"]
        first.process.kill()
        (tmp_path / "second").touch()
        second = crew.worker()
        second.logged("200 handled")
        assert ids(tmp_path / "got") == {"k": 1}


class Senders:
    """Send every event until some listener has taken it, or the test has ended: they would be in the way of others."""

    def __init__(self, listeners: list[Listener], count: int, threads: int = 6) -> None:
        self.listeners = listeners
        self.acknowledged: list[str] = []
        self._ended = threading.Event()
        self._numbers = iter(range(count))
        self._threads = [threading.Thread(target=self._send) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _send(self) -> None:
        for number in self._numbers:
            for listener in itertools.cycle(self.listeners):
                if self._ended.is_set():
                    return
                try:
                    if listener.post(event(f"e{number}")).status == 200:
                        break
                except OSError:
                    time.sleep(0.05)
            self.acknowledged.append(f"e{number}")

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


@pytest.mark.slow
def test_killed_one_after_another_nothing_is_lost(tmp_path: Path) -> None:
    """Repeated is only what a process held that was killed, or what the server had no time to note."""
    count = 900
    with nats_server(tmp_path) as server, Crew(tmp_path, server, APPEND, QUICK) as crew:
        listeners, workers = [crew.listener() for _ in range(3)], [crew.worker() for _ in range(3)]
        ready(*listeners, *workers)
        with Senders(listeners, count) as senders:
            calm = until(lambda: len(senders.acknowledged) > count // 4 and ids(tmp_path / "got"), "some events")
            assert set(calm.values()) == {1}
            fresh = (crew.listener(), crew.worker())  # so that each of the first can be killed
            victims = (workers[0], listeners[0], server, workers[1], listeners[1], workers[2], listeners[2])
            for number, victim in enumerate(victims, 3):
                until(lambda number=number: len(senders.acknowledged) > count * number // 11, "more events")
                if victim is workers[2]:
                    ready(*fresh)
                    listeners.append(fresh[0])
                if isinstance(victim, Server):
                    victim.kill()
                    victim.start()
                else:
                    victim.process.kill()
            senders.join()
        until(lambda: len(ids(tmp_path / "got")) == count, "all events")
        until(lambda: crew.inbox("list") == [], "an empty queue")
        got = ids(tmp_path / "got")
        assert set(senders.acknowledged) == set(got)
        repeated = sum(times - 1 for times in got.values())
        assert repeated <= 7 * 64, f"{repeated} of {count} ran twice"


@pytest.mark.slow
def test_check_reads_what_the_server_promises(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        before = run(tmp_path, "check", "--queue", server.url)
        assert (before.returncode, "not there yet" in before.stderr) == (0, True), before.stderr
        asyncio.run(odd_stream(server, subjects=["other"], storage="memory", duplicate_window=60))
        checked = run(tmp_path, "check", "--queue", server.url)
        for words in ("sync_interval: always", "kept in memory", "does not take", "discard = old", "later than 60 s"):
            assert words in checked.stderr
        assert "lms repeats a delivery for 20m" in checked.stderr
        assert checked.returncode == 1
        used = run(tmp_path, "work", "--queue", server.url, "--handler", "true")
        assert (used.returncode, "does not take" in used.stderr) == (2, True), used.stderr
        listed = run(tmp_path, "inbox", "list", "--queue", f"{server.url}X")
        assert (listed.returncode, "no queue EVENTSX" in listed.stderr) == (4, True), listed.stderr
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.toml").write_text('[queue.jetstream]\nconnect_timeout = "500ms"\n', encoding="utf-8")
    given = {"LMS_QUEUE_CREDENTIALS": "user:hunter2", "LMS_DEFINITIONS": str(tmp_path / "own")}
    gone = run(tmp_path, "inbox", "list", "--queue", server.url, **given)
    assert (gone.returncode, "hunter2" in gone.stderr, "Traceback" in gone.stderr) == (7, False, False), gone.stderr
    for words in (["listen", "--addr", "127.0.0.1:0"], ["work", "--addr", "127.0.0.1:0", "--handler", "true"]):
        gone = run(tmp_path, *words, "--queue", server.url, **given)
        assert (gone.returncode, "http://" in gone.stderr) == (7, False), gone.stderr


def test_a_stream_that_loses_events_is_an_error_of_check_and_a_warning_at_each_start(tmp_path: Path) -> None:
    own = {"subjects": ["callsheet.EVENTS.event.*"], "retention": "workqueue"}
    with nats_server(tmp_path) as server, Crew(tmp_path, server) as crew:
        asyncio.run(odd_stream(server, **own, max_msgs=5, max_age=60, max_msgs_per_subject=1))
        checked = run(tmp_path, "check", "--queue", server.url)
        said = ("discard = old", "max_age", "max_msgs_per_subject")
        assert (checked.returncode, [words in checked.stderr for words in said]) == (1, [True] * 3), checked.stderr
        listener = crew.listener()
        ready(listener)
        assert all(f"{words})" in listener.logged(f"({words}") for words in said)
        asyncio.run(odd_stream(server, name="OTHER-dead", subjects=["x"]))
        other = {"subjects": ["callsheet.OTHER.event.*"], "discard": "new", "retention": "workqueue"}
        asyncio.run(odd_stream(server, name="OTHER", **other))
        checked = run(tmp_path, "check", "--queue", server.url.replace("EVENTS", "OTHER"))
        assert (checked.returncode, "OTHER-dead: when it is full" in checked.stderr) == (1, True), checked.stderr


@pytest.mark.parametrize("config", ["", "jetstream { sync_interval: always }"])
def test_how_often_a_server_syncs_is_read_at_its_monitoring_port(config: str, tmp_path: Path) -> None:
    with nats_server(tmp_path, f"{config}\nhttp: 127.0.0.1:-1\nports_file_dir: {json.dumps(str(tmp_path))}") as server:
        until(lambda: written_ports(tmp_path), "its ports, which it writes after it listens")
        (monitor,) = written_ports(tmp_path)["monitoring"]
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "own.toml").write_text(f'[queue.jetstream]\nmonitor = "{monitor}"\n', encoding="utf-8")
        checked = run(tmp_path, "check", "--queue", server.url, LMS_DEFINITIONS=str(tmp_path / "own"))
        assert (checked.returncode, "it writes every 120 s" in checked.stderr) == (0, not config), checked.stderr
        assert ("one replica" in checked.stderr) is not bool(config)


def written_ports(folder: Path) -> dict[str, list[str]]:
    """Nothing as long as the file is not there, or not whole."""
    with contextlib.suppress(ValueError):
        return next((json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("nats-server_*.ports")), {})
    return {}


async def odd_stream(server: Server, **settings: Any) -> None:
    import nats
    from nats.js.api import StreamConfig

    connection = await nats.connect(server.url.rpartition("/")[0])
    await connection.jetstream().add_stream(StreamConfig(**{"name": "EVENTS", **settings}))
    await connection.close()


def test_what_excludes_a_queue_is_said_before_anything_is_done(tmp_path: Path) -> None:
    url = "nats://127.0.0.1:9/EVENTS"
    for words, said in (
        (("listen", "--queue", url, "--inbox", "in.db"), "cannot be used together"),
        (("listen", "--queue", url, "--handler", "true"), "webhook work"),
        (("work",), "LMS_QUEUE"),
        (("work", "--queue", url), "nothing to do"),
        (("inbox", "list", "--queue", url, "--inbox", "in.db"), "give one of them"),
        (("inbox", "list", "--queue", "in.db"), "not an address"),
    ):
        done = run(tmp_path, *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "in.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["consumer work", "stream EVENTS,", "stream EVENTS-dead", "bucket EVENTS-state"])
def test_what_is_deleted_on_the_server_is_made_again(part: str, tmp_path: Path) -> None:
    routes = '[route.r]\ndo = [{ handler = "append", file = "got" }, { handler = "exec", run = ["false"] }]\n'
    own = '[listener.webhook]\nbackoff = "100ms"\nmax_attempts = 2\n[queue.jetstream]\nlease = "3s"\n'
    with nats_server(tmp_path) as server, Crew(tmp_path, server, routes, own) as crew:
        listener, worker = crew.listener(), crew.worker("--addr", "127.0.0.1:0")
        ready(listener, worker)
        asyncio.run(delete(server, part.strip(",")))
        until(lambda: "made again" in listener.err + worker.err, "what was deleted")  # by whoever comes first
        assert part in listener.err + worker.err
        assert listener.post(event("a")).status == 200
        worker.logged("500 given_up")
        until(lambda: [row["id"] for row in crew.inbox("dead")] == ["a"], "the dead event")
        until(lambda: worker.request("GET", "/ready").status == 200, "ready")


async def delete(server: Server, part: str) -> None:
    import nats

    kind, _, name = part.partition(" ")
    connection = await nats.connect(server.url.rpartition("/")[0])
    jetstream = connection.jetstream()
    if kind == "consumer":
        await jetstream.delete_consumer("EVENTS", name)
    else:
        await jetstream.delete_stream(name if kind == "stream" else f"KV_{name}")
    await connection.close()
