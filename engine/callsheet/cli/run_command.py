"""What happens when a command of the tree is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import registry
from ..collector import begin
from ..commands.context import Context, ParameterValues
from ..errors import CallsheetError, DefinitionError, UsageError
from ..language.deployment import deployment_variants
from ..language.safety import CHANGES
from ..patterns import lazy_pattern
from .options import argument_name
from .signals import release_hangup

if TYPE_CHECKING:
    from ..language.shape.commands import CompiledCommand, Param


_BYTES = lazy_pattern(r"[\udc80-\udcff]")


class Given(dict[str, Any]):
    """The values of a builtin's parameters, by the names that the engine knows them by."""

    def __missing__(self, name: str) -> Any:
        raise DefinitionError(f"this builtin needs a parameter {name!r}, which the command's definition does not have")


def run_command(context: Context, command: CompiledCommand, values: ParameterValues) -> None:
    if context.broken is not None:
        if not command.get("safe_mode"):
            raise context.broken
        context.told = True
    _check_output(context, command)
    begin()
    if command.get("builtin") not in registry.SERVING:
        release_hangup()
    if "," in str(context.option("site") or ""):
        from ..commands.several_sites import run_on_each, sites_of

        if names := sites_of(context):
            run_on_each(context, command, values, names, _run_steps)
            return
    if "builtin" in command:
        if context.may_ask():
            from ..commands.steps.asking import ask_plainly

            ask_plainly(context, command.get("params", []), values)
        registry.resolve_entry(registry.BUILTINS[command["builtin"]])(context, Given(values))
        return
    _run_steps(context, command, values)


def _run_steps(context: Context, command: CompiledCommand, values: ParameterValues) -> None:
    from ..commands.steps.start import run_steps

    for param in command.get("params", []):
        if param.get("type") != "path":
            _check_text(
                argument_name(param) if param.get("kind") == "argument" else f"--{param['name']}", values, param
            )
    try:
        run_steps(context, command, values)
    except CallsheetError as error:
        from .nearest_word import nearest_word

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
    view = context.catalog.get("view", command["view"]) if "view" in command else None
    other_views = any(here.get("view") != command.get("view") for here in deployment_variants(command).values())
    elsewhere = "columns" in command or other_views
    columns = chosen["columns"] if view is not None and not elsewhere else None
    context.output_with(view, columns, settled=command["safety"] in CHANGES)


def _check_web(context: Context, command: CompiledCommand) -> None:
    view = context.catalog.get("view", command["view"]) if "view" in command else None
    if view is None or "web" not in view or command.get("pages"):
        raise UsageError("--web: the result of this command has no web address", hint="see `open --help`")
