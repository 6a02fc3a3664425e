"""What is said of a proxy that cannot be used, and how often it is tried."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.cli.main import run
from support.cases import environment


def told(proxy: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, proxy)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    err = io.StringIO()
    environ = environment(home, "https://site.example")
    code = run("suite", ["projects", "list"], environ=environ, stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


@pytest.mark.parametrize(
    ("proxy", "why"),
    [
        ("http://", "it names no host"),
        ("http://:8080", "it names no host"),
        ("http://a b:80", "its host is neither a name nor an address"),
        ("http://[bad", "its host is neither a name nor an address"),
        ("http://h:99999", "there is no port 99999"),
        ("ftp://h", "Unknown scheme"),
        ("http://h:x", "Invalid port"),
    ],
)
def test_an_address_that_is_none(proxy: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, err = told(proxy, tmp_path / "home", monkeypatch)
    assert (code, f"error: the proxy's address is not valid: {why}" in err) == (2, True), err
    assert "hint: expected http://HOST:PORT" in err


@pytest.fixture
def refusing() -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that wants credentials, and what was asked of it."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(4096))
                    connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_a_proxy_that_wants_credentials_is_asked_once(
    refusing: tuple[str, list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, asked = refusing
    code, err = told(proxy, tmp_path / "home", monkeypatch)
    assert code == 7, err
    assert len(asked) == 1
    assert "407" in err
    assert "hint: if it asks for credentials (407), put them into its address" in err
