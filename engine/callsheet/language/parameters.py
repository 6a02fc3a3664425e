"""What the definition of a parameter says about its use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .shape.commands import CommandDefinition, Param

TAKEN_AWAY = "-"  # before a word of a parameter that `removes`


def first_argument(command: CommandDefinition) -> Param | None:
    """What the first word behind the command's name is."""
    return next((param for param in command.get("params", ()) if param.get("kind") == "argument"), None)


def is_required(param: Param) -> bool:
    """Whether a command cannot run without it: an argument unless it says otherwise, an option only if it does."""
    return bool(param.get("required", param.get("kind") == "argument" and "default" not in param))
