"""`python`: call a function of a person's own module with the event."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, UsageError
from ...jsontext import parse_json
from . import HandlerContext, HandlerFailed, failure_of
from .base_handler import Base
from .command_call import prefix_of_program
from .done_within import done_within
from .functions import ProgramForFunction, awaitable_of, find, result_text
from .limits import ConcurrencyLimit
from .python_process import PythonProcesses
from .threads import ThreadPool

if TYPE_CHECKING:
    from ...language.shape.listener import CallsFunction
    from ..verify.event import Event


# Each is a process of its own with the modules of the function.
MAX_PROCESSES = 4
MAX_THREADS = 64


class Python(Base):
    """The function gets the event as a dict: id, event_type, event_time, source, body and what else was sent.

    Where the table names a program, that is its second argument.
    """

    shape = ".language.shape.listener:CallsFunction"

    def __init__(self, table: CallsFunction, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.program = self._program(table)
        self.function = find(table["call"], context.folder, 1 if self.program is None else 2)
        self.is_async = inspect.iscoroutinefunction(self.function)
        self.pool = ThreadPool(table.get("concurrency", MAX_THREADS))
        self.running: set[asyncio.Task[tuple[Any, BaseException | None]]] = set()
        self._in_time = 0
        self.processes: PythonProcesses | None = None
        if table.get("process"):
            chosen: dict[str, Any] = {name: table[name] for name in ("call", "program", "site") if name in table}
            self.processes = PythonProcesses(
                {**chosen, "folder": context.folder, "wants_result": self.wants_result}, self._environment(table)
            )
            self.concurrency_limits = self.concurrency_limits or (ConcurrencyLimit(MAX_PROCESSES),)

    def _program(self, table: CallsFunction) -> ProgramForFunction | None:
        if "program" not in table:
            if "site" in table:
                raise UsageError("handler 'python': site goes with program")
            return None
        program = ProgramForFunction(table["program"], table.get("site"), self.context.environ)
        try:
            program.check()
        except CallsheetError as error:
            raise UsageError(f"handler 'python': {error.message}", hint=error.hint, details=error.details) from None
        return program

    def _environment(self, table: CallsFunction) -> dict[str, str]:
        if "program" not in table:
            return self.environment()
        return self.environment(prefix_of_program(table["program"], self.context.environ))

    async def run(self, event: Event, job: str) -> Any:
        if self.processes is not None:
            result = await self.processes.run(event.record_text.encode(), self.timeout)
        elif self.is_async:
            record = dict(event.record)
            if self.program is None:
                result = await self._run_async(lambda: self.function(record), self.timeout)
            else:
                program = await asyncio.to_thread(self.program.get)  # opening it reads files
                result = await self._run_async(lambda: self.function(record, program), self.timeout)
        else:
            result = await self._run_plain(dict(event.record), f"{job} {event.key}")
        if self.wants_result and self.processes is None:
            result = parse_json(result_text(result))
        return self.conclude(event, result)

    @property
    def overdue(self) -> int:
        return self.pool.overdue + len(self.running) - self._in_time

    @property
    def is_stuck(self) -> bool:
        return self.overdue >= self.pool.max_running

    async def close(self) -> None:
        if self.processes is not None:
            self.processes.close()
        if self.program is not None:
            self.program.close()

    def _further_values(self) -> tuple[Any, ...]:
        return () if self.program is None else (self.program.get(),)

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
        task = asyncio.create_task(_outcome(call))
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


async def _outcome(call: Callable[[], Awaitable[Any]]) -> tuple[Any, BaseException | None]:
    """What was raised, returned: `SystemExit` and its like must not end the loop that this task runs in."""
    try:
        return await call(), None
    except BaseException as error:  # noqa: BLE001 - a person's function must not end the process that serves the next event
        return None, error
