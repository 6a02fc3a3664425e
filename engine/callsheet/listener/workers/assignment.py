"""Which part of a listener this process is: the supervisor tells each worker in a variable of its environment."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, MutableMapping
from typing import NamedTuple

from ..server.bind import BACKLOG, shared_socket

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
    def text(self) -> str:
        return json.dumps(self)

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
        for sock in sockets:
            sock.listen(BACKLOG)
            sock.setblocking(False)  # noqa: FBT003 - its only form
        return sockets


def pop_assignment(environ: MutableMapping[str, str]) -> WorkerAssignment | None:
    """None in a process that is no worker. The variable is taken away, so that handlers' programs do not get it."""
    text = environ.pop(VARIABLE, None)
    if text is None:
        return None
    assigned = WorkerAssignment(*json.loads(text))
    bindings = tuple((family, host, port) for family, host, port in assigned.bindings)
    return assigned._replace(sockets=tuple(assigned.sockets), bindings=bindings)


def starting_file(directory: str) -> str:
    """A file that is there until each worker has served for the first time."""
    return os.path.join(directory, "starting")


def can_have_workers() -> bool:
    """Whether processes can inherit a socket and be sent signals here."""
    return os.name == "posix"
