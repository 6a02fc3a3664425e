"""`python`: call a function of a person's own module with the event, in a thread or in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, UsageError, ending_text
from ...jsontext import dump_json, parse_json
from ..asyncio_helpers import done_within
from . import HandlerContext, HandlerFailed, failure_of
from .base_handler import Base
from .command_handler import prefix_of_program
from .concurrency_limits import ConcurrencyLimit
from .process_start import orphans_of_this_process
from .python_function import ProgramForFunction, awaitable_of, find_function, result_text
from .thread_pool import ThreadPool

if TYPE_CHECKING:
    from ...language.shape.listener import CallsFunction
    from ..verify.event import Event

# A person's function in processes of their own: one that overruns its time, or dies, takes nothing else with it.

# Seconds after which a process without work is ended.
IDLE_TIMEOUT = 60.0
# Places are freed as soon as a process is killed, a moment before the thread that waits for it knows.
_MANY = 4096
_PACKAGE = __name__.rpartition(".")[0]
_START = (
    f"import sys; sys.path[:] = sys.argv[2:]; from {_PACKAGE}.python_function import serve_function;"
    " serve_function(sys.argv[1])"
)


class PythonProcesses:
    """A process serves one event at a time, and is used again. There are as many as runs at the same time."""

    def __init__(self, chosen: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        """`chosen` is what `python_function.serve_function` takes."""
        self._command = [sys.executable, "-P", "-c", _START, dump_json(chosen), *filter(None, sys.path)]
        self._environ = environ
        self._threads = ThreadPool(_MANY)
        self._idle: list[_Child] = []
        self._closed = False

    async def run(self, event: bytes, time_limit: float) -> Any:
        """What the function gave, where that is wanted. `event` is one line.

        Raises `HandlerFailed`; the process is ended where it takes longer.
        """
        child = self._idle.pop() if self._idle else self._start_child()
        try:
            failure, result = await self._threads.run(partial(child.call_function, event), time_limit)
        except BaseException:  # it overran, it died, or nobody waits any more
            child.kill_group()
            raise
        self._keep_child(child)
        if failure is not None:
            raise HandlerFailed(failure)
        return result

    def _start_child(self) -> _Child:
        try:
            return _Child(self._command, self._environ)
        except OSError as error:
            raise HandlerFailed(f"cannot start a process: {error.strerror}") from None

    def _keep_child(self, child: _Child) -> None:
        if self._closed:
            child.end_idle()
            return
        loop = asyncio.get_running_loop()
        child.free_since = loop.time()
        self._idle.append(child)
        loop.call_later(IDLE_TIMEOUT, self._end_idle)

    def _end_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        for child in [each for each in self._idle if each.free_since <= now - IDLE_TIMEOUT]:
            self._idle.remove(child)
            child.end_idle()

    def close(self) -> None:
        self._closed = True
        for child in self._idle:
            child.end_idle()
        self._idle.clear()


class _Child:
    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        self.free_since = 0.0
        running = orphans_of_this_process()
        self._popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
            start_new_session=sys.platform != "win32",
        )
        running.add_group(self._popen.pid)

    def call_function(self, event: bytes) -> tuple[str | None, Any]:
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
            self._close_pipes()
            raise HandlerFailed(f"its process ended with {ending_text(code)}")
        failure, result = parse_json(answer)
        return failure, result

    def end_idle(self) -> None:
        """One that does nothing just now."""
        self.kill_group()
        self._popen.wait()
        self._close_pipes()

    def kill_group(self) -> None:
        """End it with all that it started. The thread that waits for its answer does the rest."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._popen.kill()
            else:
                os.killpg(self._popen.pid, signal.SIGKILL)

    def _close_pipes(self) -> None:
        """It has ended."""
        orphans_of_this_process().discard_group(self._popen.pid)
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


# `python`: call a function of a person's own module with the event.

# Each is a process of its own with the modules of the function.
MAX_PROCESSES = 4
MAX_THREADS = 64


