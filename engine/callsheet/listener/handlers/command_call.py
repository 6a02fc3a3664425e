"""What a `command` handler calls: which words choose the command, and which value each of its parameters gets.

Values are bound to parameters when the routes are read. So nothing that an event brings is ever looked at as a command
line: a value cannot become an option, a file, or another command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ...catalog.catalog import open_catalog
from ...errors import DefinitionError, did_you_mean
from ...language.command_line import bind_words, command_words, missing_parameters
from ...language.template import compile_template, fill_template

if TYPE_CHECKING:
    from ...language.shape.commands import Param


class CommandCall(NamedTuple):
    """`values` are templates by parameter; `typed` names those that hold nothing out of an event."""

    program: str
    prefix: str
    words: list[str]
    values: dict[str, Any]
    typed: frozenset[str]

    def fill(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        return fill_template(self.values, scope) or {}


def prefix_of_program(program: str, environ: Any) -> str:
    """That of its variables."""
    with closing(open_catalog(program, environ)) as catalog:
        prefix: str = catalog.get("program", program)["prefix"]
    return prefix


def command_call(program: str, run: str | Sequence[str], values: Mapping[str, Any], environ: Any) -> CommandCall:
    """Raises `UsageError` or `DefinitionError`, with the closest match, for what the program does not have."""
    try:
        return _bound(program, run, values, environ)
    except DefinitionError as error:
        raise DefinitionError(f"handler 'command': {error.message}", details=error.details) from None


def _bound(program: str, run: str | Sequence[str], values: Mapping[str, Any], environ: Any) -> CommandCall:
    words_given = run.split() if isinstance(run, str) else [*run]
    catalog = open_catalog(program, environ)
    try:
        definition = catalog.get("program", program)
        shared: list[Param] = definition.get("options", [])
        words, rest = command_words(words_given, set(catalog.ids("command")), shared)
        command = catalog.get("command", " ".join(words))
    finally:
        catalog.close()
    own: list[Param] = command.get("params", [])
    params = {str(param["name"]): param for param in [*shared, *own]}
    templates = {**bind_words(rest, own, shared), **values}
    for name in templates:
        if name not in params:
            raise DefinitionError(f"{' '.join(words)} has no parameter {name!r}{did_you_mean(name, params)}")
    if lacking := missing_parameters(templates, own):
        raise DefinitionError(f"{' '.join(words)} needs {', '.join(lacking)}, which this does not give")
    for name, value in templates.items():
        if (fault := _misfit(params[name], value)) and not is_template(value):
            raise DefinitionError(f"{name}: {fault}")
    typed = frozenset(name for name, value in templates.items() if not is_template(value))
    return CommandCall(program, definition["prefix"], words, templates, typed)


def is_template(value: Any) -> bool:
    """Whether anything in a template comes from an event."""
    if isinstance(value, str):
        return any(not isinstance(part, str) for part in compile_template(value))
    if isinstance(value, Mapping):
        return any(is_template(item) for item in value.values())
    return isinstance(value, list) and any(is_template(item) for item in value)


def _misfit(param: Param, value: Any) -> str | None:
    """Why a constant cannot be a parameter's value, or None."""
    words = param.get("choices")
    for each in value if isinstance(value, list) else [value]:
        if words is not None and str(each).casefold() not in {word.casefold() for word in words}:
            return f"{each!r} is not one of the choices{did_you_mean(str(each), words)}"
    return None
