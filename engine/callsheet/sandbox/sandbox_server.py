"""Serving a simulated site over HTTP on this machine only, in a process of its own that is started, asked, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

import httptools
import msgspec

from ..errors import CallsheetError, NetworkError, UsageError, ending_text
from ..files import locked_file, make_private_directory, read_private_if_there, write_atomically
from ..paths import settings_directory
from ..urls import foreign_status
from .actions import Answer
from .entities import RefusedError
from .simulated_site import CUT, PAGE, SLOW, Faults, SandboxRequest, SandboxSite

_FILE = "sandbox.json"
_PATIENCE = 30.0
_PAUSE = 0.02


class RunningSandbox(NamedTuple):
    """A sandbox that was started; `token` is what `stop` and `reset` must bring along."""

    address: str
    deployment: str
    token: str
    process: int


def sandbox_file(environ: Mapping[str, str], program: str) -> str:
    return os.path.join(settings_directory(environ, program), _FILE)


def remember_sandbox(environ: Mapping[str, str], program: str, running: RunningSandbox) -> None:
    make_private_directory(settings_directory(environ, program))
    write_atomically(sandbox_file(environ, program), json.dumps(running._asdict()).encode())


def forget_sandbox(environ: Mapping[str, str], program: str, running: RunningSandbox | None = None) -> None:
    """Take the file away; with `running` only where it still is about that one."""
    if running is not None and _running_in_file(environ, program) != running:
        return
    with suppress(FileNotFoundError):  # a sandbox that ends takes it away too
        os.remove(sandbox_file(environ, program))


def running_sandbox(environ: Mapping[str, str], program: str) -> RunningSandbox | None:
    """The sandbox that is running; None where none answers."""
    running = _running_in_file(environ, program)
    return running if running and ask_sandbox(running, "ping") else None


def _running_in_file(environ: Mapping[str, str], program: str) -> RunningSandbox | None:
    path = sandbox_file(environ, program)
    try:
        content = read_private_if_there(path, "the sandbox's file")
        return None if content is None else RunningSandbox(**json.loads(content))
    except (ValueError, TypeError):
        return None


def ask_sandbox(running: RunningSandbox, word: str) -> bool:
    """Whether the sandbox did it."""
    from http.client import HTTPConnection, HTTPException  # a client with pools would cost most of a start

    try:
        with closing(HTTPConnection(urlsplit(running.address).netloc, timeout=5)) as connection:
            connection.request("POST", f"/.sandbox/{word}", headers={"X-Sandbox-Token": running.token})
            return connection.getresponse().status == 200
    except (OSError, ValueError, HTTPException):
        return False


def starting_lock(environ: Mapping[str, str], program: str) -> AbstractContextManager[None]:
    """Held while one is started: of two that start at the same time, nobody would know the first."""
    return locked_file(sandbox_file(environ, program), _PATIENCE)


def start_detached(words: Sequence[str], environ: Mapping[str, str], program: str) -> RunningSandbox:
    """Start a program, by all the words of its command, in the background, and wait until it answers."""
    forget_sandbox(environ, program)
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env=dict(environ), **detached
        )
        try:
            return _wait_until_answering(process, said, environ, program)
        except BaseException:  # Ctrl-C too: nobody would know of a sandbox that came up later
            process.terminate()
            raise


def _wait_until_answering(
    process: subprocess.Popen[bytes], said: IO[bytes], environ: Mapping[str, str], program: str
) -> RunningSandbox:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise _failure_in_background(process.returncode, said)
        if running := running_sandbox(environ, program):
            process.returncode = 0  # it goes on without us, and is not waited for
            return running
        time.sleep(_PAUSE)
    raise NetworkError(f"the sandbox did not answer within {_PATIENCE:g} seconds")


def _failure_in_background(code: int, said: IO[bytes]) -> CallsheetError:
    """What the process in the background said last, as if it had been said here."""
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").splitlines()
    try:
        told = json.loads(lines[-1])["error"]
        message, hint = str(told["message"]), told["hint"]
    except (IndexError, ValueError, TypeError, KeyError):
        return CallsheetError(f"the sandbox did not start: {lines[-1] if lines else ending_text(code)}")
    kind = UsageError if code == UsageError.exit_code else CallsheetError
    return kind(message, hint=hint)


MAX_BODY = 64 * 1024 * 1024
CONTROL = "/.sandbox/"
_TOKEN_HEADER = "x-sandbox-token"  # noqa: S105  the name of a header
_PROXY_PAGE = b"<html><head><title>Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_SLOW_PIECES, _SLOW_PAUSE = 20, 0.25
_encode = msgspec.json.Encoder().encode


class Server:
    """The site, what is to go wrong, and the word that `stop` and `reset` must bring along."""

    def __init__(self, site: SandboxSite, faults: Faults, token: str) -> None:
        self.site = site
        self.faults = faults
        self.token = token
        self.stopped = asyncio.Event()
        self.connections: set[asyncio.Transport] = set()
        self._server: asyncio.Server | None = None

    async def begin_listening(self, port: int) -> int:
        """Listen on this machine; the port, where 0 lets the system choose one."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)
        chosen: int = self._server.sockets[0].getsockname()[1]
        return chosen

    async def end_listening(self) -> None:
        if self._server is not None:
            self._server.close()
        for transport in list(self.connections):
            transport.close()
        await asyncio.sleep(0)

    def answer_control(self, request: SandboxRequest) -> Answer:
        """What `sandbox stop` and `sandbox reset` ask; nobody else knows the token."""
        shown = request.headers.get(_TOKEN_HEADER, "").encode("latin-1")
        if not hmac.compare_digest(shown, self.token.encode()) or request.method != "POST":
            return Answer(404)
        word = request.target.removeprefix(CONTROL)
        if word == "reset":
            self.site.reset_items()
        elif word == "stop":
            self.stopped.set()
        elif word != "ping":
            return Answer(404)
        return Answer(200, {"deployment": self.site.deployment, "address": self.site.address})

    def answer_request(self, request: SandboxRequest) -> Answer:
        if request.target.startswith(CONTROL):
            return self.answer_control(request)
        told = self.faults.rate_limit_facts()
        if told is not None:
            return self.site.rate_limit_answer(self.site.product_of(request.target), told)
        return self.site.answer_request(request)


