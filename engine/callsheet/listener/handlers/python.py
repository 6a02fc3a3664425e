"""`python`: call a function of a person's own module with the event."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from . import HandlerContext, HandlerFailed, failure_of
from .base_handler import Base
from .threads import ThreadPool

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event


class Python(Base):
    """The function gets the event as a dict: id, event_type, event_time, source, body and what else was sent."""

    keys = frozenset({"call"})
    required_key = "call"

    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.function = find(table["call"], context.folder)
        self.is_async = inspect.iscoroutinefunction(self.function)
        self.pool = ThreadPool(table.get("concurrency", 64))
        self.running: set[asyncio.Task[BaseException | None]] = set()

    async def run(self, event: Event, job: str) -> None:
        del job
        record = dict(event.record)
        if self.is_async:
            await self._run_async(record)
        else:
            await self.pool.run(lambda: self.function(record), self.timeout)

    async def _run_async(self, record: dict[str, Any]) -> None:
        """In a task of its own, so that a function which ignores being cancelled is not waited for."""
        if len(self.running) >= self.pool.max_running:
            raise HandlerFailed(f"{len(self.running)} earlier runs have not ended yet")
        task = asyncio.create_task(self._call(record))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        try:
            await asyncio.wait([task], timeout=self.timeout)
        finally:
            task.cancel()
        if not task.done():
            raise HandlerFailed(f"no result after {self.timeout:g} s")
        if (error := task.result()) is not None:
            raise failure_of(error)

    async def _call(self, record: dict[str, Any]) -> BaseException | None:
        """What was raised, returned: `SystemExit` and its like must not end the loop that this task runs in."""
        try:
            await self.function(record)
        except BaseException as error:  # noqa: BLE001 - whatever a person's function raises is a failed run
            return error
        return None


def find(call: str, folder: str) -> Callable[[dict[str, Any]], Any]:
    """`module:function`, the module from PYTHONPATH or the folder of the routes. Raises `UsageError`."""
    module, _, name = call.partition(":")
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        target: Any = importlib.import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except ImportError as error:
        raise UsageError(f"handler {call!r}: {error}", hint=f"looked in PYTHONPATH and {folder or '.'}") from None
    except AttributeError:
        raise UsageError(f"handler {call!r}: module {module!r} has no {name!r}") from None
    except BaseException as error:  # noqa: BLE001 - the module is a person's, and may call sys.exit()
        raise UsageError(f"handler {call!r}: importing it failed: {failure_of(error)}") from None
    if not callable(target):
        raise UsageError(f"handler {call!r} is not a function")
    function: Callable[[dict[str, Any]], Any] = target
    return function
