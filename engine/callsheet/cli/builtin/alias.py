"""`alias list|set|remove`: words of one's own for whole command lines."""

from __future__ import annotations

import shlex

from ...commands.context import Context, ParameterValues
from ...errors import UsageError, did_you_mean
from ..aliases import check_alias, read_aliases, write_aliases
from ..suggestions import command_for_bare_word, suggest_commands


def list_aliases(context: Context, _values: ParameterValues) -> None:
    rows = [
        {"name": name, "expansion": line}
        for name, line in sorted(read_aliases(context.environ, context.program).items())
    ]
    context.output(context.catalog.views.get("alias")).print_items(rows)
    if not rows:
        context.note(f"no aliases; {context.program} alias set NAME 'COMMAND ...' makes one")


def set_alias(context: Context, values: ParameterValues) -> None:
    name, line = values["name"], " ".join(values["expansion"])
    taken = [word for child in context.catalog.children_of("") for word in (child.name, *child.aliases)]
    check_alias(name, line, taken)
    _check_first_word(context, line, [*taken, *read_aliases(context.environ, context.program)])
    if context.only_tries(f"{name} would stand for {line}"):
        return
    write_aliases(context.environ, context.program, {**read_aliases(context.environ, context.program), name: line})


def _check_first_word(context: Context, line: str, commands: list[str]) -> None:
    """An alias stands for a line of this program; it starts no other one. Raises `UsageError`."""
    word = shlex.split(line)[0]
    if word in commands or word.startswith(("-", "$")) or command_for_bare_word(context.catalog, "", word):
        return
    meant = [f"{context.program} {each}" for each in suggest_commands(context.catalog, "", shlex.split(line))]
    hint = f"did you mean {' or '.join(f'`{each}`' for each in meant)}?" if meant else None
    raise UsageError(
        f"an alias stands for a command of {context.program}, and {word!r} is none",
        hint=hint or "for a line of the shell, make an alias of the shell",
    )


def remove_alias(context: Context, values: ParameterValues) -> None:
    aliases = read_aliases(context.environ, context.program)
    if aliases.pop(values["name"], None) is None:
        raise UsageError(f"no alias {values['name']!r}{did_you_mean(values['name'], aliases)}")
    if not context.only_tries(f"alias {values['name']} would be removed"):
        write_aliases(context.environ, context.program, aliases)
