"""A server that answers too much, too slowly, too deeply or with nonsense costs a bounded amount of each."""

from __future__ import annotations

import gzip
import io
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from callsheet.client.http import reply as replies
from callsheet.client.http.download import write_to
from callsheet.errors import CallsheetError, UsageError
from callsheet.richtext.storage.xml import ENTITY
from callsheet.richtext.storage.xml import parse_fragment as parse_storage
from support.listening import until
from support.server import exchange, reply
from support.shop import shop

ITEM, PICTURE = "/api/3/item/1", "/api/3/item/1/picture"
JSON = {"Content-Type": "application/json"}
MIB = 1 << 20


def bomb(size: int, wrap: Callable[[bytes], bytes] = gzip.compress) -> bytes:
    """A JSON text that is small on the wire."""
    return wrap(b'"' + b" " * size + b'"')


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_small_answer_that_becomes_a_large_one_is_given_up(coding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "LARGEST", 8 * MIB)
    body = bomb(400 * MIB // 8, zlib.compress if coding == "deflate" else gzip.compress)
    with shop([exchange("GET", ITEM, reply(body=body, headers={**JSON, "Content-Encoding": coding}))]) as here:
        tracemalloc.start()
        try:
            error = here.fail("getItem", {"id": "1"})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert "the answer is larger than 8 MiB" in error.message
    assert error.hint == "--out FILE saves an answer of any length"
    assert peak < 40 * MIB


def test_an_answer_without_compression_and_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "LARGEST", MIB)
    endless = reply(headers=JSON, chunks=lambda: (b" " * 65536 for _ in range(10_000)))
    with shop([exchange("GET", ITEM, endless)]) as here:
        assert "larger than 1 MiB" in here.fail("getItem", {"id": "1"}).message


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "gzip, deflate, gzip", "x" * 5000])
def test_a_compression_that_was_not_asked_for_is_refused(coding: str) -> None:
    answer = reply(body=b"{}", headers={**JSON, "Content-Encoding": coding})
    with shop([exchange("GET", ITEM, answer, headers={"Accept-Encoding": "gzip, deflate"})]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert "which was not asked for" in error.message
    assert len(error.message) < 300


def test_a_download_has_no_limit_and_stays_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "LARGEST", MIB)

    class Sink(io.RawIOBase):
        def write(self, data: object) -> int:
            return len(data)  # type: ignore[arg-type]

    body = gzip.compress(bytes(64 * MIB))
    with shop([exchange("GET", PICTURE, reply(body=body, headers={"Content-Encoding": "gzip"}))]) as here:
        tracemalloc.start()
        try:
            assert write_to(here.client, here.build("getPicture", {"id": "1"}), Sink()) == 64 * MIB  # type: ignore[arg-type]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 16 * MIB


@contextmanager
def trickling(first: bytes, drop: bytes) -> Iterator[tuple[str, list[int]]]:
    """A server that answers `first` and then `drop` ten times a second, until the client leaves; counts connections."""
    count: list[int] = []
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            try:
                connection.sendall(first)
                while not ended.wait(0.05):
                    connection.sendall(drop)
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)

        def accept() -> None:
            while not ended.is_set():
                try:
                    connection = listener.accept()[0]
                except TimeoutError:
                    continue
                count.append(1)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", count
        finally:
            ended.set()
            thread.join()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
ZIPPED = HEAD.replace(b"Content-Length", b"Content-Encoding: gzip\r\nContent-Length")
TRICKLES = {
    "a body": (HEAD, b" "),
    "a compressed body that gives nothing": (ZIPPED, b""),
    "interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "a header": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
}


@pytest.mark.parametrize(("first", "drop"), TRICKLES.values(), ids=TRICKLES)
def test_the_whole_answer_has_to_come_in_time(first: bytes, drop: bytes) -> None:
    """However many bytes come on the way: the time-out is for all of it (and it is tried once more)."""
    with trickling(first, drop) as (url, count), shop(root=url, timeout=0.4) as here:
        error = here.fail("getItem", {"id": "1"})
        until(lambda: len(count) == 2, "the second request")
    assert error.exit_code == 7
    assert "no answer within 0.4 s" in error.message
    assert len(count) == 2


def test_a_download_may_take_longer_than_the_time_out() -> None:
    pieces = [b"x" * 10] * 8

    def slowly() -> Iterator[bytes]:
        for piece in pieces:
            time.sleep(0.15)
            yield piece

    with shop([exchange("GET", PICTURE, reply(chunks=slowly))], timeout=1.0) as here:
        sink = io.BytesIO()
        assert write_to(here.client, here.build("getPicture", {"id": "1"}), sink) == 80


def test_a_failed_download_has_to_be_told_in_time() -> None:
    head = HEAD.replace(b"200 OK", b"500 No")
    with (
        trickling(head, b" ") as (url, _),
        shop(root=url, timeout=0.4) as here,
        pytest.raises(CallsheetError, match=r"no answer within 0\.4 s"),
    ):
        write_to(here.client, here.build("getPicture", {"id": "1"}), io.BytesIO())


NONSENSE = ["https://[", "http://site.example:99999/", "https://site.example:x/", "https://", "//[", "http://\x7f/"]


@pytest.mark.parametrize("location", NONSENSE)
def test_a_redirect_to_nowhere_is_an_error_at_once(location: str) -> None:
    with shop([exchange("GET", ITEM, reply(302, headers={"Location": location}))]) as here:
        error = here.fail("getItem", {"id": "1"})
        assert here.clock.slept == []
    assert error.exit_code in {1, 2}
    assert "address" in error.message or "URL" in error.message


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ("[1, [], ", "]")])
@pytest.mark.parametrize(("levels", "fine"), [(290, True), (301, False), (5000, False), (200_000, False)])
def test_json_may_be_nested_so_deeply_and_no_deeper(opening: str, closing: str, levels: int, fine: bool) -> None:
    body = opening * levels + "1" + closing * levels
    with shop([exchange("GET", ITEM, reply(body=body.encode(), headers=JSON))]) as here:
        if fine:
            here.send("getItem", {"id": "1"}).json()
        else:
            assert "nested too deeply" in here.fail("getItem", {"id": "1"}).message


@pytest.mark.parametrize("opening", ["<![CDATA[", "<!--", "<p><![CDATA[x]]", "&a", "<![CDATA[<!--"])
def test_openings_without_an_end_are_read_once(opening: str) -> None:
    """What is found reaches to the end, so that no other opening is tried: one match, not one for each."""
    text = opening * 20_000
    assert sum(len(match[0]) for match in ENTITY.finditer(text)) <= len(text)
    assert len(ENTITY.findall(text)) <= 1 or opening == "&a"
    with pytest.raises(UsageError):
        parse_storage(text)
