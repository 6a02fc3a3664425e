"""Learning of what a program prints, that it takes its input, and that it has ended.

Where the system has pidfds (Linux) nothing but the loop is needed; elsewhere threads wait and read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable
from typing import Protocol
from weakref import WeakKeyDictionary

from .process_start import Started

_CHUNK_SIZE = 65536
_MAX_EVENTS = 64
HAS_PIDFD = hasattr(os, "pidfd_open")


class ProcessObserver(Protocol):
    """Who is told, in the loop's thread; of output also in another one."""

    def on_output(self, chunk: bytes) -> None: ...
    def on_output_closed(self) -> None: ...
    def on_exit(self, code: int) -> None: ...


def watch_program(started: Started, stdout: int, stdin: int, data: bytes, observer: ProcessObserver) -> Watcher:
    """Takes over the descriptors: `stdout` is read to its end, and `data` written to `stdin` where there is any."""
    if HAS_PIDFD:
        try:
            return _LoopWatcher(started, stdout, stdin, data, observer)
        except OSError:  # no descriptor is left, or a sandbox does not know the call: but the program runs
            pass
    return _ThreadWatcher(started, stdout, stdin, data, observer)


class _Poller:
    """One epoll for all programs that run: descriptors cost a tenth of what the loop takes for each.

    It holds no reference to its loop.
    """

    def __init__(self) -> None:
        self.epoll = select.epoll()
        self.calls: dict[int, Callable[[], None]] = {}

    def on_ready(self) -> None:
        for descriptor, _ in self.epoll.poll(0, _MAX_EVENTS):
            call = self.calls.get(descriptor)
            if call is not None:
                call()


_POLLERS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Poller] = WeakKeyDictionary()


def _add_reader_or_writer(
    loop: asyncio.AbstractEventLoop, descriptor: int, call: Callable[[], None], events: int
) -> None:
    poller = _POLLERS.get(loop)
    if poller is None:
        poller = _Poller()
        loop.add_reader(poller.epoll.fileno(), poller.on_ready)
        _POLLERS[loop] = poller
    poller.epoll.register(descriptor, events)
    poller.calls[descriptor] = call


def _remove_descriptor(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    poller = _POLLERS[loop]
    del poller.calls[descriptor]
    poller.epoll.unregister(descriptor)
    if not poller.calls:
        loop.remove_reader(poller.epoll.fileno())
        poller.epoll.close()
        del _POLLERS[loop]


class _LoopWatcher:
    """The loop watches the end of the program and its pipes."""

    def __init__(self, started: Started, stdout: int, stdin: int, data: bytes, observer: ProcessObserver) -> None:
        self._started, self._observer = started, observer
        self._loop = asyncio.get_running_loop()
        self._stdout, self._stdin = stdout, -1
        end = os.pidfd_open(started.pid)
        added: list[int] = []
        try:
            self._add_descriptor(end, lambda: self._on_exit(end), select.EPOLLIN, added)
            self._add_descriptor(stdout, self._read_output, select.EPOLLIN, added)
            if data:
                self._stdin, self._data = stdin, memoryview(data)
                self._add_descriptor(stdin, self._write_input, select.EPOLLOUT, added)
        except OSError:
            for descriptor in added:
                _remove_descriptor(self._loop, descriptor)
            os.close(end)
            raise

    def _add_descriptor(self, descriptor: int, call: Callable[[], None], events: int, added: list[int]) -> None:
        _add_reader_or_writer(self._loop, descriptor, call, events)
        added.append(descriptor)

    def _close_descriptor(self, descriptor: int) -> None:
        _remove_descriptor(self._loop, descriptor)
        os.close(descriptor)

    def close(self) -> None:
        self._close_stdout()
        self._close_stdin()

    def _on_exit(self, end: int) -> None:
        code = self._started.poll()
        if code is None:
            return
        self._close_descriptor(end)
        self._close_stdin()
        self._observer.on_exit(code)

    def _read_output(self) -> None:
        chunk = os.read(self._stdout, _CHUNK_SIZE)
        if chunk:
            self._observer.on_output(chunk)
            return
        self._close_stdout()
        self._observer.on_output_closed()

    def _write_input(self) -> None:
        try:
            self._data = self._data[os.write(self._stdin, self._data) :]
        except BlockingIOError:
            return
        except OSError:  # it need not read its input
            self._data = self._data[:0]
        if not self._data:
            self._close_stdin()

    def _close_stdout(self) -> None:
        if self._stdout >= 0:
            self._close_descriptor(self._stdout)
            self._stdout = -1

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._close_descriptor(self._stdin)
            self._stdin = -1


class _ThreadWatcher:
    """A thread each for the output and the end, and for input that did not fit into the pipe."""

    def __init__(self, started: Started, stdout: int, stdin: int, data: bytes, observer: ProcessObserver) -> None:
        self._started, self._observer = started, observer
        self._loop = asyncio.get_running_loop()
        self._start_thread(lambda: self._read_output(stdout))
        self._start_thread(self._wait_for_end)
        if data:
            self._start_thread(lambda: _write_all(stdin, data))

    def _start_thread(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """The reading thread closes its end when the last child has closed the other."""

    def _read_output(self, stdout: int) -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(stdout, _CHUNK_SIZE):
                self._observer.on_output(chunk)
        os.close(stdout)
        self._call_in_loop(self._observer.on_output_closed)

    def _wait_for_end(self) -> None:
        code = self._started.wait()
        self._call_in_loop(lambda: self._observer.on_exit(code))

    def _call_in_loop(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)


Watcher = _LoopWatcher | _ThreadWatcher


def _write_all(stdin: int, data: bytes) -> None:
    if sys.platform != "win32":
        os.set_blocking(stdin, True)
    with contextlib.suppress(OSError):  # it need not read its input
        while data:
            data = data[os.write(stdin, data) :]
    os.close(stdin)
