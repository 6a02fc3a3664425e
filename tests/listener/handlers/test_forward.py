"""Sending an event on: what is passed, what an answer means, and that the connection is given back."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.listener.handlers import HandlerContext, HandlerFailed
from callsheet.listener.handlers.forward_handler import Forward
from support.server import exchange, reply, serve
from support.tls import Authority


def forward(url: str, environ: Mapping[str, str] | None = None, **table: Any) -> Forward:
    context = HandlerContext("", environ or {}, frozenset(), lambda _: None, 10.0, lambda *_: 0)
    return Forward({"handler": "forward", "url": url, **table}, context)  # type: ignore[typeddict-item]


def send(made: Forward) -> None:
    """Once, and the connection given back."""

    async def run() -> None:
        try:
            await made.run(EVENT, "r/1")
        finally:
            await made.close()

    asyncio.run(run())


EVENT: Any = SimpleNamespace(
    trace_headers=[],
    data=b'{"a": 1}',
    scope={"id": "7", "note": "ü"},
    headers=[
        (b"host", b"sender.example"), (b"connection", b"close"), (b"authorization", b"Bearer x"), (b"cookie", b"c=1"),
        (b"x-signature", b"abc"), (b"x-own", b"theirs"), (b"content-type", b"application/json"), (b"te", b"trailers"),
        (b"accept-encoding", b"gzip"), (b"expect", b"100-continue"),
    ],
)  # fmt: skip


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_the_environment_says_whom_to_trust_on_this_host_too(name: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with serve([exchange("POST", "/in", reply(204))], context=authority.server_context()) as server:
        url = f"{server.url}/in".replace("127.0.0.1", "localhost")
        with pytest.raises(HandlerFailed, match="is not trusted"):
            send(forward(url))
        send(forward(url, {name: str(authority.bundle)}))


def test_bytes_and_proof_go_on_and_what_is_of_the_connection_stays() -> None:
    with serve([exchange("POST", "/in/7", reply(204), repeat=2)]) as server:
        made = forward(f"{server.url}/in/{{id}}", headers={"X-Own": "{note}"})

        async def twice() -> None:
            await made.run(EVENT, "r/1")
            await made.run(EVENT, "r/1")
            await made.close()

        asyncio.run(twice())
        assert server.connections == 1
        sent = server.requests[0]
    assert sent.body == b'{"a": 1}'
    assert {name: sent.headers.get(name) for name in ("x-signature", "x-own", "content-type", "accept-encoding")} == {
        "x-signature": "abc", "x-own": "%C3%BC", "content-type": "application/json", "accept-encoding": "identity",
    }  # fmt: skip
    assert not {"authorization", "cookie", "te", "expect"} & {name.lower() for name in sent.headers}
    assert sent.headers["host"] != "sender.example"
    assert made.client is not None
    assert made.client.is_closed


LOGIN = {"env": "LOGIN"}


@pytest.mark.parametrize(
    ("login", "expected"),
    [("robin:a:b\n", f"Basic {base64.b64encode(b'robin:a:b').decode()}"), ("word", "Bearer word")],
)
def test_a_login_is_sent_to_the_target(login: str, expected: str) -> None:
    with serve([exchange("POST", "/", reply(204))]) as server:
        send(forward(f"{server.url}/", {"LOGIN": login}, login=LOGIN))
        assert server.requests[0].headers["authorization"] == expected


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"url": "http://h.example/", "login": LOGIN}, "the password would go to h.example without encryption"),
        ({"url": "https://h.example/", "login": {"env": "NONE"}}, "login: NONE is not set"),
        (
            {"url": "https://h.example/", "login": LOGIN, "headers": {"Authorization": "x"}},
            "has an authorization already",
        ),
    ],
)
def test_a_login_that_cannot_be_sent_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        forward(environ={"LOGIN": "robin:hunter2"}, **table)
    forward("http://h.example/", {"LOGIN": "robin:hunter2"}, login={**LOGIN, "cleartext": True})


def test_what_was_never_used_is_closed_too() -> None:
    asyncio.run(forward("http://127.0.0.1:9/").close())


@pytest.mark.parametrize(
    ("status", "fails"), [(200, False), (299, False), (300, True), (302, True), (404, True), (500, True)]
)
def test_only_a_success_is_one(status: int, fails: bool) -> None:
    with serve([exchange("POST", "/", reply(status, headers={"Location": "/other"}))]) as server:
        made = forward(f"{server.url}/")
        if fails:
            with pytest.raises(HandlerFailed, match=f"^{re.escape(server.url)} answered {status}$"):
                send(made)
        else:
            send(made)


def test_a_host_that_is_not_there_is_named_without_the_path() -> None:
    with pytest.raises(HandlerFailed, match=r"cannot connect to 127\.0\.0\.1: connection refused$") as caught:
        send(forward("http://127.0.0.1:9/secret"))
    assert str(caught.value).startswith("http://127.0.0.1:9: ")
    assert "secret" not in str(caught.value)


def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    with (
        serve([exchange("POST", "/", reply(200, delay=1.0))], verify=False) as server,
        pytest.raises(HandlerFailed, match=r"no answer after 0\.1 s"),
    ):
        send(forward(f"{server.url}/", timeout="100ms"))
