"""What click's parser takes in silence and a person would not expect, refused or understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError, closest_names
from ..language.safety import CHANGES
from ..patterns import lazy_pattern
from ..registry import UNSUGGESTED
from .options import SHARED

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPTION = lazy_pattern(r"--\w|-[a-zA-Z]")
_FLAG = lazy_pattern(r"(--[\w-]+)=(.*)", re.DOTALL)
_MOST_COMMANDS = 3  # that a hint names
_ALIKE = 0.75  # another option that is less alike does something else


class ElsewhereOption(click.NoSuchOption):
    """An option that something else has: another command, or another program. `hint` says what is meant here."""

    def __init__(self, name: str, ctx: click.Context, hint: str) -> None:
        super().__init__(name, ctx=ctx)
        self.hint = hint


def strict(parser: Any, ctx: click.Context, params: Sequence[click.Parameter]) -> Any:
    """A parser that refuses an option given twice that takes one value, and understands `--flag=false`."""
    parse: Callable[[list[str]], tuple[Any, list[str], list[click.Parameter]]] = parser.parse_args
    flags = {name for param in params if isinstance(param, click.Option) and param.is_flag for name in param.opts}

    def parse_args(args: list[str]) -> tuple[Any, list[str], list[click.Parameter]]:
        try:
            values, rest, order = parse(_plain_flags(args, flags))
        except click.NoSuchOption as error:
            if meant := _other_option(ctx, error.option_name):
                hint = f"did you mean {' or '.join(f'`{line}`' for line in meant)}?"
                raise ElsewhereOption(error.option_name, ctx, hint) from None
            if (others := _beside(ctx, args)) and not similar_option(error.option_name, ctx):
                raise ElsewhereOption(error.option_name, ctx, others) from None
            raise
        if not ctx.resilient_parsing:
            _refuse_repeated(order, args)
        return values, rest, order

    parser.parse_args = parse_args
    return parser


def _arguments(ctx: click.Context) -> list[click.Argument]:
    return [param for param in ctx.command.params if isinstance(param, click.Argument)]


def _other_option(ctx: click.Context, name: str) -> list[str]:
    """What the program says of an option that other programs have: those of the command that do the same."""
    command: Any = ctx.command
    if not hasattr(command, "context"):
        return []
    wanted = name.strip("-").casefold()
    arguments = {str(param.name): (param.metavar or str(param.name)).strip("[].") for param in _arguments(ctx)}
    if wanted in {*arguments, *map(str.casefold, arguments.values())}:
        return [" ".join([ctx.command_path, *arguments.values()])]
    taken = {each for param in command.params for each in param.opts}
    lines = command.context.definition.get("other_options", {}).get(name, ())
    return [line for line in lines if line.partition(" ")[0] in taken]


def _beside(ctx: click.Context, args: Sequence[str]) -> str:
    """Which other commands of the group take all the options that were typed; nothing where many do, or none."""
    command: Any = ctx.command
    group: Any = ctx.parent and ctx.parent.command
    if not getattr(group, "path", "") or not hasattr(command, "definition"):
        return ""
    shared = {name for param in group.params for name in param.opts}
    own = args[: args.index("--")] if "--" in args else args
    typed = [name for name in map(_option_name, own) if name and name not in shared]
    changing = command.definition["safety"] in CHANGES
    found = [name for name, options in group.options(changing=changing) if {*typed} <= options]
    same = group.context.catalog.get("program", group.context.program).get("verbs", {}).get(command.name, ())
    found = [name for name in found if name in same] or found
    if not typed or not 0 < len(found) <= _MOST_COMMANDS:
        return ""
    path = ctx.command_path.rpartition(" ")[0]
    told = " and ".join(filter(None, [", ".join(typed[:-1]), typed[-1]]))
    return f"{' or '.join(f'`{path} {name}`' for name in found)} takes {told}"


def _option_name(word: str) -> str:
    """`--name` or `-n`, without a value that stands in the same word; nothing for another word."""
    if not _OPTION.match(word):
        return ""
    return word.partition("=")[0] if word.startswith("--") else word[:2]


def _plain_flags(args: list[str], flags: set[str]) -> list[str]:
    """`--name=true` and `--name=false` as flags; false is the flag's opposite where there is one, or nothing."""
    found: list[str] = []
    for place, word in enumerate(args):
        if word == "--":
            return found + args[place:]
        match = _FLAG.fullmatch(word)
        if match is None or match[1] not in flags:
            found.append(word)
            continue
        name, value = match[1], match[2].casefold()
        if value not in ("true", "false"):
            raise UsageError(f"{name} takes true or false, not {match[2]!r}")
        opposite = f"--no-{name[2:]}"
        if value == "true":
            found.append(name)
        elif opposite in flags:
            found.append(opposite)
    return found


def _refuse_repeated(order: Iterable[click.Parameter], args: Sequence[str]) -> None:
    seen: set[click.Parameter] = set()
    for param in order:
        if not isinstance(param, click.Option) or param.is_flag or param.multiple:
            continue
        if param in seen:
            raise UsageError(f"{_as_typed(param, args)} is given twice; it takes one value")
        seen.add(param)


def _as_typed(param: click.Option, args: Sequence[str]) -> str:
    """The long name that a person used for the option last, for it may have several."""
    longest = max(param.opts, key=len)
    typed = [name for word in args if (name := word.partition("=")[0]).startswith("--") and name in param.opts]
    return typed[-1] if typed else longest


def take_shared(options: dict[str, Any], shared: dict[str, Any]) -> None:
    """Options of the whole program, which may stand at several places of a line; raises `UsageError` for two values."""
    for name, value in shared.items():
        if value is None:
            continue
        if options.get(name, value) != value:
            raise UsageError(f"--{name} is given twice: {options[name]} and {value}")
        options[name] = value


def similar_option(word: str, ctx: click.Context | None) -> str:
    """`, did you mean '--name'?` for an option of the command that is spelled almost so, or nothing.

    An option that gives consent, or shows what is secret, is never suggested.
    """
    params = ctx.command.params if ctx else []
    safe = (each for each in params if str(each.name).removeprefix(SHARED) not in UNSUGGESTED)
    names = [name for each in safe if isinstance(each, click.Option) for name in each.opts if name.startswith("--")]
    near = closest_names(word, names, cutoff=_ALIKE)
    return f", did you mean {near[0]!r}?" if near else ""
