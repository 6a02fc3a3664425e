"""A program forked from a process that has the engine loaded, where a test would start one and use it as `Popen`.

Its start takes a twentieth of the time. It is a process of its own with its own streams, folder and environment, so it
can be killed, counted and looked at like any other.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import io
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.forked_programs import become, load
from support.waiting import PATIENCE
from support.watch import note_start

_TESTS = Path(__file__).resolve().parent.parent
_FEW = 3  # streams
_ALSO = (
    "callsheet.cli.builtin.listen",
    "callsheet.cli.builtin.listen",
    "uvicorn.lifespan.off",
    "encodings.idna",
    "uvloop",
)
_ROUTES = """
[route.usual]
on = ["grade_change"]
when = "body"
do = [{ handler = "append", file = "got" }, { handler = "exec", run = ["true"] }]
"""
_OPEN = 64  # more descriptors are never open where a program is forked


class ForkedProcess:
    """`stdout` and `stderr` are pipes. `patch` is Python that runs in it before the program does."""

    def __init__(
        self, name: str, words: Sequence[str], folder: Path, environ: Mapping[str, str], cache: str, patch: str = ""
    ) -> None:
        note_start([name, *words])
        here, there = socket.socketpair()
        out, err = os.pipe(), os.pipe()
        told = marshal.dumps((patch, name, list(words), str(folder), dict(environ)))
        with open(os.devnull, "rb") as nothing, there:
            socket.send_fds(_template(cache), [b"."], [there.fileno(), nothing.fileno(), out[1], err[1]])
        os.close(out[1])
        os.close(err[1])
        here.sendall(len(told).to_bytes(4, "big") + told)
        self.stdout: io.BufferedReader | None = os.fdopen(out[0], "rb")
        self.stderr: io.BufferedReader | None = os.fdopen(err[0], "rb")
        self.pid = int.from_bytes(here.recv(4), "big")
        assert self.pid, "what programs are forked from has ended"
        self.returncode: int | None = None
        self._told = here

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return code

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """All that it writes to both streams, which it closes in that time."""
        assert self.stdout is not None
        assert self.stderr is not None
        written: dict[int, list[bytes]] = {self.stdout.fileno(): [], self.stderr.fileno(): []}
        opened, end = [*written], time.monotonic() + timeout
        while opened:
            ready = select.select(opened, [], [], max(0.0, end - time.monotonic()))[0]
            if not ready:
                self.kill()
                self.wait(timeout)
                self.stdout.close()
                self.stderr.close()
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            for stream in ready:
                part = os.read(stream, 1 << 16)
                written[stream].append(part)
                if not part:
                    opened.remove(stream)
        self.stdout.close()
        self.stderr.close()
        out, err = (b"".join(parts) for parts in written.values())
        return out, err

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = int.from_bytes(self._told.recv(2), "big", signed=True)
            self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def _template(cache: str) -> socket.socket:
    """Where forks are asked for; started by the first."""
    here, there = socket.socketpair()
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")])}
    environ["CALLSHEET_CACHE"] = cache
    command = [sys.executable, "-m", "support.forked_process"]
    process = subprocess.Popen(command, env=environ, stdin=there)
    there.close()

    def end() -> None:
        here.close()  # it ends when nobody holds this any more
        process.wait(PATIENCE)

    atexit.register(end)
    return here


def _serve() -> None:
    with tempfile.TemporaryDirectory() as folder:
        routes = Path(folder) / "routes.toml"
        routes.write_text(_ROUTES, encoding="utf-8")
        routes.chmod(0o600)
        # No more: the definitions of another program would be compiled for nothing.
        load(["lms webhook check", f"lms webhook check --routes {routes}"])
    for module in _ALSO:
        with contextlib.suppress(ImportError):  # uvloop is not everywhere
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # else the listener's own collection copies every page
    asked = socket.socket(fileno=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those below
    while True:
        word, handles, _, _ = socket.recv_fds(asked, 1, _FEW + 1)
        if not word:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _attend(socket.socket(fileno=handles[0]), handles[1:])
        for handle in handles:
            os.close(handle)


def _attend(connection: socket.socket, streams: Sequence[int]) -> None:
    """One start: a child runs the program, this process waits for it and tells how it ended."""
    told = b""
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    while len(told) < size:
        told += connection.recv(1 << 20)
    child = os.fork()
    if child == 0:
        given = [os.dup2(stream, _OPEN + number) for number, stream in enumerate(streams)]
        os.closerange(_FEW, _OPEN)
        patch, *program = marshal.loads(told)
        exec(patch, {})
        become(given, *program)
    for stream in streams:
        os.close(stream)
    connection.sendall(child.to_bytes(4, "big"))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):  # the test has ended
        connection.sendall(code.to_bytes(2, "big", signed=True))
    os._exit(0)


if __name__ == "__main__":
    _serve()
