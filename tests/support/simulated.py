"""A simulated site to ask, and the published documents as judges of what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import httpx

from callsheet.catalog.catalog import open_catalog
from callsheet.client.request.http_request import Request
from callsheet.sandbox.actions import Answer
from callsheet.sandbox.sandbox_server import Server
from callsheet.sandbox.simulated_site import Faults, SandboxRequest, SandboxSite
from support.published import DOCUMENTS, SPECS, document
from support.waiting import PATIENCE

TOKEN = "only for tests"
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # else each request over plain http reads all certificates: 20 ms


class Told(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


class Judged(SandboxSite):
    """Collects where its answers depart from the published documents, and what it could not answer at all."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.wrong: set[str] = set()

    def close(self) -> None:
        super().close()
        self.catalog.close()

    def answer_request(self, request: SandboxRequest) -> Answer:
        answer = super().answer_request(request)
        if isinstance(answer.body, bytes):
            return answer
        asked = f"{request.method} {request.target}"
        told = Told(answer.status, json.loads(json.dumps(answer.body)), {})
        found = problems(asked, told) if answer.status < 500 else [f"status {answer.status}: {answer.body}"]
        self.wrong |= {f"{asked}: {problem}" for problem in found}
        return answer


def site(deployment: str = "cloud", environ: Mapping[str, str] = os.environ, path: str | None = None) -> Judged:
    found = Judged(open_catalog("suite", environ, own=False), deployment, path)
    found.address = "http://127.0.0.1:8800"
    return found


def ask(site: SandboxSite, request: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Told:
    """`request` is a method and a target."""
    method, _, target = request.partition(" ")
    data = b"" if body is None else json.dumps(body).encode()
    answer = site.answer_request(
        SandboxRequest(method, target, {"content-type": "application/json", **(headers or {})}, data)
    )
    return Told(answer.status, answer.body, dict(answer.headers))


def problems(request: str, told: Told) -> list[str]:
    """Where an answer departs from its document; nothing where the documents are not here."""
    method, _, target = request.partition(" ")
    path = target.partition("?")[0]
    found = next((DOCUMENTS[start] for start in DOCUMENTS if path.startswith(start)), None)
    if not SPECS.is_dir() or found is None:
        return []
    judge = document(*found)
    operation = judge.find(Request(method, "", path))
    if operation is None:
        return [f"no {method} {path}"]
    responses = operation[0]["responses"]
    response = judge.resolve(responses.get(str(told.status), responses.get("default")))
    if response is None:
        return [f"status {told.status} is not documented: {', '.join(responses)}"]
    if told.status >= 400:
        return []
    content = next((entry for media, entry in response.get("content", {}).items() if "json" in media), None)
    if content is None or "schema" not in content:
        return []
    return [
        f"{error.json_path}: {error.message[:200]}"
        for error in judge.validator(content["schema"]).iter_errors(told.body)
    ]


def ask_site(method: str, url: str, **given: Any) -> httpx.Response:
    """Over HTTP, as somebody else does it; `given` is for httpx. Raises where the answer is an error."""
    answer = httpx.request(method, url, verify=PLAIN, trust_env=False, timeout=PATIENCE, **given)
    return answer.raise_for_status()


def tell_sandbox(url: str, word: str) -> None:
    """`reset` or `stop`."""
    ask_site("POST", f"{url}/.sandbox/{word}", headers={"X-Sandbox-Token": TOKEN})


class _Running:
    """A site that runs in a thread of its own."""

    def __init__(self, faults: Faults | None, deployment: str) -> None:
        self.address = ""
        self.wrong: set[str] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(faults or Faults([]), deployment))
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        assert self.address, "it did not come up"

    def _run(self, faults: Faults, deployment: str) -> None:
        try:
            asyncio.run(self._serve(faults, deployment))
        finally:
            self._ready.set()  # nobody waits for what did not come up

    async def _serve(self, faults: Faults, deployment: str) -> None:
        simulated = site(deployment)
        server = Server(simulated, faults, TOKEN)
        port = await server.begin_listening(0)
        self.address = simulated.address = f"http://127.0.0.1:{port}"
        self._ready.set()
        await server.stopped.wait()
        await server.end_listening()
        simulated.close()
        self.wrong = simulated.wrong

    def end(self) -> None:
        tell_sandbox(self.address, "stop")
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


_IDLE: dict[str, list[_Running]] = {}  # by their deployment: a new one takes a tenth of a second to come up


@contextlib.contextmanager
def serving(faults: Faults | None = None, deployment: str = "cloud", wrong: set[str] | None = None) -> Iterator[str]:
    """The address of a site as it is at its start; `wrong` gets what departs from the documents.

    One that has no faults serves the next test when this one is done with it, put back to its start.
    """
    if faults is not None or wrong is not None:
        own = _Running(faults, deployment)
        try:
            yield own.address
        finally:
            own.end()
            if wrong is not None:
                wrong.update(own.wrong)
        return
    idle = _IDLE.setdefault(deployment, [])
    if idle:
        running = idle.pop()
        tell_sandbox(running.address, "reset")
    else:
        running = _Running(None, deployment)
    try:
        yield running.address
    finally:
        idle.append(running)


def end_idle_sites() -> None:
    while _IDLE:
        for running in _IDLE.popitem()[1]:
            running.end()
