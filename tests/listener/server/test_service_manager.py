"""Sockets that a service manager passes, and word to it when the listener serves."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.errors import UsageError
from callsheet.listener.server import listening_sockets as service_manager
from callsheet.listener.server.listening_sockets import (
    ListenAddress,
    Notifier,
    bind_sockets,
    parse_address,
    parse_served_address,
    passed_address,
    take_address,
)
from support.listening import SECRET, Listener, command, environment, event, run, until
from support.waiting import PATIENCE

if os.name == "nt":
    pytest.skip("a protocol of POSIX", allow_module_level=True)

from fcntl import F_DUPFD, fcntl

# What the manager does between fork and exec: the sockets follow standard error, and the variables name the process.
PASSING = """
import os, sys
count, words = int(sys.argv[1]), sys.argv[2:]
for place, descriptor in enumerate(map(int, os.environ.pop("GIVEN").split(","))):
    os.dup2(descriptor, 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count), LISTEN_FDNAMES="listener")
os.execv(words[0], words)
"""


@contextlib.contextmanager
def passed(folder: Path, sockets: list[socket.socket], *words: str, **environ: str) -> Iterator[Listener]:
    # Copies far from the places that they are to go to, none of them in use here.
    high = [fcntl(each.fileno(), F_DUPFD, 40) for each in sockets]
    variables = environment(folder, LMS_SECRET=SECRET, GIVEN=",".join(map(str, high)), **environ)
    process = subprocess.Popen(
        [sys.executable, "-c", PASSING, str(len(sockets)), *command("listen", "--addr", "systemd", *words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=variables, pass_fds=high,
    )  # fmt: skip
    for descriptor in high:
        os.close(descriptor)
    listener = Listener(process, folder)
    try:
        yield listener
        assert listener.stop() == 0
    finally:
        if process.poll() is None:
            process.kill()
        listener.finish()


@pytest.fixture
def listening_socket() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_events_come_through_a_passed_socket_that_nobody_binds(
    workers: list[str], tmp_path: Path, listening_socket: socket.socket
) -> None:
    """A sender that was there before the listener is served; the listener says that it is ready; handlers get neither
    the variables nor the socket."""
    (tmp_path / "seen").write_text("#!/bin/sh\nenv > environment.part\nls /dev/fd >> environment.part\n"
                                   "mv environment.part environment\n", encoding="utf-8")  # fmt: skip
    (tmp_path / "seen").chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket() as early:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(PATIENCE)
        early.connect(listening_socket.getsockname())
        words = ["--handler", "./seen", *workers]
        with passed(tmp_path, [listening_socket], *words, NOTIFY_SOCKET=str(tmp_path / "notify")) as listener:
            assert manager.recv(100) == b"READY=1"
            early.sendall(b"GET /health HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            early.settimeout(PATIENCE)
            assert early.recv(100).startswith(b"HTTP/1.1 200 ")
            listener.port = listening_socket.getsockname()[1]
            listener.logged(f"http://127.0.0.1:{listener.port}/webhook")
            assert listener.send(event("1")).status == 200
            until((tmp_path / "environment").exists)
    seen = (tmp_path / "environment").read_text(encoding="utf-8")
    assert not re.search("LISTEN_|NOTIFY_SOCKET", seen)
    assert "EVENT_ID=1" in seen


def test_a_unix_socket_that_was_passed_stays(tmp_path: Path) -> None:
    path = tmp_path / "sock"
    with socket.socket(socket.AF_UNIX) as sock, socket.socket(socket.AF_UNIX) as sender:
        sock.bind(str(path))
        sock.listen()
        with passed(tmp_path, [sock]) as listener:
            listener.logged(f"unix:{path}")
            sender.settimeout(PATIENCE)
            sender.connect(str(path))
            sender.sendall(b"GET /ready HTTP/1.1\r\nHost: here\r\n\r\n")
            assert sender.recv(100).startswith(b"HTTP/1.1 200 ")
    assert path.exists()


@pytest.mark.parametrize("environ", [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}])
def test_without_passed_sockets_that_is_told(environ: dict[str, str], tmp_path: Path) -> None:
    done = run(tmp_path, "listen", "--addr", "systemd", **environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--addr systemd: the service manager passed no socket" in done.stderr


@pytest.mark.parametrize("count", ["", "0", "x", "-1", "²", "65"])
def test_a_count_that_is_none(count: str) -> None:
    environ = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count, "OTHER": "1"}
    with pytest.raises(UsageError, match="passed no socket"):
        take_address(environ)
    assert environ == {"OTHER": "1"}


def test_what_is_passed_has_to_be_a_listening_stream(tmp_path: Path, listening_socket: socket.socket) -> None:
    with open(tmp_path / "file", "wb") as file, pytest.raises(UsageError, match="is not a socket"):
        passed_address((file.fileno(),))
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(UsageError, match="is not a stream socket"):
        passed_address((sock.fileno(),))
    with pytest.raises(UsageError, match="is not a socket"):
        passed_address((2**20,))


@pytest.mark.skipif(sys.platform != "linux", reason="not every system tells")
def test_a_connection_is_no_listening_socket(listening_socket: socket.socket) -> None:
    with socket.create_connection(listening_socket.getsockname()) as sock, pytest.raises(UsageError) as caught:
        passed_address((sock.fileno(),))
    assert caught.value.hint == "the unit needs Accept=no"


def test_who_can_reach_a_passed_socket_is_known_by_its_address(listening_socket: socket.socket, tmp_path: Path) -> None:
    assert parse_served_address("systemd").is_public
    assert not passed_address((listening_socket.fileno(),)).is_public
    with socket.create_server(("0.0.0.0", 0)) as everywhere:
        assert passed_address((listening_socket.fileno(), everywhere.fileno())).is_public
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "sock"))
        sock.listen()
        assert not passed_address((sock.fileno(),)).is_public


def test_only_a_service_has_sockets_passed() -> None:
    assert parse_served_address(":1") == parse_address(":1")
    with pytest.raises(UsageError):
        parse_address("systemd")


def test_a_passed_socket_is_served_as_it_is(listening_socket: socket.socket) -> None:
    address = passed_address((listening_socket.detach(),))
    (sock,) = bind_sockets(address)
    with sock:
        assert not sock.get_inheritable()
        assert not sock.getblocking()
        assert address == ListenAddress(("127.0.0.1",), descriptors=(sock.fileno(),), is_passed=True)


def test_a_manager_that_has_gone_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"NOTIFY_SOCKET": str(tmp_path / "gone"), "OTHER": "1"}
    Notifier(environ).notify_ready()
    assert environ == {"OTHER": "1"}
    monkeypatch.delattr(service_manager.socket, "AF_UNIX")
    Notifier({"NOTIFY_SOCKET": "/run/there"}).notify_ready()


@pytest.mark.skipif(sys.platform != "linux", reason="names without a file are of Linux")
def test_a_manager_whose_socket_has_no_file() -> None:
    name = f"callsheet-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        manager.settimeout(PATIENCE)
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).notify_ready()
        assert manager.recv(100) == b"READY=1"
