"""Where programs start. Imports next to nothing, so that Ctrl-C while the rest is loaded ends quietly too.

`entry:NAME` starts the program of that name, whatever the file is called that does so. `entry:main` starts the one
that the file is named after.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from os import environ


def main() -> None:
    start(None)


def start(program: str | None) -> None:
    """Run a program with the arguments of this process, and end the process with its exit code."""
    try:
        if (
            program
            and sys.argv[-1] in ("--help", "-h")
            and f"_{program.replace('-', '_').upper()}_COMPLETE" not in environ
        ):
            from .kept_help import show_kept_help

            if show_kept_help(program, sys.argv[1:-1]):
                return
        from ..collector import rest_while_starting
        from .signals import hold_hangup

        rest_while_starting()
        hold_hangup()
        from .main import main as run_and_exit

        run_and_exit(program)
    except KeyboardInterrupt:
        sys.exit(130)


def __getattr__(name: str) -> Callable[[], None]:
    """The start of any program. What is looked up here by others begins with an underscore."""
    if name.startswith("_"):
        raise AttributeError(name)
    return partial(start, name.replace("_", "-"))
