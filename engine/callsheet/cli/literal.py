"""A command's values by name, for a run whose values come from elsewhere: what no parser of command lines sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import click

from ..commands.context import Typed
from ..errors import UsageError, did_you_mean
from ..jsontext import dump
from .options import POSITIONAL, SHARED, FilePath

Parse = Callable[[list[str]], tuple[dict[str, Any], list[str], list[click.Parameter]]]


class LiteralValues:
    """`values` by the names of the definition; those named in `typed` count as a person's own words."""

    def __init__(self, values: Mapping[str, Any], typed: Collection[str]) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}
        self.typed = frozenset(typed)

    def parsing(self, params: Sequence[click.Parameter], command: str) -> Parse:
        """Stands where click would parse a command line."""

        def parse_args(args: list[str]) -> tuple[dict[str, Any], list[str], list[click.Parameter]]:
            if args:
                raise UsageError(f"{command}: expected only the words of a command, not {args[0]!r}")
            return self.bound(params, command), [], []

        return parse_args

    def bound(self, params: Sequence[click.Parameter], command: str) -> dict[str, Any]:
        """The values by the parser's names. Raises `UsageError` for a name that the command does not have.

        Options of the whole program choose sites and filters, and a path is a file: they must be a person's own.
        """
        known = {
            str(param.name).removeprefix(SHARED): param
            for param in params
            if not str(param.name).startswith(POSITIONAL)
        }
        found: dict[str, Any] = {}
        for name, value in self.values.items():
            param = known.get(name)
            if param is None:
                raise UsageError(f"{command} has no parameter {name!r}{did_you_mean(name, known)}")
            if name not in self.typed and (str(param.name).startswith(SHARED) or isinstance(param.type, FilePath)):
                raise UsageError(
                    f"{command}: {name} cannot be set by a tool call or an event", hint="write it out whole"
                )
            found[str(param.name)] = _words(param, value)
        return found

    def marked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The parsed values, with those of a person told apart."""
        return {name: _typed(value) if name in self.typed else value for name, value in values.items()}


def _words(param: click.Parameter, value: Any) -> Any:
    """As a parser would hand them over; a table is `NAME=VALUE` words."""
    if isinstance(param, click.Option) and param.is_flag:
        return value
    if not param.multiple and param.nargs != -1:
        return _text(value)
    if isinstance(value, Mapping):
        return [f"{name}={_text(item)}" for name, item in value.items() if item is not None]
    return [_text(item) for item in (value if isinstance(value, list) else [value])]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dump(value)


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return Typed(value) if isinstance(value, str) else value
