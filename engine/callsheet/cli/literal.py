"""A command's values by name, for a run whose values come from elsewhere: what no parser of command lines sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..commands.context import Typed
from ..errors import UsageError, did_you_mean
from ..jsontext import dump_json
from .options import POSITIONAL, SHARED, FilePath

if TYPE_CHECKING:
    from ..language.shape.commands import Param

Parse = Callable[[list[str]], tuple[dict[str, Any], list[str], list[click.Parameter]]]


class LiteralValues:
    """`values` by the names of the definition; those named in `typed` count as a person's own words.

    With `files` they may be paths, as those that the author of a program wrote.
    """

    def __init__(self, values: Mapping[str, Any], typed: Collection[str], *, files: bool = False) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}
        self.typed = frozenset(typed)
        self._files = files

    def click_parser(self, params: Sequence[click.Parameter], defined: Sequence[Param], command: str) -> Parse:
        """Stands where click would parse a command line. `params` are those `defined`, and the program's options."""

        def parse_args(args: list[str]) -> tuple[dict[str, Any], list[str], list[click.Parameter]]:
            if args:
                raise UsageError(f"{command}: expected only the words of a command, not {args[0]!r}")
            return self.bind_values(params, {param["name"]: param for param in defined}, command), [], []

        return parse_args

    def bind_values(
        self, params: Sequence[click.Parameter], defined: Mapping[str, Param], command: str
    ) -> dict[str, Any]:
        """The values by the parser's names. Raises `UsageError` for a name that the command does not have.

        Options of the whole program choose sites and filters, and a path is a file: they must be a person's own.
        """
        takers = [param for param in params if not str(param.name).startswith(POSITIONAL)]
        takers.sort(key=lambda param: not str(param.name).startswith(SHARED))  # a command's own stand over the others
        known = {str(param.name).removeprefix(SHARED): param for param in takers}
        found: dict[str, Any] = {}
        for name, value in self.values.items():
            param = known.get(name)
            if param is None:
                raise UsageError(f"{command} has no parameter {name!r}{did_you_mean(name, known)}")
            # What is empty names no file and no site: the command then takes what a person set.
            if value != "" and name not in self.typed and self._is_a_persons(param):
                raise UsageError(
                    f"{command}: {name} cannot be set by a tool call or an event", hint="write it out whole"
                )
            found[str(param.name)] = _parameter_words(param, defined.get(name), value)
        return found

    def _is_a_persons(self, param: click.Parameter) -> bool:
        return str(param.name).startswith(SHARED) or (isinstance(param.type, FilePath) and not self._files)

    def mark_typed_values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The parsed values, with those of a person told apart."""
        return {name: _as_typed(value) if name in self.typed else value for name, value in values.items()}


def _parameter_words(param: click.Parameter, defined: Param | None, value: Any) -> Any:
    """As a parser would hand them over; a table is `NAME=VALUE` words."""
    if isinstance(param, click.Option) and param.is_flag:
        return value
    several = param.multiple or param.nargs == -1
    if isinstance(value, Mapping) and several:
        joined = defined is not None and "assign" in defined
        return [word for name, item in value.items() for word in _name_value_pairs(name, item, joined=joined)]
    if isinstance(value, list) and not several and defined is not None and defined.get("split"):
        return ",".join(_value_text(item).replace(",", "\\,") for item in value)
    if not several:
        return _value_text(value)
    return [_value_text(item) for item in (value if isinstance(value, list) else [value])]


def _name_value_pairs(name: str, value: Any, *, joined: bool) -> list[str]:
    """`NAME=VALUE`, once for each item of a list, or with all of them `joined`."""
    if value is None:
        return []
    items = [_value_text(item) for item in value] if isinstance(value, list) else [_value_text(value)]
    return [f"{name}={','.join(items)}"] if joined else [f"{name}={item}" for item in items]


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _as_typed(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_typed(item) for item in value]
    return Typed(value) if isinstance(value, str) else value