class Python(Base):
    """The function gets the event as a dict: id, event_type, event_time, source, body and what else was sent.

    Where the table names a program, that is its second argument.
    """

    result_members = None
    imports_code = True
    shape = ".language.shape.listener:CallsFunction"

    def __init__(self, table: CallsFunction, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.program = self._program_of_table(table)
        self.function = find_function(table["call"], context.folder, 1 if self.program is None else 2)
        self.is_async = inspect.iscoroutinefunction(self.function)
        self.pool = ThreadPool(table.get("concurrency", MAX_THREADS))
        self.running: set[asyncio.Task[tuple[Any, BaseException | None]]] = set()
        self._in_time = 0
        self.processes: PythonProcesses | None = None
        if table.get("process"):
            chosen: dict[str, Any] = {name: table[name] for name in ("call", "program", "site") if name in table}
            self.processes = PythonProcesses(
                {**chosen, "folder": context.folder, "wants_result": self.wants_result},
                self._environment_of_table(table),
            )
            self.concurrency_limits = self.concurrency_limits or (ConcurrencyLimit(MAX_PROCESSES),)

    def _program_of_table(self, table: CallsFunction) -> ProgramForFunction | None:
        if "program" not in table:
            return None
        program = ProgramForFunction(table["program"], table.get("site"), self.context.environ)
        try:
            program.check_opens()
        except CallsheetError as error:
            raise UsageError(f"handler 'python': {error.message}", hint=error.hint, details=error.details) from None
        return program

    def _environment_of_table(self, table: CallsFunction) -> dict[str, str]:
        if "program" not in table:
            return self.variables_for_handler()
        return self.variables_for_handler(prefix_of_program(table["program"], self.context.environ))

    async def run(self, event: Event, job: str) -> Any:
        if self.processes is not None:
            result = await self.processes.run(event.record_text.encode(), self.timeout)
        elif self.is_async:
            record = dict(event.record)
            if self.program is None:
                result = await self._run_async(lambda: self.function(record), self.timeout)
            else:
                program = await asyncio.to_thread(self.program.opened_program)  # opening it reads files
                result = await self._run_async(lambda: self.function(record, program), self.timeout)
        else:
            result = await self._run_plain(dict(event.record), f"{job} {event.key}")
        if self.wants_result and self.processes is None:
            result = parse_json(result_text(result))
        return self.check_result(event, result)

    @property
    def overdue_runs(self) -> int:
        return self.pool.overdue_runs + len(self.running) - self._in_time

    @property
    def is_stuck(self) -> bool:
        return self.overdue_runs >= self.pool.max_running

    async def close(self) -> None:
        if self.processes is not None:
            self.processes.close()
        if self.program is not None:
            self.program.close()

    def _further_values(self) -> tuple[Any, ...]:
        return () if self.program is None else (self.program.opened_program(),)

    async def _run_plain(self, record: dict[str, Any], name: str) -> Any:
        """It may turn out to be an `async` function in a wrapper: then the loop runs it in the time that is left."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.timeout
        result = await self.pool.run(lambda: self.function(record, *self._further_values()), self.timeout, name)
        rest = awaitable_of(result)
        return result if rest is None else await self._run_async(lambda: rest, max(0.0, end - loop.time()))

    async def _run_async(self, call: Callable[[], Awaitable[Any]], time_limit: float) -> Any:
        """In a task of its own, so that a function which ignores being cancelled is not waited for."""
        if len(self.running) >= self.pool.max_running:
            raise HandlerFailed(f"no free place: earlier runs have not ended ({len(self.running)})")
        task = asyncio.create_task(_outcome_of_call(call))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        self._in_time += 1
        try:
            in_time = await done_within(task, time_limit)
        finally:
            self._in_time -= 1
            task.cancel()
        if not in_time:
            raise HandlerFailed(f"no result after {self.timeout:g} s")
        result, error = task.result()
        if error is not None:
            raise failure_of(error)
        return result


async def _outcome_of_call(call: Callable[[], Awaitable[Any]]) -> tuple[Any, BaseException | None]:
    """What was raised, returned: `SystemExit` and its like must not end the loop that this task runs in."""
    try:
        return await call(), None
    except BaseException as error:  # noqa: BLE001 - a person's function must not end the process that serves the next event
        return None, error
