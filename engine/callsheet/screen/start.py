"""`ui`: the screen of a program."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..installation import how_to_add
from ..terminal import is_terminal

if TYPE_CHECKING:
    from ..commands.context import Context, ParameterValues


def show_screen(context: Context, values: ParameterValues) -> None:
    """Raises `UsageError` where nobody is at a terminal, or the extra is not installed."""
    words = list(values["command"] or ())
    streams = context.streams
    if not all(map(is_terminal, (streams.input, streams.out, streams.err))):
        example = " ".join([context.program, *(words or ["--help"])])
        raise UsageError("ui needs a terminal, not a pipe or a file", hint=f"`{example}` prints text")
    try:
        import textual  # noqa: F401 - whether it is there
    except ImportError:
        raise UsageError(
            "the screen needs the extra `ui`, which is not installed", hint=how_to_add(extra="ui")
        ) from None
    from .app import ProgramScreen

    context.site()  # without one there is nothing to show, and that is told in plain lines
    err, context.streams.err = streams.err, io.StringIO()  # what is said meanwhile would be drawn over the screen
    try:
        ProgramScreen(context, words, every=values["every"]).run(mouse=not values["no-mouse"])
    finally:
        said, context.streams.err = context.streams.err.getvalue(), err
        err.write(said)
