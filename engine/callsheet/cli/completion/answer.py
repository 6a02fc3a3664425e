"""What a program answers a shell that asks for words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...commands.context import Context
from ...terminal import escape_line
from .shells import SHELLS, answer_line

if TYPE_CHECKING:
    from click import Command

REFRESH = "refresh"


def complete(context: Context, root: Command, asked: str, arguments: Sequence[str]) -> int:
    """`asked` is the shell's name, or `refresh` for the process in the background; the exit code.

    The words go to the shell through a pipe, and from there to the screen and into the line that is typed.
    """
    from click.shell_completion import ShellComplete

    if asked == REFRESH:
        from .refresh import refresh

        return refresh(context)
    if asked not in SHELLS:
        return 1
    typed = SHELLS[asked].typed(context.environ, arguments)
    last = typed.last
    option = f"{last.partition('=')[0]}=" if last.startswith("--") and "=" in last and "--" not in typed.words else ""
    finder = ShellComplete(root, {"obj": context}, context.program, "")
    for item in finder.get_completions([*typed.words], last):
        if item.type == "plain":
            item.value = option + item.value
        word = typed.quoted(item.value)
        if word is not None and escape_line(item.value) == item.value:
            item.help = escape_line(item.help or "")
            context.streams.out.write(answer_line(item, word) + "\n")
    context.streams.out.flush()
    return 0
