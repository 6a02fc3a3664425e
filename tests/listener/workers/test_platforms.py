"""Several processes where ports are not shared, where there cannot be several, and where they are stopped at once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from callsheet.cli.builtin.listen import workers_of
from callsheet.errors import UsageError
from callsheet.listener import machine_limits as cores
from callsheet.listener import worker_process as assignment
from support.listening import SECRET, Listener, environment, event, until
from support.waiting import PATIENCE

pytestmark = pytest.mark.slow

# What the system cannot do is said to every worker too: each is started with the same words.
INHERITING = (
    "import sys; import callsheet.listener.server.listening_sockets as bind; bind.supports_reuse_port = lambda: False; "
    "from callsheet.cli.main import run; sys.exit(run('lms', ['webhook', 'listen', *sys.argv[1:]]))"
)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no workers there")
def test_workers_inherit_one_socket_where_ports_are_not_shared(tmp_path: Path) -> None:
    words = ["--addr", ":0", "--workers", "2", "--inbox", "in.db", "--handler", "./note"]
    (tmp_path / "note").write_text("#!/bin/sh\necho $EVENT_ID >> got\n", encoding="utf-8")
    (tmp_path / "note").chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", INHERITING, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path, LMS_SECRET=SECRET),
    )  # fmt: skip
    listener = Listener(process, tmp_path)
    try:
        listener.wait_ready()
        listener.logged("ready: 2 workers")
        assert {listener.send(event(str(number))).status for number in range(12)} == {200}
        expected = Counter(str(number) for number in range(12))
        until(lambda: Counter((tmp_path / "got").read_text(encoding="utf-8").split()) == expected, "each once")
        assert listener.stop() == 0
    finally:
        if process.poll() is None:
            process.kill()
        listener.finish()


STOPPED = """
import os, signal, subprocess, sys
from callsheet.cli.main import run
started, real = [], subprocess.Popen

def start(*words, **how):
    started.append(real(*words, **how))
    if len(started) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGTERM)  # after it was started, and before anybody knows it
    return started[-1]

subprocess.Popen = start
sys.exit(run("lms", ["webhook", "listen", "--addr", ":0", "--workers", "3"]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no workers there")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_one_that_is_stopped_while_it_starts_its_workers_ends(number: int, tmp_path: Path) -> None:
    words = [sys.executable, "-c", STOPPED, str(number)]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment(tmp_path), capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr.count(b"Traceback")) == (0, 0), done.stderr


HUNG_UP = """
import os, signal, subprocess, sys
from callsheet.cli.main import run
real = subprocess.Popen

def start(*words, **how):
    started = real(*words, **how)
    os.kill(started.pid, signal.SIGHUP)  # long before it can do anything about it
    return started

subprocess.Popen = start
sys.exit(run("lms", ["webhook", "listen", "--addr", ":0", "--workers", "2"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no workers there")
def test_a_worker_that_still_starts_reads_its_routes_again_instead_of_ending(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HUNG_UP],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path, LMS_SECRET=SECRET),
    )  # fmt: skip
    listener = Listener(process, tmp_path)
    try:
        until(lambda: listener.err.count("routes reloaded: 0") == 2 or process.poll() is not None, "read again by both")
        listener.logged("ready: 2 workers")
        assert listener.stop() == 0
        assert "ended with signal" not in listener.err
    finally:
        if process.poll() is None:
            process.kill()
        listener.finish()


def test_a_system_without_what_workers_need_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "can_have_workers", lambda: False)
    monkeypatch.setattr(cores, "usable_cores", lambda: 4)
    for text in ("2", "auto"):
        with pytest.raises(UsageError, match="--workers needs Linux or macOS"):
            workers_of(text)
    assert [workers_of(text) for text in (None, "1")] == [1, 1]
