"""A function of a person's own module, by name."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from ...errors import UsageError
from ...jsontext import dump_json
from . import MAX_RESULT, HandlerFailed, failure_of

Function = Callable[[dict[str, Any]], Any]


def find(call: str, folder: str) -> Function:
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
    except BaseException as error:  # noqa: BLE001 - the module is a person's, and may call sys.exit()
        raise UsageError(f"handler {call!r}: importing it failed: {failure_of(error)}") from None
    if not callable(found):
        raise UsageError(f"handler {call!r} is not a function")
    if inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found):
        raise UsageError(f"handler {call!r} is a generator: to call it runs nothing", hint="it must not use `yield`")
    function: Function = found
    return function


def awaitable_of(result: Any) -> Awaitable[Any] | None:
    """What is still to be awaited of what a function returned, as a wrapper of an `async` one does. None: it has run.

    Raises `HandlerFailed` for a generator, of which nothing has run.
    """
    if result is None:
        return None
    if inspect.isawaitable(result):
        return result
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise HandlerFailed("it returned a generator, of which nothing has run")
    return None


def result_text(result: Any) -> str:
    """What a function gave, as one line of JSON. Raises `HandlerFailed` where it is none, or too long a one."""
    try:
        text = dump_json(result)
    except (TypeError, ValueError, RecursionError) as error:
        raise HandlerFailed(f"what it returned is not JSON: {error}") from None
    if len(text) > MAX_RESULT:
        raise HandlerFailed(f"what it returned has more than {MAX_RESULT} characters")
    return text
