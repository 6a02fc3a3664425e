"""What completes an option or argument besides the ids of a kind of definition.

Each function takes the run, the values typed so far and the beginning of the word, and gives words to choose from;
whatever is broken completes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..commands.context import Context
from ..errors import CallsheetError
from ..terminal import escape_line

if TYPE_CHECKING:
    from click import Command
    from click.shell_completion import CompletionItem


def complete(context: Context, root: Command, variable: str, instruction: str) -> int:
    """Answer the shell, which calls with `variable` set to `SHELL_source` or `SHELL_complete`; the exit code.

    The words go to the shell through a pipe, and from there to the screen and into the line that is typed.
    """
    from click.shell_completion import get_completion_class

    shell, _, wanted = instruction.partition("_")
    made = get_completion_class(shell)
    if made is None or wanted not in {"source", "complete"}:
        return 1
    asked = made(root, {"obj": context}, context.program, variable)
    if wanted == "source":
        context.streams.out.write(asked.source() + "\n")
        return 0
    items = asked.get_completions(*asked.get_completion_args())
    words = [asked.format_completion(_explained(item)) for item in items if escape_line(str(item.value)) == item.value]
    context.streams.out.write("\n".join(words) + "\n")
    return 0


def _explained(item: CompletionItem) -> CompletionItem:
    if item.help:
        item.help = escape_line(item.help)
    return item


def aliases(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from .aliases import read_aliases

    del given, incomplete
    try:
        return list(read_aliases(context.environ, context.program))
    except CallsheetError:
        return []


def sites(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ..sites.profiles.read import site_names

    del given, incomplete
    return site_names(context.catalog, context.environ)


def programs(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ..programs.installed import installed

    del given, incomplete
    return [each.program for each in installed(context.environ)]


def own_programs(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ..programs.installed import OWN, installed

    del given, incomplete
    return [each.program for each in installed(context.environ) if each.kind == OWN]


def parameters(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """`name=` for every parameter of the operation that was typed, then the values that it may have."""
    operation = context.catalog.find("operation", str(given.get("id")))
    if operation is None:
        return []
    name, equals, _ = incomplete.partition("=")
    params = operation.get("params", [])
    if not equals:
        parts = operation.get("body", {}).get("parts", {})
        return [f"{each}=" for each in [*(param["name"] for param in params), *parts]]
    for param in params:
        if param["name"] == name:
            values = param.get("enum", ["true", "false"] if param.get("type") == "boolean" else [])
            return [f"{name}={value}" for value in values]
    return []


def methods(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given
    return _ignoring_case([str(name) for (name,) in _column(context, "method")], incomplete)


def tags(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given
    return _ignoring_case([str(name) for (name,) in _column(context, "tag")], incomplete)


def kinds(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given, incomplete
    return list(context.catalog.kinds())


def ids(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """Of the kind that was typed."""
    return context.catalog.ids(str(given.get("kind")), incomplete)


def _column(context: Context, name: str) -> list[tuple[Any, ...]]:
    return context.catalog.query(f"SELECT DISTINCT {name} FROM operation ORDER BY {name}")  # noqa: S608 - a column of this module


def _ignoring_case(words: list[str], incomplete: str) -> list[str]:
    """As the person began the word, so that the shell takes it for the same one."""
    rest = [(word, word[len(incomplete) :]) for word in words if word.casefold().startswith(incomplete.casefold())]
    return [incomplete + end for _, end in rest]
