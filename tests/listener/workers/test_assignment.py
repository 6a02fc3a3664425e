"""What a worker is told, and the sockets that it gets."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from callsheet.listener.worker_process import VARIABLE, WorkerAssignment, pop_assignment
from support.ports import free_port
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="workers of POSIX")


def assignment(**changes: object) -> WorkerAssignment:
    given = {
        "number": 1, "workers": 3, "directory": "/d", "sockets": (), "bindings": (), "ready": 7, "alive": 8,
        "announces": True, "memory": 9, "generation": 2,
    }  # fmt: skip
    return WorkerAssignment(**{**given, **changes})  # type: ignore[arg-type]


def test_it_comes_back_as_it_was_told_and_is_told_once() -> None:
    told = assignment(sockets=(4, 5), bindings=((2, "127.0.0.1", 80), (10, "::1", 80)), announces=False)
    environ = {VARIABLE: told.as_text, "A": "b"}
    assert pop_assignment(environ) == told
    assert environ == {"A": "b"}
    assert pop_assignment(environ) is None
    assert told.log_lock == os.path.join("/d", "log")


def test_readiness_is_a_byte_and_then_the_end() -> None:
    reading, writing = os.pipe()
    assignment(ready=writing).signal_ready()
    with os.fdopen(reading, "rb") as told:
        assert told.read() == b"+"
    reading, writing = os.pipe()
    os.close(reading)
    assignment(ready=writing).signal_ready()
    with pytest.raises(OSError, match="descriptor"):
        os.close(writing)


def test_it_stops_when_its_supervisor_has_ended() -> None:
    reading, writing = os.pipe()
    stopped = threading.Event()
    assignment(alive=reading).on_supervisor_exit(stopped.set)
    os.write(writing, b"x")
    assert not stopped.wait(0.05)
    os.close(writing)
    assert stopped.wait(PATIENCE)
    os.close(reading)


def test_its_sockets_listen_and_do_not_block() -> None:
    inherited = socket.create_server(("127.0.0.1", 0))
    port = free_port()
    found = assignment(
        sockets=(os.dup(inherited.fileno()),), bindings=((int(socket.AF_INET), "127.0.0.1", port),)
    ).open_sockets()
    try:
        assert [each.getsockname()[1] for each in found] == [inherited.getsockname()[1], port]
        assert [each.getblocking() for each in found] == [False, False]
        for each in found:
            socket.create_connection(each.getsockname()).close()
    finally:
        for each in (*found, inherited):
            each.close()
