"""The process that a person's function runs in: an event a line on standard input, what became of it on another pipe.

Its standard output is the listener's standard error: a function that prints must not be taken for an answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from ...errors import CallsheetError
from ...jsontext import parse_json
from . import failure_of
from .functions import Function, ProgramForFunction, awaitable_of, find, result_text

LONGEST_REASON = 2000


def main(chosen: str) -> None:
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
            further = (ProgramForFunction(table["program"], table.get("site"), os.environ).get(),)
        function, broken = find(table["call"], table["folder"], 1 + len(further)), None
    except CallsheetError as error:  # a file was changed since the listener started
        function, broken = None, error.message
    worded = result_text if table["wants_result"] else _nothing
    with asyncio.Runner() as runner:
        for line in events:
            failure, result = broken, "null"
            if function is not None:
                failure, result = _outcome(function, (parse_json(line.decode()), *further), runner, worded)
            answers.write(f"[{json.dumps(failure)}, {result}]\n".encode())
    sys.exit(0)


def _outcome(
    function: Function,
    values: tuple[Any, ...],
    runner: asyncio.Runner,
    worded: Callable[[Any], str],
) -> tuple[str | None, str]:
    """Why it failed, whatever it raised, or nothing; and what it gave, as JSON."""
    try:
        result = function(*values)
        if (rest := awaitable_of(result)) is not None:
            result = runner.run(_finish(rest))
        return None, worded(result)
    except BaseException as error:  # noqa: BLE001 - a person's function must not end the process that serves the next event
        return str(failure_of(error))[:LONGEST_REASON], "null"


def _nothing(_: Any) -> str:
    return "null"


async def _finish(rest: Awaitable[Any]) -> Any:
    return await rest
