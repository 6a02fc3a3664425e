"""Signals at moments when nothing is served yet, or nothing any more: real processes that send them to themselves."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.listening import SECRET, Listener, environment, started, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

ROUTES = '[route.r]\ndo = [{ handler = "python", call = "own:handle" }]\n'
OWN = """import atexit, os, signal, sys
def handle(event): pass
def send(number, to=os.kill, me=os.getpid()): to(me, number)
"""
# A program that gets a signal as soon as the rest of it is being loaded.
START = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "callsheet.cli.main":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
from callsheet.cli.entry import start
start("lms")
"""


@contextlib.contextmanager
def serving(folder: Path, own: str, *more: str, to_its_end: bool = False) -> Iterator[Listener]:
    """A listener with a module of routes that does something.

    `to_its_end`: an interpreter of its own that takes itself apart, and that gets SIGHUP while the engine is loaded.
    """
    (folder / "routes.toml").write_text(ROUTES, encoding="utf-8")
    (folder / "own.py").write_text(OWN + own, encoding="utf-8")
    words = ["listen", "--addr", "127.0.0.1:0", "--routes", "routes.toml", *more]
    environ = environment(folder, LMS_SECRET=SECRET)
    start = [sys.executable, "-c", START.format(number=signal.SIGHUP.value), "webhook", *words]
    pipe = subprocess.PIPE
    process = (
        subprocess.Popen(start, cwd=folder, stdout=pipe, stderr=pipe, env=environ)
        if to_its_end
        else started(words, folder, environ)
    )
    listener = Listener(process, folder)
    try:
        yield listener
    finally:
        if process.poll() is None:
            process.kill()
        listener.finish()


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", "2"), ("--inbox", "in.db")])
def test_a_listener_that_starts_reads_again_when_it_has_started(more: tuple[str, ...], tmp_path: Path) -> None:
    own = "if not os.path.exists('once'): open('once', 'x').close(); send(signal.SIGHUP)\n"
    with serving(tmp_path, own, *more) as listener:
        listener.wait_ready()
        listener.logged("routes reloaded: 1")
        assert listener.request("GET", "/health").status == 200
        assert listener.stop() == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("more", [(), ("--workers", "2")])
def test_a_listener_that_starts_can_be_stopped(number: int, more: tuple[str, ...], tmp_path: Path) -> None:
    own = f"send({number}, me=os.getppid() if {bool(more)} else os.getpid())\nimport time; time.sleep(600)\n"
    with serving(tmp_path, own, *more) as listener:
        assert listener.finish() == 0
        assert listener.err == ""


@pytest.mark.slow
def test_nothing_ends_one_badly_that_has_drained(tmp_path: Path) -> None:
    """Not while modules do their last things, and not while the interpreter takes itself apart."""
    own = (
        "class Late:\n    def __del__(self, send=send, numbers=(1, 2, 15)):\n        for each in numbers: send(each)\n"
        "late = Late()\n"
        "atexit.register(lambda: [send(signal.SIGHUP), print('goes on', file=sys.stderr, flush=True)])\n"
    )
    with serving(tmp_path, own, to_its_end=True) as listener:
        listener.logged("routes reloaded: 1")
        assert listener.stop() == 0
        assert "goes on" in listener.err
        assert "Traceback" not in listener.err


@pytest.mark.slow
def test_a_second_request_does_not_wait_for_what_modules_do_at_the_end(tmp_path: Path) -> None:
    own = "import time\natexit.register(lambda: [open('last', 'x').close(), time.sleep(600)])\n"
    with serving(tmp_path, own, to_its_end=True) as listener:
        listener.wait_ready()
        listener.process.send_signal(signal.SIGTERM)
        until((tmp_path / "last").exists, "the end of the module")
        assert listener.stop() == 0


def test_any_other_command_ends_by_it(tmp_path: Path) -> None:
    words = [sys.executable, "-c", START.format(number=signal.SIGHUP.value), "webhook", "events"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, env=environment(tmp_path), check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGHUP, b"")
