"""Which addresses are bound, and what is said of those that cannot be."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from callsheet.errors import CallsheetError, UsageError
from callsheet.listener.server import listening_sockets as binding
from callsheet.listener.server.listening_sockets import (
    ListenAddress,
    bind_for_workers,
    bind_sockets,
    parse_address,
    urls_of_sockets,
)
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sockets of POSIX")


@pytest.mark.parametrize(
    ("text", "public"),
    [
        (":8080", False), ("localhost:1", False), ("127.0.0.1:1", False), ("127.8.9.1:1", False), ("[::1]:1", False),
        ("unix:/x", False), ("0.0.0.0:1", True), ("[::]:1", True), ("10.0.0.1:1", True), ("name.example:1", True),
    ],
)  # fmt: skip
def test_who_can_connect(text: str, public: bool) -> None:
    assert parse_address(text).is_public is public


@pytest.mark.parametrize("port", [0, 1, 65535])
def test_ports_that_there_are(port: int) -> None:
    assert parse_address(f":{port}") == ListenAddress(("127.0.0.1", "::1"), port)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (":65536", "is not a valid address"),
        (":" + "9" * 5000, "is not a valid address"),
        (":", "is not a valid address"),
        ("", "is not a valid address"),
        ("host", "is not a valid address"),
        (":-1", "is not a valid address"),
        (":\u0661", "is not a valid address"),
        ("::1", "put an IPv6 address in brackets"),
        ("unix:", "needs a path"),
    ],
)
def test_addresses_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"^--there: .*{problem}") as caught:
        parse_address(text, "--there")
    assert str(caught.value.hint).startswith("example")


def test_a_number_alone_is_a_port() -> None:
    assert parse_address("8080") == parse_address(":8080")


def test_both_loopback_addresses_share_a_port_and_do_not_block() -> None:
    found = bind_sockets(ListenAddress(("127.0.0.1", "127.0.0.2"), 0))
    try:
        (first, second) = (each.getsockname() for each in found)
        assert (first[0], second[0]) == ("127.0.0.1", "127.0.0.2")
        assert first[1] == second[1] != 0
        assert [each.getblocking() for each in found] == [False, False]
        assert urls_of_sockets(found, "https") == [f"https://127.0.0.1:{first[1]}", f"https://127.0.0.2:{first[1]}"]
        for each in found:
            with pytest.raises(BlockingIOError):
                each.accept()
        with pytest.raises(CallsheetError, match=f"cannot listen on port {first[1]} of 127.0.0.1: ") as caught:
            bind_sockets(ListenAddress(("127.0.0.1",), first[1]))
        assert caught.value.hint == "another program listens there"
    finally:
        for each in found:
            each.close()


def test_an_address_that_is_not_here_is_no_other_program() -> None:
    with pytest.raises(CallsheetError, match=r"cannot listen on port 0 of 192\.0\.2\.1: ") as caught:
        bind_sockets(ListenAddress(("192.0.2.1",), 0))
    assert caught.value.hint is None


def test_a_name_that_leads_nowhere_is_said_to() -> None:
    with pytest.raises(UsageError, match=r"--there: no such host: no-such-host\.invalid \("):
        bind_sockets(ListenAddress(("no-such-host.invalid",), 0), "--there")


def test_the_second_address_may_be_missing() -> None:
    (only,) = bind_sockets(ListenAddress(("127.0.0.1", "192.0.2.1"), 0))
    only.close()


def test_a_port_is_free_again_at_once() -> None:
    (listening,) = bind_sockets(ListenAddress(("127.0.0.1",), 0))
    name = listening.getsockname()
    with socket.create_connection(name) as sender:
        listening.settimeout(PATIENCE)
        connection, _ = listening.accept()
        connection.close()  # the side that closes first keeps the port for a while
        sender.recv(1)
    listening.close()
    bind_sockets(ListenAddress(("127.0.0.1",), name[1]))[0].close()


@pytest.mark.parametrize("kind", ["file", "folder", "link to nothing"])
def test_what_is_no_socket_stays_and_is_not_called_a_program(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    {"file": path.touch, "folder": path.mkdir, "link to nothing": lambda: path.symlink_to("nothing")}[kind]()
    with pytest.raises(CallsheetError, match="Address already in use") as caught:
        bind_sockets(ListenAddress(path=str(path)))
    assert caught.value.hint == "another file is there: move it away, or name another path"
    assert os.path.lexists(path)


def test_a_unix_socket_is_for_user_and_group_and_replaces_a_stale_one(tmp_path: Path) -> None:
    path = tmp_path / "s"
    (first,) = bind_sockets(ListenAddress(path=str(path)))
    assert urls_of_sockets([first], "http") == [f"unix:{path}"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    assert not first.getblocking()
    with pytest.raises(CallsheetError, match=r"cannot listen on .*/s: ") as caught:
        bind_sockets(ListenAddress(path=str(path)))
    assert caught.value.hint == "another program listens there"
    first.close()
    bind_sockets(ListenAddress(path=str(path)))[0].close()


def test_a_file_is_not_taken_for_a_stale_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(CallsheetError, match="cannot listen on"):
        bind_sockets(ListenAddress(path=str(path)))
    assert path.read_text(encoding="utf-8") == "mine"


def test_workers_share_a_port_where_the_system_spreads_connections() -> None:
    held = bind_for_workers(ListenAddress(("127.0.0.1",), 0))
    name = held[0].getsockname()
    try:
        if not binding.supports_reuse_port():
            return
        with pytest.raises(ConnectionRefusedError):  # held, but nobody listens yet
            socket.create_connection(name)
        workers = [binding.shared_socket(socket.AF_INET, name) for _ in range(2)]
        for each in workers:
            each.listen()
        with socket.create_connection(name):
            pass
        with pytest.raises(CallsheetError, match="cannot listen on port"):
            bind_for_workers(ListenAddress(("127.0.0.1",), name[1]))
        for each in workers:
            each.close()
    finally:
        for each in held:
            each.close()
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(CallsheetError, match=f"cannot listen on port {other.getsockname()[1]} of 127.0.0.1: "),
    ):
        binding.shared_socket(socket.AF_INET, other.getsockname())


def test_workers_inherit_one_unix_socket(tmp_path: Path) -> None:
    (only,) = bind_for_workers(ListenAddress(path=str(tmp_path / "s")))
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(str(tmp_path / "s"))
    only.close()
