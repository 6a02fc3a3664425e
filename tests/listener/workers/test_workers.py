"""One listener in several processes: each event runs once, a worker that dies is replaced, and all end together."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.keysets import jwk, key_server, private_key, token
from support.listening import SECRET, Listener, environment, event, listening, run, started, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ports are not shared there")
ROUTES = '[route.all]\ndo = [{ handler = "append", file = "got", input = "raw" }]\n'
WITH_SECRET = {"LMS_SECRET": SECRET}


def workers(listener: Listener) -> list[int]:
    done = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(listener.process.pid)], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in done.stdout.split()]


def ids(path: Path) -> Counter[str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return Counter(json.loads(line)["id"] for line in lines)


def figure(listener: Listener, name: str) -> float:
    page = listener.request("GET", "/metrics").body.decode()
    return sum(float(number) for number in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE))


@pytest.mark.slow
def test_repetitions_over_all_workers_run_once_and_every_worker_counts_for_all(tmp_path: Path) -> None:
    with listening(
        tmp_path, "--workers", "3", "--metrics", routes=ROUTES, environ=WITH_SECRET
    ) as listener, ThreadPoolExecutor(12) as pool:  # fmt: skip
        listener.logged("ready: 3 workers")
        sent = [event(str(number % 20)) for number in range(200)]
        assert list(pool.map(lambda data: listener.send(data).status, sent)) == [200] * 200
        assert ids(tmp_path / "got") == Counter({str(number): 1 for number in range(20)})
        for _ in range(6):
            assert figure(listener, "listener_deliveries_received_total") == 200
            assert figure(listener, 'listener_events_total{outcome="duplicate",source="lms"}') == 180
        assert listener.stop() == 0


@pytest.mark.slow
def test_what_failed_runs_again_wherever_the_next_delivery_arrives_and_what_succeeded_does_not(tmp_path: Path) -> None:
    (tmp_path / "sometimes").write_text("#!/bin/sh\ntest -e works\n", encoding="utf-8")
    (tmp_path / "sometimes").chmod(0o755)
    routes = ROUTES + '[route.sometimes]\ndo = [{ handler = "exec", run = ["./sometimes"] }]\n'
    with listening(tmp_path, "--workers", "2", routes=routes, environ=WITH_SECRET) as listener:
        listener.logged("ready: 2 workers")
        assert {listener.send(event("1")).status for _ in range(8)} == {500}
        (tmp_path / "works").touch()
        assert [listener.send(event("1")).status for _ in range(8)] == [200] * 8
        assert ids(tmp_path / "got") == Counter({"1": 1})


def test_it_is_ready_when_all_workers_are_up_and_again_those_that_are_started_again(tmp_path: Path) -> None:
    """A start that fails is noticed before anything is sent there."""
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\ndef handle(event): pass\n"
        "try: open('first', 'x').close()\n"
        "except FileExistsError:\n    while not pathlib.Path('go').exists(): time.sleep(0.01)\n",
        encoding="utf-8",
    )
    (tmp_path / "routes.toml").write_text(
        '[route.r]\ndo = [{ handler = "python", call = "slow:handle" }]\n', encoding="utf-8"
    )
    words = ["listen", "--addr", "127.0.0.1:0", "--routes", "routes.toml", "--workers", "2"]
    listener = Listener(started(words, tmp_path, environment(tmp_path, **WITH_SECRET)), tmp_path)
    try:
        listener.port = int(listener.logged("listening on").rpartition(":")[2].partition("/")[0])
        until(lambda: answers(listener, "/health") == 200)
        assert {answers(listener, "/ready") for _ in range(5)} == {503}
        assert "ready" not in listener.err
        (tmp_path / "go").touch()
        listener.logged("ready: 2 workers")
        assert {answers(listener, "/ready") for _ in range(5)} == {200}
        os.kill(workers(listener)[0], signal.SIGKILL)
        listener.logged("ended with signal 9")
        (tmp_path / "go").unlink()
        assert {answers(listener, "/ready") for _ in range(5)} == {200}
        (tmp_path / "go").touch()
        assert listener.stop() == 0
    finally:
        listener.process.kill()
        listener.finish()


def answers(listener: Listener, path: str) -> int | None:
    try:
        return listener.request("GET", path).status
    except OSError:  # nobody listens yet, or not any more
        return None


@pytest.mark.slow
def test_a_worker_that_is_killed_is_started_again_and_the_others_go_on(tmp_path: Path) -> None:
    with listening(tmp_path, "--workers", "2", routes=ROUTES, environ=WITH_SECRET) as listener:
        listener.logged("ready: 2 workers")
        first = workers(listener)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        listener.logged("ended with signal 9")
        assert {listener.send(event(str(number))).status for number in range(12)} == {200}
        until(lambda: len(workers(listener)) == 2)
        assert {listener.send(event(str(number))).status for number in range(12)} == {200}
        assert ids(tmp_path / "got") == Counter({str(number): 1 for number in range(12)})
        assert listener.stop() == 0


@pytest.mark.slow
def test_an_event_of_a_worker_that_is_killed_runs_at_another_one(tmp_path: Path) -> None:
    """As soon as the supervisor knows it: the worker need not be there again."""
    program = "#!/bin/sh\necho $PPID >> runs\nuntil test -e go; do sleep 0.05; done\n"
    (tmp_path / "slow").write_text(program, encoding="utf-8")
    (tmp_path / "slow").chmod(0o755)
    routes = '[route.slow]\ndo = [{ handler = "exec", run = ["./slow"], timeout = "60s" }]\n'
    with listening(
        tmp_path, "--workers", "2", routes=routes, environ=WITH_SECRET
    ) as listener, ThreadPoolExecutor(1) as pool:  # fmt: skip
        listener.logged("ready: 2 workers")
        first = pool.submit(sent_to_one_that_dies, listener)
        until((tmp_path / "runs").exists)
        runs = tmp_path / "runs"
        until(lambda: runs.read_text(encoding="utf-8").endswith("\n"))
        running = int(runs.read_text(encoding="utf-8"))
        assert running in workers(listener)
        os.kill(running, signal.SIGKILL)
        assert first.result() is False
        (tmp_path / "go").touch()
        # It is running there until the supervisor knows better, and who connects while the system still closes the
        # sockets of the worker is cut off: a sender tries again.
        until(lambda: status_of(listener) == 200)
        assert len(set(runs.read_text(encoding="utf-8").split())) == 2
        assert listener.send(event("1")).status == 200
        assert len(runs.read_text(encoding="utf-8").split()) == 2
        assert listener.stop() == 0


HUNG = "from callsheet.listener import supervisor as s; s.HUNG_AFTER = 16; s.LOOK_EVERY = 0.5"
BLOCKING = """
import os, time
async def handle(event):
    with open("runs", "a") as file:
        file.write(f"{os.getpid()}\\n")
    while not os.path.exists("go"):
        time.sleep(0.02)
