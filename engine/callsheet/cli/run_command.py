"""What happens when a command of the tree is called."""

from __future__ import annotations

from typing import Any

from .. import registry
from ..commands.context import Context


def run_command(context: Context, command: dict[str, Any], values: dict[str, Any]) -> None:
    if context.broken is not None:
        if not command.get("mends"):
            raise context.broken
        context.told = True
    if "builtin" in command:
        registry.resolve(registry.BUILTINS[command["builtin"]])(context, values)
        return
    from ..commands.steps.run import run_steps

    run_steps(context, command, values)
