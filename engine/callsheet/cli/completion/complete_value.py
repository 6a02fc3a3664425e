"""What completes the value of one argument or option, from this machine or from the site."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, ShellComplete

from ...commands.context import Context
from ...errors import CallsheetError
from ...language.parameters import TAKEN_AWAY
from ...language.query_text import EXCEPT
from ...registry import COMPLETERS, REGISTRIES, resolve_entry
from ...sites.profiles import SETTINGS
from ...terminal import escape_line
from .shells import SHELLS, answer_line
from .site_words import site_words

if TYPE_CHECKING:
    from click import Command

    from ...language.shape.commands import Param
    from .site_words import Words


# What completes an option or argument from this machine, besides the ids of a kind of definition.
#
# Each function takes the run, the values typed so far and the beginning of the word, and gives words to choose from;
# whatever is broken completes nothing.


_MOST_FILES = 1000


def complete_aliases(context: Context, _given: Mapping[str, Any], _incomplete: str) -> list[str]:
    from ..aliases import read_aliases

    try:
        return list(read_aliases(context.environ, context.program))
    except CallsheetError:
        return []


def complete_sites(context: Context, _given: Mapping[str, Any], _incomplete: str) -> list[str]:
    from ...sites.profiles.choose import site_names

    return site_names(context.catalog, context.environ)


def complete_journals(context: Context, _given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ...commands.journal import kept_journals

    paths = [path.removeprefix("@") for path in complete_files(incomplete)]
    return ["last", *map(os.path.basename, kept_journals(context.environ, context.program)), *paths]


def complete_programs(context: Context, _given: Mapping[str, Any], _incomplete: str) -> list[str]:
    from ...programs.installed import installed_programs

    return [each.program for each in installed_programs(context.environ)]


def complete_own_programs(context: Context, _given: Mapping[str, Any], _incomplete: str) -> list[str]:
    from ...programs.installed import OWN, installed_programs

    return [each.program for each in installed_programs(context.environ) if each.kind == OWN]


def complete_parameters(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """`name=` for every parameter of the operation that was typed, then the values that it may have."""
    operation = context.catalog.operations.find(str(given.get("id")))
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


def complete_methods(context: Context, _given: Mapping[str, Any], incomplete: str) -> list[str]:
    return _values_of_column(context, "method", incomplete)


def complete_tags(context: Context, _given: Mapping[str, Any], incomplete: str) -> list[str]:
    return _values_of_column(context, "tag", incomplete)


def complete_kinds(context: Context, _given: Mapping[str, Any], _incomplete: str) -> list[str]:
    return list(context.catalog.count_by_kind())


def complete_ids(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """Of the kind that was typed."""
    return context.catalog.ids(str(given.get("kind")), incomplete)


def complete_settings(context: Context, _given: Mapping[str, Any], incomplete: str) -> list[str]:
    """The keys of the settings file: those of the active site, and of every site by its name."""
    if not incomplete.startswith("sites."):
        return ["site", *SETTINGS]
    names = [f"sites.{name}." for name in complete_sites(context, {}, incomplete)]
    return [f"{name}{key}" for name in names for key in SETTINGS]


def complete_setting_values(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """What the setting that was typed may be."""
    key = str(given.get("key"))
    if key == "site":
        return complete_sites(context, {}, incomplete)
    kind = SETTINGS.get(key.rpartition(".")[2], "")
    if kind == "boolean":
        return ["true", "false"]
    if kind in REGISTRIES:
        return list(REGISTRIES[kind])
    return context.catalog.ids(kind) if kind else []


def complete_files(incomplete: str) -> list[str]:
    """`@PATH` for a word that begins so; directories end with a slash."""
    folder, _, begun = incomplete.removeprefix("@").rpartition("/")
    slash = "/" if "/" in incomplete else ""
    try:
        with os.scandir(folder or slash or ".") as found:
            entries = list(islice(found, _MOST_FILES))
            shown = [each for each in entries if each.name.startswith(".") <= begun.startswith(".")]
            return sorted(f"@{folder}{slash}{each.name}{'/' if each.is_dir() else ''}" for each in shown)
    except (OSError, ValueError):
        return []


def _values_of_column(context: Context, name: str, incomplete: str) -> list[str]:
    """In the letters in which the person began the word, so that the shell takes it for the same one."""
    rows = context.catalog.query_rows(f"SELECT DISTINCT {name} FROM operation ORDER BY {name}")  # noqa: S608 - a column of this module
    words = [str(word) for (word,) in rows]
    return [incomplete + word[len(incomplete) :] for word in words if word.casefold().startswith(incomplete.casefold())]


# What completes the value of one argument or option, wherever the words come from.


_SHARED = "global_"
_POSITIONAL = "positional_"


def values_for(context: Context, param: Param, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    if "complete" in param:
        return _completion_items(_local_words(context, param["complete"], ctx, incomplete))
    if incomplete.startswith("@") and ("convert" in param or "assign" in param):
        return _completion_items((name, "") for name in complete_files(incomplete) if name.startswith(incomplete))
    typed = _typed_values(ctx)
    params: Sequence[Param] = getattr(ctx.command, "definition", {}).get("params", [])
    _take_options(context, ctx)
    found = [*_of_site(context, param, params, typed, incomplete)]
    if param.get("kind") == "argument" and param.get("multiple") and typed.get(param["name"]):
        last = [each for each in params if each.get("positional")]  # which may stand behind the list
        found = [words for each in last for words in _of_site(context, each, params, typed, incomplete)] + found
    return _completion_items(found)


def _completion_items(words: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    return [CompletionItem(word, help=help or None) for word, help in words]


def _local_words(context: Context, kind: str, ctx: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    if kind == "column":
        return [(words, "") for words in _complete_columns(ctx, context, incomplete)]
    if kind in COMPLETERS:
        found = resolve_entry(COMPLETERS[kind])(context, _typed_values(ctx), incomplete)
    else:
        found = context.catalog.ids(kind)
    return [(word, "") for word in found if word.startswith(incomplete)]


def _of_site(
    context: Context, param: Param, params: Sequence[Param], typed: Mapping[str, Any], incomplete: str
) -> Iterator[tuple[str, str]]:
    lookup, ending = param.get("suggest", param.get("lookup")), ""
    if "assign" in param:
        lookup, ending = context.catalog.assignments.get(param["assign"])["lookup"], "="
    if lookup is None:
        return
    before, begun = _split_begun(param, incomplete)
    given = typed.get(param["name"]) if param.get("multiple") else None
    for word, help in _fitting_words(site_words(context, lookup, params, typed), begun):
        if word not in (given or ()) and not (param.get("split") and "," in word):
            yield f"{before}{word}{ending}", help


def _take_options(context: Context, ctx: click.Context | None) -> None:
    """Those of the whole program, which may stand at any group of the line: they choose the site."""
    while ctx is not None:
        for name, value in ctx.params.items():
            if name.startswith(_SHARED) and value is not None:
                context.options.setdefault(name.removeprefix(_SHARED), value)
        ctx = ctx.parent


def _split_begun(param: Param, incomplete: str) -> tuple[str, str]:
    """What stands before the word in a list, or says that it is left out; and the beginning of the word."""
    before, comma, last = incomplete.rpartition(",") if param.get("split") else ("", "", incomplete)
    sign = EXCEPT if param.get("excludes") else TAKEN_AWAY if param.get("removes") else ""
    leaves_out = sign if last.startswith(sign) else ""
    return f"{before}{comma}{leaves_out}", last.removeprefix(leaves_out)


def _fitting_words(words: Words, begun: str) -> Words:
    """Those that begin so, else those that do in other letters, begun as the person did: shells compare them."""
    exact = [(word, help) for word, help in words if word.startswith(begun)]
    rest = [(word, help) for word, help in words if word.casefold().startswith(begun.casefold())]
    return exact or [(begun + word[len(begun) :], help) for word, help in rest]


def _typed_values(ctx: click.Context) -> dict[str, Any]:
    """The values typed so far; behind an option that still waits click leaves arguments where they are."""
    values, rest = dict(ctx.params), list(ctx.args)
    for param in ctx.command.params:
        if isinstance(param, click.Argument) and param.name and not values.get(param.name) and rest:
            values[param.name] = rest.pop(0)
    for name in [name for name in values if name.startswith(_POSITIONAL)]:
        values.setdefault(name.removeprefix(_POSITIONAL), values[name])
    return values


def _complete_columns(ctx: click.Context, context: Context, incomplete: str) -> list[str]:
    """The columns of the command's view, after those that stand there already."""
    before, comma, last = incomplete.rpartition(",")
    view = getattr(ctx.command, "definition", {}).get("view")
    names = [column["name"] for column in context.catalog.views.get(view)["columns"]] if view else []
    return [f"{before}{comma}{name}" for name in names if name.casefold().startswith(last.casefold())]


# What a program answers a shell that asks for words.


REFRESH = "refresh"


def answer_shell(context: Context, root: Command, asked: str, arguments: Sequence[str]) -> int:
    """`asked` is the shell's name, or `refresh` for the process in the background; the exit code.

    The words go to the shell through a pipe, and from there to the screen and into the line that is typed.
    """
    if asked == REFRESH:
        from .refresh import refresh_words

        return refresh_words(context)
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
