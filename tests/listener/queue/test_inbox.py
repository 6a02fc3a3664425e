"""The durable inbox: nothing acknowledged is lost, whatever happens to the process."""

from __future__ import annotations

import collections
import contextlib
import json
import random
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callsheet.listener.handlers.target import RetrySchedule
from support.listening import Listener, event, listening, run, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

APPEND = '[route.r]\ndo = [{ handler = "append", file = "got" }]\n'
QUICK = '[listener.webhook]\nbackoff = "200ms"\nmax_attempts = 3\n'

# The next process waits for the lease of one that was killed. There is never another one that could take it too early.
SHORT_LEASE = "from callsheet.listener.queue.sqlite import file_queue as q; q.LEASE, q.FileQueue.renew_every = 1.2, 0.1"


# How long a statement waits while another program holds the file's lock, and how long until it is tried again.
SHORT_BUSY_WAIT = (
    "from callsheet.listener.queue.sqlite import inbox_file; inbox_file.BUSY_WAIT = 0.3; "
    "from callsheet.listener.queue import queue_worker; queue_worker._MAX_RETRY_DELAY = 0.2"
)


def ids(path: Path) -> collections.Counter[str]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return collections.Counter(json.loads(line)["id"] for line in text.splitlines())


def rows(folder: Path, *arguments: str) -> list[dict[str, object]]:
    done = run(folder, "inbox", *arguments, "--inbox", "in.db", "-o", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_events_are_kept_handled_and_not_taken_twice_over_restarts(tmp_path: Path) -> None:
    for _ in range(2):
        with listening(tmp_path, "--inbox", "in.db", routes=APPEND) as listener:
            assert listener.post(event("1")).status == 200
            assert listener.post(event("1")).status == 200
            listener.logged("200 duplicate")
            until(lambda: ids(tmp_path / "got")["1"], "the run")
            assert listener.stop() == 0
    assert ids(tmp_path / "got") == {"1": 1}
    (row,) = rows(tmp_path, "list")
    assert (row["state"], row["id"], row["attempts"]) == ("done", "1", 1)
    assert (tmp_path / "in.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_failures_back_off_then_are_given_up_and_can_be_replayed(tmp_path: Path) -> None:
    handler = tmp_path / "flaky"
    handler.write_text("#!/bin/sh\necho x >> tried\ntest -e fixed\n", encoding="utf-8")
    handler.chmod(0o755)
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./flaky"] }, { handler = "append", file = "got" }]\n'
    with listening(tmp_path, "--inbox", "in.db", routes=routes, definitions=QUICK) as listener:
        assert listener.post(event("a")).status == 200
        listener.logged("given_up")
        assert ids(tmp_path / "got") == {"a": 1}
        assert (tmp_path / "tried").read_text(encoding="utf-8") == "x\n" * 3
        (dead,) = rows(tmp_path, "dead")
        assert "exit code 1" in str(dead["error"])
        shown = run(tmp_path, "inbox", "show", "a", "--inbox", "in.db", "-o", "json")
        assert json.loads(shown.stdout)["succeeded"] == ["r/2"]
        assert json.loads(shown.stdout)["payload"]["id"] == "a"
        (tmp_path / "fixed").touch()
        assert rows(tmp_path, "list", "--type", f"{str(dead['type'])[:3]}*") == [dead]
        assert rows(tmp_path, "list", "--type", "other") == []
        assert run(tmp_path, "inbox", "replay", "--inbox", "in.db").returncode == 2
        assert run(tmp_path, "inbox", "replay", "--state", "dead", "--inbox", "in.db").returncode == 0
        until(lambda: rows(tmp_path, "list", "--state", "done"), "the replay")
    assert ids(tmp_path / "got") == {"a": 2}
    asked = run(tmp_path, "inbox", "purge", "--inbox", "in.db")
    assert (asked.returncode, "Delete done events that were done more than 7 d ago?" in asked.stderr) == (2, True)
    for word, number in (("list", "0"), ("dead", "-1")):
        refused = run(tmp_path, "inbox", word, "--inbox", "in.db", "--max", number)
        assert (refused.returncode, f"at least 1, not {number}" in refused.stderr) == (2, True)
    assert "--inbox is empty" in run(tmp_path, "inbox", "list", "--inbox=", LMS_INBOX="in.db").stderr
    assert run(tmp_path, "inbox", "purge", "--inbox", "in.db", "--older", "0", "--yes").returncode == 0
    assert rows(tmp_path, "list") == []


def post_until_dead(listener: Listener, prefix: str, acknowledged: list[str]) -> None:
    for number in range(100_000):
        id = f"{prefix}-{number}"
        try:
            if listener.post(event(id)).status == 200:
                acknowledged.append(id)
        except OSError:
            return


@pytest.mark.slow
def test_killed_again_and_again_nothing_is_lost(tmp_path: Path) -> None:
    """A run that the kill cut off happens again; one whose success was noted does not. Both are counted."""
    rounds, senders, acknowledged = 4, 3, list[str]()
    chance = random.Random(7)
    for number in range(rounds):
        with listening(tmp_path, "--inbox", "in.db", routes=APPEND, patch=SHORT_LEASE) as listener:
            threads = [
                threading.Thread(target=post_until_dead, args=(listener, f"{number}-{sender}", acknowledged))
                for sender in range(senders)
            ]
            for thread in threads:
                thread.start()
            enough = len(acknowledged) + 20
            until(lambda enough=enough: len(acknowledged) > enough, "some events")
            time.sleep(chance.random() * 0.2)
            listener.process.kill()
            for thread in threads:
                thread.join()
    with listening(tmp_path, "--inbox", "in.db", routes=APPEND, patch=SHORT_LEASE) as listener:
        until(lambda: set(acknowledged) <= set(ids(tmp_path / "got")), "all that was acknowledged")
        until(lambda: not rows(tmp_path, "list", "--state", "running"), "the end of all runs")
        assert listener.stop() == 0
    got = ids(tmp_path / "got")
    lost = set(acknowledged) - set(got)
    twice = sum(count - 1 for count in got.values())
    assert lost == set()
    # Only what was running at a kill can have run twice: at most one run for each sender and kill.
    assert twice <= rounds * senders, f"{twice} of {len(got)} ran twice"


def test_two_processes_share_one_inbox(tmp_path: Path) -> None:
    given = ("--inbox", "in.db")
    with listening(tmp_path, *given, routes=APPEND) as one, listening(tmp_path, *given, routes=APPEND) as two:
        for number in range(60):
            body = event(f"e{number}")
            assert [listener.post(body).status for listener in (one, two)] == [200, 200]
        until(lambda: len(ids(tmp_path / "got")) == 60, "all events")
        one.process.send_signal(signal.SIGTERM)
        assert one.finish() == 0
        assert two.post(event("last")).status == 200
        until(lambda: ids(tmp_path / "got")["last"], "the last event")
    assert set(ids(tmp_path / "got").values()) == {1}


def test_work_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho x >> started\ntest -e second || sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./slow"], timeout = "2m" }]\n'
    with listening(tmp_path, "--inbox", "in.db", routes=routes, patch=SHORT_LEASE) as listener:
        assert listener.post(event("k")).status == 200
        until((tmp_path / "started").exists, "the start")
        listener.process.kill()
    (tmp_path / "second").touch()
    with listening(tmp_path, "--inbox", "in.db", routes=routes, patch=SHORT_LEASE) as listener:
        listener.logged("200 handled")
    assert (tmp_path / "started").read_text(encoding="utf-8") == "x\nx\n"


def test_a_drained_process_gives_back_what_it_could_not_finish(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho x >> started\ntest -e second || sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./slow"], timeout = "2m" }]\n'
    given = '[listener.webhook]\ndrain_timeout = "300ms"\n'
    with listening(tmp_path, "--inbox", "in.db", routes=routes, definitions=given) as listener:
        assert listener.post(event("k")).status == 200
        until((tmp_path / "started").exists, "the start")
        assert listener.stop() == 0
    assert [row["state"] for row in rows(tmp_path, "list")] == ["waiting"]


def test_the_wait_between_attempts_doubles_up_to_a_bound() -> None:
    schedule = RetrySchedule(100, 5.0, 3600.0)
    for attempt in range(1, 100):
        whole = min(3600.0, 5.0 * 2 ** (attempt - 1))
        assert all(whole / 2 <= (schedule.delay_after(attempt, 0.0) or 0.0) <= whole for _ in range(5))
    assert (schedule.delay_after(1, 0.0) or 0.0) < 20


NOTED = """#!/bin/sh
until test -e go; do sleep 0.02; done
mkdir ran-$EVENT_ID || mkdir again-$EVENT_ID
case $EVENT_ID in bad*) test -e fixed;; esac
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Listener]:
    """Six events accepted and running, of which two will fail; they end when the file `go` appears."""
    (tmp_path / "noted").write_text(NOTED, encoding="utf-8")
    (tmp_path / "noted").chmod(0o755)
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./noted"] }]\n'
    given = '[listener.webhook]\nbackoff = "200ms"\nmax_attempts = 30\n'
    with listening(tmp_path, "--inbox", "in.db", routes=routes, definitions=given, patch=SHORT_BUSY_WAIT) as listener:
        for name in ("a", "b", "c", "d", "bad1", "bad2"):
            assert listener.post(event(name)).status == 200
        yield listener


def told_then_noted(listener: Listener, folder: Path, repair: Callable[[], None]) -> None:
    """While nothing can be written senders are told so; afterwards all is noted, and only what failed runs again."""
    assert listener.post(event("refused")).status == 503
    (folder / "go").touch()
    until(lambda: len(list(folder.glob("ran-*"))) == 6, "the runs")
    until(lambda: listener.request("GET", "/ready").status == 503, "the trouble")
    assert listener.post(event("refused")).status == 503
    assert {row["state"] for row in rows(folder, "list")} == {"running"}
    repair()
    (folder / "fixed").touch()
    until(lambda: {row["state"] for row in rows(folder, "list")} == {"done"}, "the end of all")
    assert listener.request("GET", "/ready").status == 200
    assert listener.post(event("refused")).status == 200
    until((folder / "ran-refused").exists, "the event that was refused before")
    assert {path.name for path in folder.glob("again-*")} == {"again-bad1", "again-bad2"}
    assert listener.stop() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits another process")
def test_a_disk_that_is_full_for_a_while_loses_and_repeats_nothing(held: Listener, tmp_path: Path) -> None:
    import resource

    _, most = resource.prlimit(held.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(held.process.pid, resource.RLIMIT_FSIZE, (0, most))
    told_then_noted(
        held, tmp_path, lambda: void(resource.prlimit(held.process.pid, resource.RLIMIT_FSIZE, (most, most)))
    )


NO_SPACE = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (0, r.getrlimit(r.RLIMIT_FSIZE)[1]))"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits another process")
@pytest.mark.parametrize("left", ["nothing", "an inbox", "a log"])
def test_a_start_on_a_full_disk_answers_503_until_there_is_space(left: str, tmp_path: Path) -> None:
    import resource

    if left != "nothing":
        with listening(tmp_path, "--inbox", "in.db", routes=APPEND) as listener:
            assert listener.post(event("before")).status == 200
            until(lambda: ids(tmp_path / "got")["before"], "its run")
            listener.stop(signal.SIGKILL if left == "a log" else signal.SIGTERM)
    with listening(tmp_path, "--inbox", "in.db", routes=APPEND, patch=NO_SPACE) as listener:
        assert listener.request("GET", "/health").status == 200
        assert listener.request("GET", "/ready").status == 503
        answer = listener.post(event("after"))
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert "Traceback" not in listener.err
        _, most = resource.prlimit(listener.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(listener.process.pid, resource.RLIMIT_FSIZE, (most, most))
        until(lambda: listener.request("GET", "/ready").status == 200, "space")
        assert listener.post(event("after")).status == 200
        until(lambda: ids(tmp_path / "got")["after"], "its run")
        assert listener.stop() == 0
    with listening(tmp_path, "--inbox", "in.db", routes=APPEND) as listener:
        assert listener.post(event("after")).status == 200
    assert ids(tmp_path / "got")["after"] == 1


@pytest.mark.parametrize("damage", ["overwritten", "cut"])
def test_a_damaged_inbox_is_named_at_the_start_as_the_other_commands_name_it(damage: str, tmp_path: Path) -> None:
    with listening(tmp_path, "--inbox", "in.db", routes=APPEND) as listener:
        assert listener.post(event("a")).status == 200
        until(lambda: ids(tmp_path / "got")["a"], "its run")
        assert listener.stop() == 0
    path = tmp_path / "in.db"
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096) if damage == "overwritten" else data[:5000])
    listed = run(tmp_path, "inbox", "list", "--inbox", "in.db")
    done = run(tmp_path, "listen", "--addr", ":0", "--inbox", "in.db")
    assert "error: inbox in.db: database disk image is malformed" in listed.stderr
    assert done.stderr.splitlines()[-1] == listed.stderr.splitlines()[-1]
    assert done.returncode == 2


def void(_: object) -> None:
    """For a lambda that is to return nothing."""


def test_another_program_that_holds_the_lock_for_a_while_loses_and_repeats_nothing(
    held: Listener, tmp_path: Path
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "in.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        told_then_noted(held, tmp_path, lambda: void(other.execute("ROLLBACK")))


def test_an_event_that_no_database_would_take_as_text_harms_nobody(tmp_path: Path) -> None:
    given = '[event.any]\nsource = "lms"\ntype = "*"\ncategory = "x"\n'
    with listening(tmp_path, "--inbox", "in.db", routes=APPEND, definitions=given) as listener:
        odd = [event("\ud800"), event("x", "\ud800"), event("x\0y", "a\0b"), event(10**300)]
        answers: list[int] = []

        def send(body: bytes) -> None:
            answers.append(listener.post(body).status)

        threads = [threading.Thread(target=send, args=(body,)) for body in odd + [event(f"g{n}") for n in range(30)]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Half of a surrogate pair may be refused as no text; it must not be kept from being answered, nor harm others.
        assert len(answers) == 34
        assert set(answers) <= {200, 400}
        taken = answers.count(200)
        assert taken >= 32
        until(lambda: len(rows(tmp_path, "list", "--state", "done")) == taken, "all of them")
        shown = run(tmp_path, "inbox", "show", str(10**300), "--inbox", "in.db", "-o", "json")
        assert json.loads(shown.stdout)["id"] == 10**300
    assert len(ids(tmp_path / "got")) == taken
