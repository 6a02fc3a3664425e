"""Whatever ends a connection to a real server, it comes back."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.queue.jetstream import nats_connection as connection
from callsheet.listener.queue.jetstream.nats_connection import QueueAccess, QueueAddress, connect_to_server
from support.listening import event, until
from support.nats import Crew, Server, nats_server, needs_server, ready
from support.waiting import PATIENCE

pytestmark = [needs_server, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]

USERS = "authorization {{ users = [{{ user: u, password: {} }}] }}"
FAIL = '[route.r]\ndo = [{ handler = "append", file = "got" }, { handler = "exec", run = ["./loud"] }]\n'


def test_credentials_that_end_and_come_back_while_connected(tmp_path: Path) -> None:
    with nats_server(tmp_path, USERS.format("first")) as server, Crew(tmp_path, server) as crew:
        crew.environ["LMS_QUEUE_CREDENTIALS"] = "u:first"
        listener = crew.listener()
        ready(listener)
        server.reload(USERS.format("second"))
        listener.logged("not allowed any more")
        assert listener.post(event("a")).status == 503
        server.reload(USERS.format("first"))
        until(lambda: listener.post(event("a")).status == 200, "the connection")
        assert listener.err.count("not allowed any more") == 1
        assert listener.err.count("was lost") == 1
        assert listener.stop() == 0


@pytest.mark.slow
def test_a_permission_that_is_taken_away_is_told_once_and_not_for_each_event(tmp_path: Path) -> None:
    rights = "authorization {{ users = [{{ user: u, password: p, permissions: {{ publish: {} }} }}] }}"
    with nats_server(tmp_path, rights.format('">"')) as server, Crew(tmp_path, server) as crew:
        crew.environ["LMS_QUEUE_CREDENTIALS"] = "u:p"
        listener = crew.listener()
        ready(listener)
        server.reload(rights.format('{ deny: "callsheet.>" }'))
        until(lambda: listener.post(event("x")).status == 503, "the refusal")
        assert listener.post(event("y")).status == 503
        said = listener.logged("permissions violation")
        assert "the server says: permissions violation for publish" in said
        assert listener.err.count("the server says") == 1


@pytest.mark.slow
def test_an_event_that_just_does_not_fit_is_413_and_stops_no_other(tmp_path: Path) -> None:
    """The server ends the connection of whoever sends it more than it takes, headers included."""
    loud = tmp_path / "loud"
    loud.write_text("#!/bin/sh\nhead -c 3000 /dev/zero | tr '\\0' '\\033' >&2; exit 3\n", encoding="utf-8")
    loud.chmod(0o755)
    own = '[listener.webhook]\nmax_attempts = 1\n[queue.jetstream]\nlease = "3s"\n'
    with nats_server(tmp_path, "max_payload: 8192") as server, Crew(tmp_path, server, FAIL, own) as crew:
        listener, worker = crew.listener(), crew.worker()
        ready(listener, worker)
        sizes = range(5000, 8400, 100)
        statuses = [listener.post(event(str(size), text="x" * size)).status for size in sizes]
        assert statuses == sorted(statuses)
        assert set(statuses) == {200, 413}
        assert listener.post(event("small")).status == 200
        taken = statuses.count(200) + 1
        until(lambda: len(crew.inbox("dead", "--max", "100")) == taken, "all that failed")
        shown = crew.inbox("show", str(sizes[statuses.count(200) - 1]))
        assert (shown["error"], shown["succeeded"]) == (shown["error"], ["r/1"])
        assert "exit code 3" in shown["error"]
        assert "was lost" not in listener.err + worker.err


async def eventually(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - the library tells nobody
            await asyncio.sleep(0.01)


def access(server: Server, **credentials: str) -> QueueAccess:
    return QueueAccess(QueueAddress((f"nats://127.0.0.1:{server.port}",), "EVENTS"), credentials, None, "2s")


def test_a_server_that_hangs_with_much_to_read_is_left_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PING_EVERY", 0.05)
    monkeypatch.setattr(connection, "FLUSH_TIMEOUT", 0.01)

    async def lose(server: Server) -> None:
        made = await connect_to_server(access(server), notes.append)
        server.signal(signal.SIGSTOP)
        for _ in range(40):  # more than the system keeps for a socket
            await made.publish("x", bytes(1_000_000))
            await asyncio.sleep(0)
            if not made.is_connected:
                break
        await eventually(lambda: not made.is_connected)
        server.signal(signal.SIGCONT)
        await eventually(lambda: made.is_connected)
        await made.flush()
        await made.close()

    notes: list[str] = []
    with nats_server(tmp_path) as server:
        asyncio.run(lose(server))
    assert [note.rpartition(" ")[2] for note in notes] == ["lost", "again"]


def test_credentials_that_are_just_being_written_do_not_end_the_attempts(tmp_path: Path) -> None:
    from support.nats_accounts import operator

    config, creds = operator()
    path = tmp_path / "user.creds"
    path.write_text(creds, encoding="utf-8")

    async def lose(server: Server) -> None:
        made = await connect_to_server(access(server, user_credentials=str(path)), print)
        path.write_text("-----BEGIN NATS USER JWT-----\n", encoding="utf-8")
        failures: list[Exception] = []
        told = made._error_cb

        async def remember(error: Exception) -> None:
            failures.append(error)
            await told(error)

        made._error_cb = remember
        server.kill()
        server.start()
        await eventually(lambda: [error for error in failures if not isinstance(error, OSError | client_errors())])
        path.write_text(creds, encoding="utf-8")
        await eventually(lambda: made.is_connected)
        await made.close()

    with nats_server(tmp_path, config) as server:
        asyncio.run(lose(server))


def client_errors() -> type[Exception]:
    from nats.errors import Error

    found: type[Exception] = Error
    return found
