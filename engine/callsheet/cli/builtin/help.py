"""`help`: the help page of a command or group."""

from __future__ import annotations

from ...commands.context import Context, ParameterValues


def show_help(context: Context, values: ParameterValues) -> None:
    """The same page as with `--help` behind the words."""
    from ..tree import root_group, run_command

    root_group(context, run_command).main(
        [*values["command"], "--help"], prog_name=context.program, standalone_mode=False, obj=context
    )
