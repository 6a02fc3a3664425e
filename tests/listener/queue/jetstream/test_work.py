"""`webhook work` as its operator meets it: health and metrics, routes read again, an end that loses nothing."""

from __future__ import annotations

import signal
import ssl
import sys
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from support.listening import event, run, until
from support.nats import Crew, nats_server, needs_server, ready
from support.tls import Authority
from support.waiting import PATIENCE

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
QUICK = '[listener.webhook]\nbackoff = "200ms"\n[queue.jetstream]\nlease = "3s"\n'
SLOW = '[route.slow]\ndo = [{ handler = "exec", run = ["./slow"] }]\n'


def handled(folder: Path) -> Counter[str]:
    path = folder / "got"
    return Counter(path.read_text(encoding="utf-8").split() if path.exists() else ())


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@needs_server
@POSIX
def test_a_worker_tells_how_it_is_reads_routes_again_and_ends_its_work(tmp_path: Path) -> None:
    script(tmp_path / "slow", "touch begun\nsleep 1\necho $EVENT_ID >> got")
    credentials = tmp_path / "credentials"
    credentials.write_text("u:hunter2\n", encoding="utf-8")
    credentials.chmod(0o600)
    own = f'{QUICK}credentials = "{credentials}"\n'
    with nats_server(tmp_path, "authorization { user: u, password: hunter2 }") as server, Crew(
        tmp_path, server, '[route.none]\nwhen = "body.no"\ndo = [{ handler = "exec", run = ["true"] }]\n', own
    ) as crew:  # fmt: skip
        listener, worker = crew.listener(), crew.worker("--addr", "127.0.0.1:0", "--metrics")
        ready(listener, worker)
        assert listener.post(event("1")).status == 200
        worker.logged("200 handled")
        assert [worker.request("GET", path).status for path in ("/health", "/ready", "/webhook")] == [200, 200, 404]
        assert worker.post(event("x")).status == 404
        (tmp_path / "routes.toml").write_text(SLOW, encoding="utf-8")
        worker.process.send_signal(signal.SIGHUP)
        worker.logged("routes reloaded: 1")
        assert listener.post(event("2")).status == 200
        until((tmp_path / "begun").exists, "the run")
        assert b"listener_handlers_running 1.0" in worker.request("GET", "/metrics").body
        assert worker.stop() == 0
        assert handled(tmp_path) == {"2": 1}
        assert crew.inbox("list") == []
        assert "hunter2" not in worker.err + listener.err


@needs_server
@POSIX
def test_a_worker_without_its_server_is_not_ready_until_it_is_back(tmp_path: Path) -> None:
    script(tmp_path / "slow", "echo $EVENT_ID >> got")
    with nats_server(tmp_path) as server, Crew(tmp_path, server, SLOW, QUICK) as crew:
        listener, worker = crew.listener(), crew.worker("--addr", "127.0.0.1:0")
        ready(listener, worker)
        server.kill()
        until(lambda: worker.request("GET", "/ready").status == 503, "not ready")
        assert worker.request("GET", "/health").status == 200
        server.start()
        until(lambda: worker.request("GET", "/ready").status == 200, "ready again")
        until(lambda: listener.post(event("1")).status == 200, "the listener's connection")
        until(lambda: handled(tmp_path) == {"1": 1}, "the run")


@pytest.mark.slow
@needs_server
@POSIX
def test_several_processes_share_the_work_and_answer_for_each_other(tmp_path: Path) -> None:
    script(tmp_path / "slow", "echo $EVENT_ID >> got")
    with nats_server(tmp_path) as server, Crew(tmp_path, server, SLOW, QUICK) as crew:
        authority = Authority(tmp_path)
        given = (
            "--addr",
            "127.0.0.1:0",
            "--metrics",
            "--workers",
            "2",
            "--tls-cert",
            authority.certificate("localhost"),
        )
        listener, worker = crew.listener(), crew.worker(*map(str, given))
        ready(listener, worker)
        worker.logged("ready: 2 workers")
        pages = f"https://localhost:{worker.port}"
        assert f"serving {pages.replace('localhost', '127.0.0.1')}/health" in worker.err
        trusting = ssl.create_default_context(cafile=str(authority.bundle))
        assert {listener.post(event(str(number))).status for number in range(30)} == {200}
        until(lambda: handled(tmp_path) == {str(number): 1 for number in range(30)}, "each once")
        counted = b'listener_handler_duration_seconds_count{handler="slow/1",result="succeeded"} 30.0'

        def are_counted() -> bool:
            with urllib.request.urlopen(f"{pages}/metrics", context=trusting, timeout=PATIENCE) as answer:
                return counted in answer.read()

        until(are_counted, "all counted")  # a run is counted once its program has ended, after it wrote its line
        assert all(are_counted() for _ in range(4))
        assert worker.stop() == 0
        assert crew.inbox("list") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--metrics",), "--metrics needs --addr"),
        (("--tls-cert", "x.pem"), "--tls-cert needs --addr"),
        (("--tls-key", "x.pem"), "--tls-key needs --addr"),
        (("--addr", "127.0.0.1:0", "--tls-key", "x.pem"), "--tls-key needs --tls-cert"),
        (("--addr", "127.0.0.1:0", "--tls-cert", "x.pem"), "--tls-cert: x.pem: No such file"),
        (("--addr", "bad"), "--addr: 'bad' is not a valid address"),
        (("--workers", "none"), "--workers: 'none' is not a number"),
        (("--forward-to", "nowhere"), "nowhere"),
    ],
)
def test_what_is_wrong_is_said_before_a_server_is_asked(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run(tmp_path, "work", "--queue", "nats://127.0.0.1:9/EV", "--handler", "true", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
