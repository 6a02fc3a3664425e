"""`completion`: the script that makes a shell ask the program for words."""

from __future__ import annotations

from ...commands.context import Context, ParameterValues
from ..completion.shells import SHELLS, script


def completion(context: Context, values: ParameterValues) -> None:
    shell: str = values["shell"]
    context.streams.out.write(script(shell, context.program))
    if context.streams.out.isatty():
        context.note(SHELLS[shell].use.format(program=context.program))
