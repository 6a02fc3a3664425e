"""One worker of several: what the supervisor tells it, and what it shares with the others."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import MsgspecError, json, msgpack

from .event_table import HEARTBEATS, EventTable, WorkerCounts
from .server.listening_sockets import shared_socket, start_listening

if TYPE_CHECKING:
    from .telemetry.metrics import Metrics

# Which part of a listener this process is: the supervisor tells each worker in a variable of its environment.

VARIABLE = "_CALLSHEET_WORKER"


class WorkerAssignment(NamedTuple):
    """Worker `number` of `workers`, counted from 0. `sockets` are inherited, `bindings` are bound by each worker.

    `ready` takes a byte when the worker serves; `alive` ends when the supervisor does. `memory` is shared by all, and
    `generation` is how many processes this worker has been before.
    """

    number: int
    workers: int
    directory: str
    sockets: tuple[int, ...]
    bindings: tuple[tuple[int, str, int], ...]
    ready: int
    alive: int
    announces: bool
    memory: int
    generation: int

    @property
    def as_text(self) -> str:
        return json.encode(self).decode()

    @property
    def log_lock(self) -> str:
        """A file that is locked while lines are written, so that no line of one worker breaks one of another."""
        return os.path.join(self.directory, "log")

    @property
    def starting(self) -> str:
        return starting_file(self.directory)

    def signal_ready(self) -> None:
        """A supervisor that does not wait for it has closed its end."""
        with contextlib.suppress(OSError):
            os.write(self.ready, b"+")
        os.close(self.ready)

    def on_supervisor_exit(self, stop: Callable[[], object]) -> None:
        """Calls `stop`, from a thread of its own, when the supervisor has ended, however it ended."""

        def watch() -> None:
            while os.read(self.alive, 1):
                pass
            stop()

        threading.Thread(target=watch, daemon=True).start()

    def open_sockets(self) -> list[socket.socket]:
        """Listening sockets: the inherited ones, and those that this worker binds beside the others."""
        sockets = [socket.socket(fileno=descriptor) for descriptor in self.sockets]
        sockets += [shared_socket(socket.AddressFamily(family), (host, port)) for family, host, port in self.bindings]
        return [start_listening(sock) for sock in sockets]


def pop_assignment(environ: MutableMapping[str, str]) -> WorkerAssignment | None:
    """None in a process that is no worker. The variable is taken away, so that handlers' programs do not get it."""
    text = environ.pop(VARIABLE, None)
    return None if text is None else json.decode(text, type=WorkerAssignment)


def starting_file(directory: str) -> str:
    """A file that is there until each worker has served for the first time."""
    return os.path.join(directory, "starting")


def can_have_workers() -> bool:
    """Whether processes can inherit a socket and be sent signals here."""
    return os.name == "posix"


# What one worker has to do with the others: the table of events that they share, and the metrics of all.

METRICS_TIMEOUT = 2.0  # seconds that the metrics of another worker are waited for
BEAT_EVERY = 0.5  # seconds


class Team:
    """Each worker says what it counted to whoever connects to its socket. Only its user can enter the directory."""

    def __init__(self, assignment: WorkerAssignment, metrics: Metrics) -> None:
        self.assignment = assignment
        self._metrics = metrics
        self._server: asyncio.Server | None = None
        self._beating: asyncio.Task[None] | None = None
        self._has_started = False

    def event_table(self, size: int, window: float) -> EventTable:
        """That of all workers, which remembers at least the last `size` events, for `window` seconds."""
        assigned = self.assignment
        return EventTable(size, window, assigned.memory, assigned.number, assigned.generation)

    def has_started(self) -> bool:
        """Whether all workers have served by now."""
        if not self._has_started:
            self._has_started = not os.path.exists(self.assignment.starting)
        return self._has_started

    async def start(self) -> None:
        self._beating = asyncio.create_task(self._beat_forever())
        path = self._socket_of(self.assignment.number)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)  # of a worker that died
        self._server = await asyncio.start_unix_server(self._write_metrics, path)

    async def _beat_forever(self) -> None:
        """In the loop that serves, so that the supervisor learns where that is held up."""
        heartbeats = WorkerCounts(self.assignment.memory, HEARTBEATS)
        while True:
            heartbeats.increase_count(self.assignment.number)
            await asyncio.sleep(BEAT_EVERY)

    def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        if self._server is not None:
            self._server.close()

    async def _write_metrics(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(msgpack.encode(self._metrics.current_families()))
            await writer.drain()
        writer.close()

    async def metrics_page(self, accept: str) -> tuple[bytes, str]:
        """What the whole listener counted, as far as its workers answer now."""
        others = [index for index in range(self.assignment.workers) if index != self.assignment.number]
        answers = await asyncio.gather(*(self._metrics_of(index) for index in others))
        families_by_worker = {
            self.assignment.number: self._metrics.current_families(),
            **dict(zip(others, answers, strict=True)),
        }
        return self._metrics.merged_page(accept, families_by_worker)

    async def _metrics_of(self, index: int) -> list[Any]:
        """Nothing where that worker is not there, hangs, or goes away before it has said all."""
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(METRICS_TIMEOUT):
                reader, writer = await asyncio.open_unix_connection(self._socket_of(index))
                families: list[Any] = msgpack.decode(await reader.read())
        except (OSError, TimeoutError, MsgspecError):
            return []
        finally:
            if writer is not None:
                writer.close()
        return families

    def _socket_of(self, index: int) -> str:
        return os.path.join(self.assignment.directory, f"{index}.sock")
