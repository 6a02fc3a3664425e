"""A program that is started for an event: fed, listened to, waited for, and ended with all that it started.

The loop's own machinery is not used: uvloop forks, and a fork copies the page tables of a large process, which takes
several times as long as starting a small program. `subprocess.Popen` uses vfork, whose cost does not depend on the size
of the process that calls it. Where the system has pidfds (Linux) the loop watches one, and the pipes, without a thread;
elsewhere threads wait and read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import IO, TypeVar

MAX_OUTPUT = 8192
TERMINATE_TIMEOUT = 1.0
OUTPUT_TIMEOUT = 0.2
_CHUNK_SIZE = 65536
_CHUNKS_PER_READ = 16
_HAS_PIDFD = hasattr(os, "pidfd_open")
T = TypeVar("T")


class Process:
    """One running program; its output goes where its errors go. Made inside a running loop."""

    def __init__(
        self, arguments: Sequence[str], directory: str | None, environ: Mapping[str, str], data: bytes
    ) -> None:
        """Start it with `data` on its standard input. Raises `OSError`; `ValueError` for words no program can get."""
        self._popen = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environ,
            bufsize=0,
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        loop = asyncio.get_running_loop()
        self._exit_code: asyncio.Future[int] = loop.create_future()
        self._output_closed: asyncio.Future[None] = loop.create_future()
        self._output = bytearray()
        watcher = _LoopWatcher if _HAS_PIDFD else _ThreadWatcher
        self._watcher = watcher(self._popen, data, self._on_output, self._exit_code, self._output_closed)

    @property
    def has_exited(self) -> bool:
        return self._exit_code.done()

    async def wait(self) -> int:
        """Its exit code, negative for a signal."""
        return await asyncio.shield(self._exit_code)

    async def output(self) -> bytes:
        """The first part of what it printed; children that it left may keep the pipe open and are not waited for."""
        if not self._output_closed.done():
            await asyncio.wait([self._output_closed], timeout=OUTPUT_TIMEOUT)
        self._watcher.close()
        return bytes(self._output)

    async def stop(self) -> None:
        """End the program and all that it started."""
        self._signal("SIGTERM")
        await asyncio.wait([self._exit_code], timeout=TERMINATE_TIMEOUT)
        self._signal("SIGKILL")
        await self.wait()

    def _on_output(self, chunk: bytes) -> None:
        """All of it is read, so that a talkative program does not stall; the first part is kept."""
        self._output += chunk[: max(0, MAX_OUTPUT - len(self._output))]

    def _signal(self, name: str) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                subprocess.run(["taskkill", "/T", "/F", "/PID", str(self._popen.pid)], check=False, capture_output=True)
            else:
                os.killpg(self._popen.pid, getattr(signal, name))


class _LoopWatcher:
    """The loop watches the end of the program and both pipes."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        data: bytes,
        on_output: Callable[[bytes], None],
        exit_code: asyncio.Future[int],
        output_closed: asyncio.Future[None],
    ) -> None:
        self._popen, self._on_output, self._exit_code, self._output_closed = popen, on_output, exit_code, output_closed
        self._loop = asyncio.get_running_loop()
        self._input, self._output = _nonblocking(popen.stdin), _nonblocking(popen.stdout)
        self._data = memoryview(data)
        self._pidfd = os.pidfd_open(popen.pid)
        self._loop.add_reader(self._pidfd, self._on_exit)
        self._loop.add_reader(self._output, self._read)
        self._write()
        if self._data:
            self._loop.add_writer(self._input, self._write)

    def close(self) -> None:
        if self._popen.stdout is not None and not self._popen.stdout.closed:
            self._loop.remove_reader(self._output)
            self._popen.stdout.close()
        self._close_input()

    def _on_exit(self) -> None:
        code = self._popen.poll()
        if code is None:
            return
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._read()  # what it printed last is there already
        self._close_input()
        _set_result(self._exit_code, code)

    def _read(self) -> None:
        if self._output_closed.done():
            return
        with contextlib.suppress(BlockingIOError):
            for _ in range(_CHUNKS_PER_READ):  # a program that never stops talking must not hold up the loop
                chunk = os.read(self._output, _CHUNK_SIZE)
                if not chunk:
                    self._loop.remove_reader(self._output)
                    _set_result(self._output_closed, None)
                    return
                self._on_output(chunk)

    def _write(self) -> None:
        try:
            self._data = self._data[os.write(self._input, self._data) :]
        except BlockingIOError:
            return
        except OSError:  # it need not read its input
            self._data = self._data[:0]
        if not self._data:
            self._close_input()

    def _close_input(self) -> None:
        if self._popen.stdin is not None and not self._popen.stdin.closed:
            self._loop.remove_writer(self._input)
            self._popen.stdin.close()


class _ThreadWatcher:
    """A thread each for the input, the output and the end."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        data: bytes,
        on_output: Callable[[bytes], None],
        exit_code: asyncio.Future[int],
        output_closed: asyncio.Future[None],
    ) -> None:
        self._popen, self._data, self._on_output, self._exit_code, self._output_closed = (
            popen,
            data,
            on_output,
            exit_code,
            output_closed,
        )
        self._loop = asyncio.get_running_loop()
        for target in (self._write_input, self._read, self._wait):
            threading.Thread(target=target, daemon=True).start()

    def close(self) -> None:
        """The reading thread closes its end when the last child has closed the other."""

    def _write_input(self) -> None:
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError), self._popen.stdin as pipe:
                pipe.write(self._data)

    def _read(self) -> None:
        if self._popen.stdout is not None:
            with contextlib.suppress(OSError), self._popen.stdout as pipe:
                while chunk := pipe.read(_CHUNK_SIZE):
                    self._on_output(chunk)
        self._call_in_loop(partial(_set_result, self._output_closed, None))

    def _wait(self) -> None:
        self._call_in_loop(partial(_set_result, self._exit_code, self._popen.wait()))

    def _call_in_loop(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)


def _set_result(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


def _nonblocking(file: IO[bytes] | None) -> int:
    assert file is not None  # noqa: S101 - all three were asked for
    os.set_blocking(file.fileno(), False)
    return file.fileno()
