"""What runs for an event ends with the listener, also where that is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.handlers import process_start as orphans
from callsheet.listener.handlers.process_start import MOST, Orphans
from support.listening import SECRET, Listener, event, listening, until
from support.waiting import PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="looks at processes with ps")]
PROGRAM = "#!/bin/sh\nsleep 600 &\necho $$ $! > pids.tmp\nmv pids.tmp pids\nwait\n"
FUNCTIONS = """
import os, subprocess, time
def hang(event):
    child = subprocess.Popen(["sleep", "600"])
    with open("pids.tmp", "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    os.rename("pids.tmp", "pids")
    time.sleep(600)
"""
FORKS = """
import os, stat, time
def handle(event):
    if os.fork():
        return
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) < 3 or stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.close(int(name))
        except OSError:
            pass
    with open("forked", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
"""
HANDLERS = {
    "exec": '{ handler = "exec", run = ["./hang"], timeout = "600s" }',
    "python": '{ handler = "python", call = "functions:hang", process = true, timeout = "600s" }',
}


def is_running(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


def children(pid: int) -> list[int]:
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def killed_while_it_runs(
    folder: Path, kind: str, kill: Callable[[Listener], Any], *options: str, more: str = ""
) -> list[int]:
    """The processes that ran, and that watched."""
    (folder / "hang").write_text(PROGRAM, encoding="utf-8")
    (folder / "hang").chmod(0o755)
    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    routes = f"[route.r]\non = ['grade_change']\ndo = [{HANDLERS[kind]}]\n{more}"
    with listening(
        folder, *options, routes=routes, environ={"LMS_SECRET": SECRET}
    ) as listener, ThreadPoolExecutor(1) as pool:  # fmt: skip
        answer = pool.submit(listener.send, event("1"))
        until((folder / "pids").exists)
        started = [int(word) for word in (folder / "pids").read_text(encoding="utf-8").split()]
        below = children(listener.process.pid)
        started += [*below, *(each for pid in below for each in children(pid))]
        assert len(started) >= 4
        kill(listener)
        with contextlib.suppress(OSError):
            answer.result()
    return started


@pytest.mark.parametrize("kind", HANDLERS)
def test_programs_end_with_a_listener_that_is_killed(kind: str, tmp_path: Path) -> None:
    started = killed_while_it_runs(tmp_path, kind, lambda listener: listener.stop(signal.SIGKILL))
    until(lambda: not any(map(is_running, started)), "the end of all")


@pytest.mark.skipif(sys.platform != "linux", reason="processes have descriptors there")
def test_programs_end_also_where_a_function_had_forked(tmp_path: Path) -> None:
    """What is left of the listener then has all that it had open."""
    (tmp_path / "forks.py").write_text(FORKS, encoding="utf-8")
    more = '\n[route.fork]\non = ["quiz_submitted"]\ndo = [{ handler = "python", call = "forks:handle" }]\n'

    def kill(listener: Listener) -> None:
        assert listener.send(event("f", "quiz_submitted")).status == 200
        until(lambda: (tmp_path / "forked").exists() and (tmp_path / "forked").read_text(encoding="utf-8"))
        listener.process.kill()

    try:
        started = killed_while_it_runs(tmp_path, "exec", kill, more=more)
        until(lambda: not any(map(is_running, started)), "the end of all")
    finally:
        os.kill(int((tmp_path / "forked").read_text(encoding="utf-8")), signal.SIGKILL)


def test_programs_end_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    def kill(listener: Listener) -> None:
        program = int((tmp_path / "pids").read_text(encoding="utf-8").split()[0])
        for worker in children(listener.process.pid):
            if program in children(worker):
                os.kill(worker, signal.SIGKILL)
        until(lambda: not is_running(program), "the end of the program")

    killed_while_it_runs(tmp_path, "exec", kill, "--workers", "2")


def test_who_asks_all_processes_of_a_service_to_end_ends_the_listener_first(tmp_path: Path) -> None:
    """As a service manager does: what watches is left until the listener has ended."""

    def kill(listener: Listener) -> None:
        program = int((tmp_path / "pids").read_text(encoding="utf-8").split()[0])
        (watcher,) = set(children(listener.process.pid)) - {program}
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(watcher, number)
        listener.stop(signal.SIGKILL)

    started = killed_while_it_runs(tmp_path, "exec", kill)
    until(lambda: not any(map(is_running, started)), "the end of all")


@pytest.mark.skipif(sys.platform != "linux", reason="processes have descriptors there")
def test_a_listener_that_ended_before_it_could_be_watched_is_not_waited_for() -> None:
    """Its fork has the other end of the pipe, so that has no end."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    program = subprocess.Popen(["sleep", "600"], start_new_session=True)
    memory = orphans._create_memory()
    os.pwrite(memory, orphans._NUMBER.pack(program.pid), 0)
    command = [sys.executable, "-P", "-S", "-c", orphans._WATCH, str(memory), str(gone.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(memory,)) as watcher:
        os.close(memory)
        try:
            assert watcher.wait(PATIENCE) == 0
            assert program.wait(PATIENCE) == -signal.SIGKILL
        finally:
            watcher.kill()
            program.kill()


def test_there_is_room_again_for_what_has_ended() -> None:
    running = Orphans()
    for pid in range(1 << 22, (1 << 22) + MOST + 10):  # no process has such a number
        running.add_group(pid)
    for pid in range(1 << 22, (1 << 22) + MOST + 10):
        running.discard_group(pid)
    running.discard_group(1)
    assert len(running._free) == MOST
    assert not any(running._memory[:])
    for pid in range(1 << 22, (1 << 22) + MOST):
        running.add_group(pid)
    assert len(running._free) == 0
    for pid in range(1 << 22, (1 << 22) + MOST):
        running.discard_group(pid)
    os.close(running._alive)  # it ends