class _Connection(asyncio.Protocol):
    """One connection; requests are answered in the order in which they come."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.parser = httptools.HttpRequestParser(self)
        self.waiting: list[tuple[SandboxRequest, bool]] = []
        self.busy = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  tells the type checker
        self.transport = transport
        self.server.connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.server.connections.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._write_answer(Answer(400), keep=False)

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []
        self.size = 0

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))
        if name.lower() == b"expect" and value.lower() == b"100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self.size += len(body)
        if self.size <= MAX_BODY:
            self.body.append(body)

    def on_message_complete(self) -> None:
        method = self.parser.get_method().decode("latin-1")
        target = self.url.decode("latin-1")
        if (status := foreign_status(self.headers)) is not None:
            self._write_answer(Answer(status), keep=False)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in self.headers}
        request = SandboxRequest(method, target, headers, b"".join(self.body))
        self.waiting.append((request, self.parser.should_keep_alive()))
        self._go_on()

    def _go_on(self) -> None:
        while self.waiting and not self.busy:
            request, keep = self.waiting.pop(0)
            delay = self.server.faults.latency
            fault = None if request.target.startswith(CONTROL) else self.server.faults.choose_fault()
            if not delay and fault is None:
                self._write_answer(self._answer_to(request), keep=keep)
                continue
            self.busy = True
            task = asyncio.get_running_loop().create_task(self._answer_later(request, keep, delay, fault))
            _RUNNING.add(task)
            task.add_done_callback(_RUNNING.discard)

    def _answer_to(self, request: SandboxRequest) -> Answer:
        if self.size > MAX_BODY:
            return Answer(413)
        return self.server.answer_request(request)

    async def _answer_later(self, request: SandboxRequest, keep: bool, delay: float, fault: Any) -> None:
        await asyncio.sleep(delay)
        if fault is None:
            self._write_answer(self._answer_to(request), keep=keep)
        elif fault.status is not None:
            self._write_answer(self._fault_answer(request, fault.status), keep=keep)
        elif fault.word == PAGE:
            self._write_answer(Answer(502, _PROXY_PAGE, (("Content-Type", "text/html"),)), keep=keep)
        elif fault.word == CUT:
            data = _http_message(self._answer_to(request), keep=keep)
            self.transport.write(data[: len(data) // 2])
            self.transport.close()
        elif fault.word == SLOW:
            await self._drip_bytes(_http_message(self._answer_to(request), keep=keep))
        self.busy = False
        self._go_on()

    def _fault_answer(self, request: SandboxRequest, status: int) -> Answer:
        """The product's answer with this status, which nothing but a fault asked for."""
        site = self.server.site
        product = site.product_of(request.target)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return site.rate_limit_answer(product, self.server.faults.too_many())
        headers = {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
        phrase = HTTPStatus(status).phrase if _is_known(status) else ""
        return site.refusal_answer(RefusedError(status, phrase, headers=headers), product)

    async def _drip_bytes(self, data: bytes) -> None:
        size = max(1, len(data) // _SLOW_PIECES)
        for start in range(0, len(data), size):
            self.transport.write(data[start : start + size])
            await asyncio.sleep(_SLOW_PAUSE)

    def _write_answer(self, answer: Answer, *, keep: bool) -> None:
        if self.transport.is_closing():
            return
        self.transport.write(_http_message(answer, keep=keep))
        if not keep:
            self.transport.close()


_RUNNING: set[asyncio.Task[None]] = set()


def _http_message(answer: Answer, *, keep: bool) -> bytes:
    body, headers = b"", list(answer.headers)
    if isinstance(answer.body, bytes):
        body = answer.body
    elif answer.body is not None:
        body = _encode(answer.body)
        headers.append(("Content-Type", "application/json;charset=UTF-8"))
    if answer.status != 204:
        headers.append(("Content-Length", str(len(body))))
    headers.append(("Date", formatdate(usegmt=True)))  # as every service says it: a client learns the clock by it
    headers.append(("Connection", "keep-alive" if keep else "close"))
    phrase = HTTPStatus(answer.status).phrase if _is_known(answer.status) else "Unknown"
    lines = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in headers)
    return f"HTTP/1.1 {answer.status} {phrase}\r\n{lines}\r\n".encode("latin-1", "replace") + (
        b"" if answer.status == 204 else body
    )


def _one_line(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")


def _is_known(status: int) -> bool:
    with contextlib.suppress(ValueError):
        HTTPStatus(status)
        return True
    return False
