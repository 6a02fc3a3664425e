"""What a call of a command does, and lines of plain words, which need no parser of command lines.

Such a start loads no click, which takes longer than all the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import registry
from ..collector import freeze_loaded
from ..commands.context import Context, ParameterValues
from ..errors import CallsheetError, DefinitionError, UsageError
from ..language.merge import deployment_variants
from ..language.parameters import argument_name, is_required
from ..language.safety import CHANGES
from ..patterns import lazy_pattern
from .signals import release_hangup

if TYPE_CHECKING:
    from ..language.shape.commands import CompiledCommand, Param

RunCommand = Callable[[Context, "CompiledCommand", ParameterValues], Any]


class PlainLine(NamedTuple):
    """A command and the values that click would make of the line."""

    words: str
    command: CompiledCommand
    values: ParameterValues


def read_plain_line(context: Context, line: Sequence[str]) -> PlainLine | None:
    """The words of a builtin and texts for its arguments; None for any other line, which click reads.

    What sends requests loads click in any case, as httpx does.
    """
    if any(word.startswith("-") for word in line):
        return None
    commands = context.catalog.commands
    paths = (" ".join(line[:count]) for count in range(1, len(line) + 1))
    path, command = next(((path, found) for path in paths if (found := commands.find(path))), ("", None))
    texts = line[len(path.split()) :]
    if command is None or "builtin" not in command or _is_refused(context, path, texts):
        return None
    values = _plain_values(command, texts)
    return None if values is None else PlainLine(f"{context.program} {path}", command, values)


def _is_refused(context: Context, path: str, texts: Sequence[str]) -> bool:
    """Whether the command's group says what else is meant by its name and the word behind it."""
    above, _, name = path.rpartition(" ")
    group = context.catalog.groups.find(above) if texts and above else None
    return group is not None and f"{name} {texts[0]}" in group.get("instead", {})


def _plain_values(command: CompiledCommand, texts: Sequence[str]) -> ParameterValues | None:
    """None where there are more or fewer texts than arguments, or a value is not taken as it is written."""
    params = command.get("params", ())
    arguments = [param for param in params if param.get("kind") == "argument"]
    if any(_is_converted(param) for param in params) or any(param.get("multiple") for param in arguments[:-1]):
        return None
    values: ParameterValues = {
        param["name"]: param.get("default", [] if param.get("multiple") else None) for param in params
    }
    given = [*texts]
    for param in arguments[: len(given)]:
        name = param["name"]
        values[name], given = ([*given], []) if param.get("multiple") else (given[0], given[1:])
    lacks = any(is_required(param) and values[param["name"]] in (None, []) for param in params)
    return None if lacks or given else values


def _is_converted(param: Param) -> bool:
    """Whether click does more for it than hand over a text, or what it is by default."""
    is_text = param.get("type", "text") == "text" and not {"choices", "choices_of"} & param.keys()
    is_taken = param.get("kind") == "argument" or "default" in param
    is_number = param.get("type") == "integer" and param.get("kind") != "argument"
    return "positional" in param or (is_taken and not is_text and not is_number)


def call_and_remember(
    context: Context, run: RunCommand, command: CompiledCommand, values: ParameterValues, words: str
) -> Any:
    """What the command returns. What it changed is kept as the last change, which `undo` takes back."""
    try:
        return run(context, command, values)
    finally:
        if context.changed and "journal" in context.definition:
            from ..commands.journal import remember_last

            kept = context.journaling
            remember_last(context.environ, context.program, words, kept.path, can_undo=kept.can_undo)


_BYTES = lazy_pattern(r"[\udc80-\udcff]")


class Given(dict[str, Any]):
    """The values of a builtin's parameters, by the names that the engine knows them by."""

    def __missing__(self, name: str) -> Any:
        raise DefinitionError(f"this builtin needs a parameter {name!r}, which the command's definition does not have")


def run_command(context: Context, command: CompiledCommand, values: ParameterValues) -> Any:
    if context.broken is not None:
        if not command.get("safe_mode"):
            raise context.broken
        context.has_taken_over = True
    _check_output(context, command)
    freeze_loaded()
    if command.get("builtin") not in registry.SERVING:
        release_hangup()
    if "," in str(context.option("site") or ""):
        from ..commands.several_sites import run_on_each, sites_of

        if names := sites_of(context):
            run_on_each(context, command, values, names, _run_steps)
            return None
    if "builtin" in command:
        if context.may_ask():
            from ..commands.steps.asking import ask_plainly

            ask_plainly(context, command.get("params", []), values)
        return registry.resolve_entry(registry.BUILTINS[command["builtin"]])(context, Given(values))
    _run_steps(context, command, values)
    return None


def _run_steps(context: Context, command: CompiledCommand, values: ParameterValues) -> None:
    from ..commands.run_command import run_steps

    for param in command.get("params", []):
        if param.get("type") != "path":
            _check_text(
                argument_name(param) if param.get("kind") == "argument" else f"--{param['name']}", values, param
            )
    try:
        run_steps(context, command, values)
    except CallsheetError as error:
        from .suggestions import nearest_word

        error.hint = nearest_word(context, command.get("params", []), values, error) or error.hint
        raise


def _check_text(shown: str, values: dict[str, Any], param: Param) -> None:
    """Bytes that are no text would be sent as half characters, which services keep; names of files may have them."""
    given = values.get(param["name"])
    for text in given if isinstance(given, list) else [given]:
        if isinstance(text, str) and not text.startswith("@") and _BYTES.search(text):
            raise UsageError(
                f"{shown}: not valid UTF-8", hint="check the locale (LC_ALL) and the encoding of the terminal"
            )


def _check_output(context: Context, command: CompiledCommand) -> None:
    """Refuse a format, a filter or columns that cannot work, whether or not the command would come to print.

    Where the command has no view of its own, only what prints knows the columns; it too judges them before it changes
    anything.
    """
    if context.option("web"):
        _check_web(context, command)
    chosen = {name: context.option(name) for name in ("jq", "query", "columns", "template")}
    if context.output_format == "table" and not any(text is not None for text in chosen.values()):
        return
    view = context.catalog.views.get(command["view"]) if "view" in command else None
    other_views = any(here.get("view") != command.get("view") for here in deployment_variants(command).values())
    elsewhere = "columns" in command or other_views
    columns = chosen["columns"] if view is not None and not elsewhere else None
    context.output_with(view, columns, settled=command["safety"] in CHANGES)


def _check_web(context: Context, command: CompiledCommand) -> None:
    view = context.catalog.views.get(command["view"]) if "view" in command else None
    if view is None or "web" not in view or command.get("pages"):
        raise UsageError(
            "--web: the result of this command has no web address", hint=f"{context.program} open THING opens one"
        )
