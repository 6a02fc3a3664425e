"""Getting a key set: which addresses are asked, and what is said of one that answers wrongly, slowly or not at all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callsheet.client.http.connections import CA_FILES
from callsheet.errors import UsageError
from callsheet.listener.verify import key_set as fetch
from callsheet.listener.verify.key_set import MAX_SIZE, check_url, make_fetcher
from callsheet.urls import is_loopback
from support.server import exchange, reply, serve
from support.tls import Authority
from support.waiting import PATIENCE

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def fetched(answer: Answer) -> bytes:
    """What a fetch from a server that answers so has."""

    async def run() -> bytes:
        serving: set[asyncio.Task[None] | None] = set()  # none where it was given up before it came here

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving.add(asyncio.current_task())
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                await answer(reader, writer)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        get, close = make_fetcher(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys")
        try:
            return await get()
        finally:
            await close()
            server.close()
            await asyncio.gather(*filter(None, serving))

    return asyncio.run(asyncio.wait_for(run(), PATIENCE))


def saying(text: bytes) -> Answer:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        await writer.drain()

    return answer


def ok(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte often enough that no single wait is long."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("size", [0, 1, MAX_SIZE])
def test_the_body_is_what_was_sent(size: int) -> None:
    assert fetched(saying(ok(b"k" * size))) == b"k" * size


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ok(b"k" * (MAX_SIZE + 1)), "larger than 128 KiB"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n", "answered 302: redirects are not followed"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "answered 404"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "answered 204"),
    ],
)
def test_what_is_no_key_set_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        fetched(saying(text))


def test_an_answer_that_is_cut_off_is_an_os_error() -> None:
    with pytest.raises(OSError, match="the answer was cut off: peer closed connection"):
        fetched(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nk"))
    with pytest.raises(OSError, match="the answer was cut off: server disconnected"):
        fetched(saying(b""))


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_the_environment_says_whom_to_trust_on_this_host_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    for each in (*CA_FILES, "SSL_CERT_DIR"):
        monkeypatch.delenv(each, raising=False)

    async def run(url: str) -> bytes:
        get, close = make_fetcher(url)
        try:
            return await get()
        finally:
            await close()

    with serve([exchange("GET", "/keys", reply(json={}))], context=authority.server_context()) as server:
        url = f"{server.url}/keys".replace("127.0.0.1", "localhost")
        with pytest.raises(OSError, match="is not trusted"):
            asyncio.run(run(url))
        monkeypatch.setenv(name, str(authority.bundle))
        assert asyncio.run(run(url)) == b"{}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_who_does_not_listen_is_named_with_the_reason(host: str) -> None:
    async def run() -> None:
        get, close = make_fetcher(f"http://{host}:9/keys")
        try:
            await get()
        finally:
            await close()

    with pytest.raises(OSError, match=f"^cannot connect to {host}: connection refused$"):
        asyncio.run(run())


@pytest.mark.parametrize("answer", [hang, drip])
def test_one_clock_bounds_the_whole_answer(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "TIMEOUT", 0.1)
    with pytest.raises(OSError, match=r"no whole answer within 0\.1 s"):
        fetched(answer)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_plain_http_is_for_this_host(host: str) -> None:
    assert is_loopback(host)
    check_url(f"http://{f'[{host}]' if ':' in host else host}:80/k", "--jwks-url")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://example.org/k", "--jwks-url: example.org needs https"),
        ("http://128.0.0.1/k", "needs https"),
        ("ftp://example.org/k", "not a valid address"),
        ("https://", "not a valid address"),
        ("https://example.org:99999/k", "not a valid address"),
        ("https://[::1/k", "not a valid address"),
        ("https://a b/k", "not a valid address"),
        ("example.org/k", "not a valid address"),
    ],
)
def test_an_address_that_nobody_can_trust_is_refused(url: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        check_url(url, "--jwks-url")
    check_url("https://example.org/k", "--jwks-url")
