"""A program that is started for an event: fed, listened to, waited for, and ended with all that it started.

The loop's own machinery is not used: uvloop forks, and a fork copies the page tables of a large process, which takes
several times as long as starting a small program.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

from .orphans import orphans
from .process_start import EncodedEnvironment, Started, start
from .process_watcher import Watcher, watch
from .start_queue import start_queue

MAX_OUTPUT = 8192
TERMINATE_TIMEOUT = 1.0
OUTPUT_TIMEOUT = 0.2


class Process:
    """One program; its output goes where its errors go. Made inside a running loop.

    `exit_code` is its exit code, negative for a signal; None until it has ended. `most` bytes of its output are kept.
    """

    def __init__(
        self, arguments: Sequence[str], directory: str | None, environ: EncodedEnvironment, most: int = MAX_OUTPUT
    ) -> None:
        self.exit_code: int | None = None
        self._arguments = arguments
        self._directory = directory
        self._environ = environ
        self._most = most
        self._started: Started | None = None
        self._watcher: Watcher | None = None
        self._output_closed = False
        self._output = bytearray()
        self._loop = asyncio.get_running_loop()
        self._start_queue = start_queue(self._loop)
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._started is not None and self.exit_code is None

    async def start(self, data: bytes, executable: str | None = None) -> None:
        """Start it with `data` on its standard input. Raises `OSError`; `ValueError` for words no program can get.

        `executable` is the file of the first argument, where that is known. Whoever is cancelled here asks
        `is_running` whether it was too late.
        """
        held: list[int] = []  # what is closed whatever happens
        try:
            inside, stdin = _pipe(held)
            stdout, outside = _pipe(held)
            left = _offered(stdin, data)

            running = orphans()

            def watched(started: Started) -> None:
                running.add(started.pid)
                held.remove(stdout)
                if left:
                    held.remove(stdin)
                self._watcher = watch(started, stdout, stdin, left, self)
                self._started = started

            await self._start_queue.add(
                lambda: start(self._arguments, self._directory, self._environ, executable, inside, outside), watched
            )
        finally:
            for descriptor in held:
                os.close(descriptor)

    async def wait(self, limit: float) -> bool:
        """Whether it ended within `limit` seconds."""
        return await self._until(lambda: self.exit_code is not None, limit)

    async def output(self) -> bytes:
        """The first part of what it printed; children that it left may keep the pipe open and are not waited for."""
        if self._started is not None and not self._output_closed:
            await self._until(lambda: self._output_closed, OUTPUT_TIMEOUT)
        if self._watcher is not None:
            self._watcher.close()
        return bytes(self._output)

    async def stop(self) -> None:
        """End the program and all that it started."""
        self._signal("SIGTERM")
        await self.wait(TERMINATE_TIMEOUT)
        self._signal("SIGKILL")
        while not await self.wait(TERMINATE_TIMEOUT):  # a process that waits for a disk ends later
            pass

    async def _until(self, is_so: Callable[[], bool], limit: float) -> bool:
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            self._wake()

        timer = self._loop.call_later(limit, expire)
        try:
            while not is_so() and not expired:
                self._waiter = self._loop.create_future()
                await self._waiter
        finally:
            timer.cancel()
        return is_so()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def on_output(self, chunk: bytes) -> None:
        """All of it is read, so that a talkative program does not stall; the first part is kept."""
        if (room := self._most - len(self._output)) > 0:
            self._output += chunk[:room]

    def on_output_closed(self) -> None:
        self._output_closed = True
        self._wake()

    def on_exit(self, code: int) -> None:
        self.exit_code = code
        if self._started is not None:
            orphans().discard(self._started.pid)
        self._start_queue.on_exit()
        self._wake()

    def _signal(self, name: str) -> None:
        if self._started is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                subprocess.run(
                    ["taskkill", "/T", "/F", "/PID", str(self._started.pid)], check=False, capture_output=True
                )
            else:
                os.killpg(self._started.pid, getattr(signal, name))


def _pipe(held: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    held += ends
    return ends


def _offered(stdin: int, data: bytes) -> bytes:
    """What of `data` does not fit into the pipe; most events fit, so that nobody has to watch it."""
    if not data or sys.platform == "win32":
        return data
    os.set_blocking(stdin, False)
    try:
        return data[os.write(stdin, data) :]
    except BlockingIOError:
        return data
