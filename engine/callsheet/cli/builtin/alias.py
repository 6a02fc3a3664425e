"""`alias list|set|remove`: words of one's own for whole command lines."""

from __future__ import annotations

from ...commands.context import Context, ParameterValues
from ...errors import UsageError, did_you_mean
from ..aliases import check_alias, read_aliases, write_aliases


def list_aliases(context: Context, values: ParameterValues) -> None:
    del values
    rows = [
        {"name": name, "expansion": line}
        for name, line in sorted(read_aliases(context.environ, context.program).items())
    ]
    context.output(context.catalog.get("view", "alias")).items(rows)
    if not rows:
        context.note(f"no aliases; {context.program} alias set NAME 'COMMAND ...' makes one")


def set_alias(context: Context, values: ParameterValues) -> None:
    name, line = values["name"], " ".join(values["expansion"])
    taken = [word for child in context.catalog.children("") for word in (child.name, *child.aliases)]
    check_alias(name, line, taken)
    if context.only_tries(f"{name} would stand for {line}"):
        return
    write_aliases(context.environ, context.program, {**read_aliases(context.environ, context.program), name: line})


def remove_alias(context: Context, values: ParameterValues) -> None:
    aliases = read_aliases(context.environ, context.program)
    if aliases.pop(values["name"], None) is None:
        raise UsageError(f"no alias {values['name']!r}{did_you_mean(values['name'], aliases)}")
    if not context.only_tries(f"{values['name']} would be forgotten"):
        write_aliases(context.environ, context.program, aliases)