"""


@pytest.mark.slow
@pytest.mark.parametrize("inbox", [(), ("--inbox", "in.db")], ids=["waits", "inbox"])
@pytest.mark.parametrize("hangs", ["stopped", "blocked"])
def test_a_worker_that_hangs_is_replaced_and_its_event_comes_back(
    hangs: str, inbox: tuple[str, ...], tmp_path: Path
) -> None:
    """Stopped by a signal, or held up by a function that is `async` and waits itself."""
    text = BLOCKING if hangs == "blocked" else BLOCKING.replace("time.sleep", "await asyncio.sleep")
    (tmp_path / "code.py").write_text(text.replace("import os", "import asyncio, os"), encoding="utf-8")
    routes = '[route.r]\ndo = [{ handler = "python", call = "code:handle", timeout = "600s" }]\n'
    runs = tmp_path / "runs"
    with listening(
        tmp_path, "--workers", "2", *inbox, routes=routes, environ=WITH_SECRET, patch=HUNG
    ) as listener, ThreadPoolExecutor(1) as pool:  # fmt: skip
        listener.logged("ready: 2 workers")
        first = pool.submit(status_of, listener)
        until(lambda: runs.exists() and runs.read_text(encoding="utf-8").endswith("\n"))
        running = int(runs.read_text(encoding="utf-8").split()[0])
        if hangs == "stopped":
            os.kill(running, signal.SIGSTOP)
        until(lambda: running not in workers(listener), "the end of the one that hangs")
        (tmp_path / "go").touch()
        assert first.result() == (200 if inbox else None)
        if not inbox:
            until(lambda: status_of(listener) == 200)
        until(lambda: len(set(runs.read_text(encoding="utf-8").split())) > 1, "its repetition")
        listener.logged("hangs, and is killed")
        assert listener.stop() == 0


def sent_to_one_that_dies(listener: Listener) -> bool:
    """Whether there was an answer."""
    return status_of(listener) is not None


def status_of(listener: Listener) -> int | None:
    """What an event is answered with; None where the connection breaks."""
    try:
        return listener.send(event("1")).status
    except OSError:
        return None


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    with listening(tmp_path, "--workers", "2", environ=WITH_SECRET) as listener:
        listener.logged("ready: 2 workers")
        left = workers(listener)
        listener.stop(signal.SIGKILL)
        until(lambda: not any(is_running(pid) for pid in left))


def is_running(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


def test_routes_are_read_again_by_all_of_them(tmp_path: Path) -> None:
    with listening(tmp_path, "--workers", "2", routes=ROUTES, environ=WITH_SECRET) as listener:
        listener.logged("ready: 2 workers")
        (tmp_path / "routes.toml").write_text(ROUTES.replace('"got"', '"other"'), encoding="utf-8")
        listener.process.send_signal(signal.SIGHUP)
        until(lambda: listener.err.count("routes reloaded: 1") == 2)
        assert {listener.send(event(str(number))).status for number in range(10)} == {200}
    assert ids(tmp_path / "got") == Counter()
    assert ids(tmp_path / "other") == Counter({str(number): 1 for number in range(10)})


@pytest.mark.slow
def test_running_work_ends_before_the_listener_does(tmp_path: Path) -> None:
    (tmp_path / "slow").write_text("#!/bin/sh\ntouch begun\nsleep 1\ntouch done\n", encoding="utf-8")
    (tmp_path / "slow").chmod(0o755)
    routes = '[route.slow]\ndo = [{ handler = "exec", run = ["./slow"] }]\n'
    with listening(
        tmp_path, "--workers", "2", routes=routes, environ=WITH_SECRET
    ) as listener, ThreadPoolExecutor(1) as pool:  # fmt: skip
        listener.logged("ready: 2 workers")
        answer = pool.submit(listener.send, event("1"))
        until((tmp_path / "begun").exists)
        assert listener.stop() == 0
        assert answer.result().status == 200
        assert (tmp_path / "done").exists()


@pytest.mark.slow
def test_an_inbox_keeps_each_event_once(tmp_path: Path) -> None:
    with listening(
        tmp_path, "--workers", "2", "--inbox", "in.db", routes=ROUTES, environ=WITH_SECRET
    ) as listener, ThreadPoolExecutor(8) as pool:  # fmt: skip
        listener.logged("ready: 2 workers")
        sent = [event(str(number % 30)) for number in range(120)]
        assert set(pool.map(lambda data: listener.send(data).status, sent)) == {200}
        until(lambda: len(ids(tmp_path / "got")) == 30)
        assert listener.stop() == 0
    assert ids(tmp_path / "got") == Counter({str(number): 1 for number in range(30)})


@pytest.mark.slow
def test_a_key_set_is_fetched_by_one_for_all(tmp_path: Path) -> None:
    claims = {"metadata": {"event_name": "grade_change"}, "body": {}}
    with key_server(jwk("k1")) as keys, listening(tmp_path, "--workers", "2", "--jwks-url", keys.url) as listener:
        listener.logged("ready: 2 workers")
        good = [token({**claims, "body": {"n": number}}).encode() for number in range(12)]
        assert [listener.post(each).status for each in good] == [200] * 12
        assert keys.fetches == 1
        keys.keys = [jwk("k2", private_key(1))]
        for number in range(12):
            rotated = token({**claims, "body": {"m": number}}, "k2", private_key(1))
            assert listener.post(rotated.encode()).status == 200
        assert keys.fetches == 2


@pytest.mark.slow
def test_a_unix_socket_is_shared_and_taken_away_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening(tmp_path, "--workers", "2", environ=WITH_SECRET, address=("--addr", f"unix:{path}")) as listener:
        listener.logged("ready: 2 workers")
        with socket.socket(socket.AF_UNIX) as sender:
            sender.connect(str(path))
            sender.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            assert b"200" in sender.recv(4096)
        assert listener.stop() == 0
        assert not path.exists()


def test_what_is_wrong_is_said_once_and_nothing_is_left_running(tmp_path: Path) -> None:
    done = run(tmp_path, "listen", "--addr", ":0", "--workers", "3", "--secret-file", "missing")
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1000", ""])
def test_a_number_of_workers_that_cannot_be_is_refused(text: str, tmp_path: Path) -> None:
    done = run(tmp_path, "listen", "--addr", ":0", f"--workers={text}")
    assert (done.returncode, "--workers" in done.stderr) == (2, True)


def test_a_port_that_another_listener_shares_is_refused(tmp_path: Path) -> None:
    with listening(tmp_path, "--workers", "2", environ=WITH_SECRET) as listener:
        listener.logged("ready: 2 workers")
        done = run(tmp_path, "listen", "--addr", f":{listener.port}", "--workers", "2", **WITH_SECRET)
        assert done.returncode == 1
        assert "another program listens there" in done.stderr
