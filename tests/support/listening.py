"""A real listener process, and what its senders send."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.canary import WEBHOOK_SECRET as SECRET
from support.canary import text_leaks
from support.forked_process import ForkedProcess
from support.waiting import PATIENCE

HEADER = "X-Lms-Signature"
_TIME = re.compile(r"^\S+Z ")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def signature(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def event(id: Any = "1", type: str = "grade_change", **body: Any) -> bytes:
    return json.dumps({"id": id, "event_type": type, "event_time": "2026-01-02T03:04:05Z", "body": body}).encode()


def until(holds: Callable[[], Any], what: str = "it") -> Any:
    """What `holds` returns as soon as that is true; there is no fixed time in which it has to be."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {PATIENCE:g} s")


class Listener:
    """`out` and `err` grow while the process writes."""

    def __init__(self, process: subprocess.Popen[bytes] | ForkedProcess, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self._lines: dict[str, list[str]] = {"out": [], "err": []}
        self._threads = [threading.Thread(target=self._collect, args=(name,)) for name in self._lines]
        for thread in self._threads:
            thread.start()
        self.port = 0

    def _collect(self, name: str) -> None:
        stream = self.process.stdout if name == "out" else self.process.stderr
        assert stream is not None
        for line in stream:
            self._lines[name].append(line.decode())
        stream.close()

    @property
    def out(self) -> str:
        return "".join(self._lines["out"])

    @property
    def err(self) -> str:
        return "".join(self._lines["err"])

    def wait_ready(self) -> None:
        until(lambda: re.search(r" ready(\n|: )", self.err) or self.process.poll() is not None, "ready")
        assert self.process.poll() is None, self.err
        found = re.search(r"http.?://127\.0\.0\.1:(\d+)", self.err)
        self.port = int(found[1]) if found else 0

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        self._refuse_when_ended()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.connect()  # a listener that is gone is said here, and not taken for an answer that comes early
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # an answer may come before all is said
                connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def _refuse_when_ended(self) -> None:
        """Its port may be that of another test's server by now, which would get what is sent to a dead listener."""
        if self.process.poll() is not None:
            raise ConnectionRefusedError("the listener has ended")

    def post(self, body: bytes, headers: Mapping[str, str] | None = None, path: str = "/webhook") -> Answer:
        return self.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})})

    def send(self, body: bytes, secret: str = SECRET) -> Answer:
        return self.post(body, {HEADER: signature(body, secret)})

    def connect(self) -> socket.socket:
        self._refuse_when_ended()
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def logged(self, text: str) -> str:
        """The first line of the log with this text, once there is one; not in the time that a line begins with.

        A number is a word of its own: it may stand in the port that the listener was given.
        """
        wanted = re.compile(rf"(?<!\S){text}(?!\S)" if text.isdigit() else re.escape(text))

        def first() -> str | None:
            return next((line for line in self._lines["err"] if wanted.search(_TIME.sub("", line))), None)

        found: str = until(first, f"{text!r} in the log")
        return found

    def memory(self) -> int:
        """Resident bytes of the process (Linux)."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        return int(found[1]) * 1024 if found else 0

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.finish()

    def finish(self) -> int:
        code = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not text_leaks(self.out + self.err), f"the listener printed a secret: {self.out}{self.err}"
        return code


def environment(folder: Path, **more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("LMS_", "SUITE_", "CALLSHEET"))}
    return {**plain, "CALLSHEET_HOME": str(folder / "home"), "CALLSHEET_CACHE": CACHE, **more}


# One for the whole run, so that the definitions are compiled once and not for every process.
CACHE = tempfile.mkdtemp(prefix="callsheet-tests-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "callsheet", "lms", "webhook", *arguments]


def run(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`lms webhook ...` until it ends."""
    words, given = command(*arguments), environment(folder, **environ)
    if sys.platform == "win32":
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=folder, env=given, timeout=PATIENCE * 2, check=False
        )
    else:
        process = ForkedProcess("lms", ["webhook", *arguments], folder, given, CACHE)
        out, err = process.communicate(PATIENCE * 2)
        done = subprocess.CompletedProcess(words, process.wait(PATIENCE), out.decode(), err.decode())
    assert not text_leaks(done.stdout + done.stderr), f"a secret was printed: {done.stdout}{done.stderr}"
    return done


def started(
    words: Sequence[str], folder: Path, environ: dict[str, str], patch: str = ""
) -> subprocess.Popen[bytes] | ForkedProcess:
    """`lms webhook ...` in a process that runs some Python first."""
    if sys.platform != "win32":
        return ForkedProcess("lms", ["webhook", *words], folder, environ, CACHE, patch)
    start = "import sys; from callsheet.cli.main import run; sys.exit(run('lms', ['webhook', *sys.argv[1:]]))"
    return subprocess.Popen(
        [sys.executable, "-c", f"{patch or 'pass'}; {start}", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environ,
    )  # fmt: skip


@contextlib.contextmanager
def listening(
    folder: Path,
    *arguments: str,
    routes: str | None = None,
    definitions: str | None = None,
    environ: Mapping[str, str] | None = None,
    address: Sequence[str] = ("--addr", ":0"),
    patch: str = "",
) -> Iterator[Listener]:
    """`routes` becomes a routes file, `definitions` an overlay of the person's own.
    `patch` is Python that the process runs first.

    With a patch, what takes long by design takes less: how long that is stands in `test_documented_limits.py`.
    """
    given = [*arguments]
    if routes is not None:
        (folder / "routes.toml").write_text(routes, encoding="utf-8")
        given += ["--routes", str(folder / "routes.toml")]
    more = dict(environ or {})
    if definitions is not None:
        (folder / "own").mkdir(exist_ok=True)
        (folder / "own" / "own.toml").write_text(definitions, encoding="utf-8")
        more["LMS_DEFINITIONS"] = str(folder / "own")
    listener = Listener(started(["listen", *address, *given], folder, environment(folder, **more), patch), folder)
    process = listener.process
    try:
        listener.wait_ready()
        yield listener
    finally:
        if process.poll() is None:
            process.kill()
        listener.finish()
