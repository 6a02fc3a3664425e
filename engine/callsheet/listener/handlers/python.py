"""`python`: call a function of a person's own module with the event."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from . import HandlerContext, HandlerFailed
from .base_handler import Base
from .threads import Threads

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event


class Python(Base):
    """The function gets the event as a dict: id, event_type, event_time, source, body and what else was sent."""

    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.function = find(table["call"], context.folder)
        self.is_async = inspect.iscoroutinefunction(self.function)
        self.threads = Threads(table.get("concurrency", 64))

    async def run(self, event: Event, job: str) -> None:
        del job
        record = dict(event.record)
        if not self.is_async:
            await self.threads.run(lambda: self.function(record), self.timeout)
            return
        try:
            async with asyncio.timeout(self.timeout):
                await self.function(record)
        except TimeoutError:
            raise HandlerFailed(f"no result after {self.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001 - whatever a person's function raises is a failed run
            raise HandlerFailed(f"{type(error).__name__}: {error}") from None


def find(call: str, folder: str) -> Callable[[dict[str, Any]], Any]:
    """`module:function`, the module from PYTHONPATH or the folder of the routes. Raises `UsageError`."""
    module, _, name = call.partition(":")
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise UsageError(f"handler {call!r}: {error}", hint=f"looked in PYTHONPATH and {folder or '.'}") from None
    except AttributeError:
        raise UsageError(f"handler {call!r}: module {module!r} has no {name!r}") from None
    except Exception as error:  # noqa: BLE001 - the module is a person's
        raise UsageError(f"handler {call!r}: importing it failed: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise UsageError(f"handler {call!r}: is no function")
    function: Callable[[dict[str, Any]], Any] = found
    return function
