"""A person's function in processes of their own: one that overruns its time, or dies, takes nothing else with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...jsontext import dump_json, parse_json
from . import HandlerFailed
from .orphans import orphans
from .threads import ThreadPool

# Seconds after which a process without work is ended.
IDLE_TIMEOUT = 60.0
# Places are freed as soon as a process is killed, a moment before the thread that waits for it knows.
_MANY = 4096
_PACKAGE = __name__.rpartition(".")[0]
_START = f"import sys; sys.path[:] = sys.argv[2:]; from {_PACKAGE}.python_child import main; main(sys.argv[1])"


class PythonProcesses:
    """A process serves one event at a time, and is used again. There are as many as runs at the same time."""

    def __init__(self, chosen: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        """`chosen` is what `python_child.main` takes."""
        self._command = [sys.executable, "-P", "-c", _START, dump_json(chosen), *filter(None, sys.path)]
        self._environ = environ
        self._threads = ThreadPool(_MANY)
        self._idle: list[_Child] = []
        self._closed = False

    async def run(self, event: bytes, time_limit: float) -> Any:
        """What the function gave, where that is wanted. `event` is one line.

        Raises `HandlerFailed`; the process is ended where it takes longer.
        """
        child = self._idle.pop() if self._idle else self._start()
        try:
            failure, result = await self._threads.run(partial(child.call, event), time_limit)
        except BaseException:  # it overran, it died, or nobody waits any more
            child.kill()
            raise
        self._keep(child)
        if failure is not None:
            raise HandlerFailed(failure)
        return result

    def _start(self) -> _Child:
        try:
            return _Child(self._command, self._environ)
        except OSError as error:
            raise HandlerFailed(f"cannot start a process: {error.strerror}") from None

    def _keep(self, child: _Child) -> None:
        if self._closed:
            child.end()
            return
        loop = asyncio.get_running_loop()
        child.free_since = loop.time()
        self._idle.append(child)
        loop.call_later(IDLE_TIMEOUT, self._end_idle)

    def _end_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        for child in [each for each in self._idle if each.free_since <= now - IDLE_TIMEOUT]:
            self._idle.remove(child)
            child.end()

    def close(self) -> None:
        self._closed = True
        for child in self._idle:
            child.end()
        self._idle.clear()


class _Child:
    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        self.free_since = 0.0
        running = orphans()
        self._popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
            start_new_session=sys.platform != "win32",
        )
        running.add(self._popen.pid)

    def call(self, event: bytes) -> tuple[str | None, Any]:
        """Why the function failed, or nothing, and what it gave. Called in a thread."""
        popen = self._popen
        assert popen.stdin is not None  # noqa: S101 - both were asked for
        assert popen.stdout is not None  # noqa: S101 - it was asked for
        answer = b""
        with contextlib.suppress(OSError, ValueError):  # it has died, or was killed meanwhile
            popen.stdin.write(event + b"\n")
            popen.stdin.flush()
            answer = popen.stdout.readline()
        if not answer.endswith(b"\n"):
            code = popen.wait()
            self._close()
            raise HandlerFailed(f"its process ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}")
        failure, result = parse_json(answer)
        return failure, result

    def end(self) -> None:
        """One that does nothing just now."""
        self.kill()
        self._popen.wait()
        self._close()

    def kill(self) -> None:
        """End it with all that it started. The thread that waits for its answer does the rest."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._popen.kill()
            else:
                os.killpg(self._popen.pid, signal.SIGKILL)

    def _close(self) -> None:
        """It has ended."""
        orphans().discard(self._popen.pid)
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
