"""A function of a person's own module, by name, and the process that runs it for the listener.

The process reads an event a line on standard input, and writes what became of it on another pipe.
Its standard output is the listener's standard error: a function that prints must not be taken for an answer.

"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ... import registry
from ...errors import CallsheetError, UsageError
from ...jsontext import dump_json, parse_json
from . import MAX_RESULT, HandlerFailed, failure_of

# A function of a person's own module, by name.

Function = Callable[..., Any]  # of the event, and of a program where the table names one


class ProgramForFunction:
    """The program that a function gets beside each event, as a script has it: opened for the first of them."""

    def __init__(self, name: str, site: str | None, environ: Mapping[str, str]) -> None:
        self._chosen = (environ, name, site)
        self._opened: Any = None
        self._lock = threading.Lock()

    def check_opens(self) -> None:
        """Raises `UsageError` or another `CallsheetError` where it cannot be opened."""
        self.opened_program()
        self.close()

    def opened_program(self) -> Any:
        """It is safe with several threads, and so is this."""
        with self._lock:
            if self._opened is None:
                self._opened = registry.resolve_entry(registry.LIBRARY)(*self._chosen)
            return self._opened

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None


def find_function(call: str, folder: str, parameters: int = 1) -> Function:
    """`module:function`, the module from PYTHONPATH or the folder of the routes. Raises `UsageError`.

    It has to take so many values.
    """
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
    except BaseException as error:  # noqa: BLE001 - a person's function must not end the process that serves the next event
        raise UsageError(f"handler {call!r}: importing it failed: {failure_of(error)}") from None
    if not callable(found):
        raise UsageError(f"handler {call!r} is not a function")
    if inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found):
        raise UsageError(f"handler {call!r} is a generator: to call it runs nothing", hint="it must not use `yield`")
    _check_parameters(call, found, parameters)
    function: Function = found
    return function


def _check_parameters(call: str, function: Function, parameters: int) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # one written in C may tell nothing of them
        return
    try:
        signature.bind(*[None] * parameters)
    except TypeError as error:
        given = "the event alone" if parameters == 1 else "the event and the program"
        hint = "`program` in the route gives it a program too" if parameters == 1 else "def handle(event, program): ..."
        raise UsageError(f"handler {call!r} gets {given}: {error}", hint=hint) from None


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


# The process that a person's function runs in: an event a line on standard input, what became of it on another pipe.
#
# Its standard output is the listener's standard error: a function that prints must not be taken for an answer.

LONGEST_REASON = 2000


def serve_function(chosen: str) -> None:
    """Serve until standard input ends, which it does with the listener. An answer: why it failed, and what it gave.

    `chosen` is JSON: `call`, `folder`, `wants_result`, and where the function gets a program, `program` and `site`.
    """
    table = parse_json(chosen)
    events = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    further: tuple[Any, ...] = ()
    try:
        if "program" in table:
            further = (ProgramForFunction(table["program"], table.get("site"), os.environ).opened_program(),)
        function, broken = find_function(table["call"], table["folder"], 1 + len(further)), None
    except CallsheetError as error:  # a file was changed since the listener started
        function, broken = None, error.message
    worded = result_text if table["wants_result"] else _null_result
    with asyncio.Runner() as runner:
        for line in events:
            failure, result = broken, "null"
            if function is not None:
                failure, result = _outcome_of_call(function, (parse_json(line.decode()), *further), runner, worded)
            answers.write(f"[{json.dumps(failure)}, {result}]\n".encode())
    sys.exit(0)


def _outcome_of_call(
    function: Function,
    values: tuple[Any, ...],
    runner: asyncio.Runner,
    worded: Callable[[Any], str],
) -> tuple[str | None, str]:
    """Why it failed, whatever it raised, or nothing; and what it gave, as JSON."""
    try:
        result = function(*values)
        if (rest := awaitable_of(result)) is not None:
            result = runner.run(_finish_awaitable(rest))
        return None, worded(result)
    except BaseException as error:  # noqa: BLE001 - a person's function must not end the process that serves the next event
        return str(failure_of(error))[:LONGEST_REASON], "null"


def _null_result(_: Any) -> str:
    return "null"


async def _finish_awaitable(rest: Awaitable[Any]) -> Any:
    return await rest
