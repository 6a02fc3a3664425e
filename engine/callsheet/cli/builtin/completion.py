"""`completion`: the script that makes a shell ask the program for words."""

from __future__ import annotations

from typing import Any

from click import Command
from click.shell_completion import get_completion_class

from ...commands.context import Context
from ...errors import CallsheetError

# After `name=` the value follows without a space.
GO_ON = "[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null"
USE = {
    "bash": 'put  eval "$({program} completion bash)"  into ~/.bashrc',
    "zsh": 'put  eval "$({program} completion zsh)"  into ~/.zshrc',
    "fish": "{program} completion fish > ~/.config/fish/completions/{program}.fish",
}


def completion(context: Context, values: dict[str, Any]) -> None:
    shell: str = values["shell"]
    made = get_completion_class(shell)
    if made is None:
        raise CallsheetError(f"no completion for {shell}")
    variable = f"_{context.program.replace('-', '_').upper()}_COMPLETE"
    script = made(Command(context.program), {}, context.program, variable)
    # The bash template's own check runs the bash of the PATH; the script says what it needs by itself.
    text = script.source_template % script.source_vars()
    if shell == "bash":
        text = text.replace("return 0", f"{GO_ON}\n    return 0", 1)
    context.streams.out.write(f"{text}\n")
    if context.streams.out.isatty():
        context.note(USE[shell].format(program=context.program))
