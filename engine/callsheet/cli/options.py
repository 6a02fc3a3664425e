"""Parameters of definitions as click's arguments and options, and what click's parser leaves to be desired."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ..commands.context import Context, ParameterValues
from ..durations import parse_typed_duration
from ..errors import UsageError, closest_names, did_you_mean
from ..language.parameters import argument_name, is_required, to_identifier
from ..language.safety import CHANGES
from ..patterns import lazy_pattern
from ..registry import REGISTRIES, UNSUGGESTED
from .aliases import AliasWord

# Parameters of definitions as click's arguments and options, and their values back by the definitions' names.


if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..language.shape.commands import CompiledCommand, Param

    WordType = click.ParamType[str]
    NumberType = click.ParamType[float]
else:
    WordType = NumberType = click.ParamType

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

_PLAIN = lazy_pattern(r"[\w .,=:/-]+\Z")  # what no filter of a list is made of
SHARED = "global_"
POSITIONAL = "positional_"  # the value of an option that may stand without its name


class Choice(WordType):
    """One of some words, ignoring case, or with `split` several with commas between; the error names the closest."""

    name = "choice"

    def __init__(self, words: list[str], *, split: bool = False) -> None:
        self.words = words
        self.split = split

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return "|".join(self.words) if len(self.words) <= 6 else None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.split:
            return ",".join(
                self._chosen_value(piece.strip(), param) for piece in str(value).split(",") if piece.strip()
            )
        return self._chosen_value(value, param)

    def _chosen_value(self, value: Any, param: click.Parameter | None) -> str:
        for word in self.words:
            if word.casefold() == str(value).casefold():
                return word
        name = max(param.opts, key=len) if param and param.opts else "value"
        wanted = ", ".join(self.words)
        raise UsageError(f"{name}: unknown value {value!r}{did_you_mean(str(value), self.words)} (one of: {wanted})")

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if self.split else ("", "", incomplete)
        return [CompletionItem(before + comma + word) for word in self.words if word.startswith(last)]


class Duration(NumberType):
    """Seconds as a number, or with a unit: `250ms`, `90s`, `15m`, `1h`, `2d`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int | float):
            return float(value)
        seconds = parse_typed_duration(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a duration (examples: 30, 90s, 15m, 1h)", param, ctx)
        return seconds


class FilePath(WordType):
    """The path of a file, which is looked at by what uses it.

    Not a `click.Path`: each of those asks for the translation of its name, and that loads `locale`.
    """

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return click.Path().convert(value, param, ctx)
        except ValueError:
            raise UsageError(f"{value!r} cannot be the name of a file") from None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return click.Path().shell_complete(ctx, param, incomplete)


TYPES: dict[str, Callable[[], Any]] = {
    "text": lambda: click.STRING,
    "integer": lambda: click.INT,
    "number": lambda: click.FLOAT,
    "path": FilePath,
    "duration": Duration,
}


def click_params(params: Iterable[Param], context: Context) -> list[click.Parameter]:
    listed = list(params)
    made = [_click_parameter(param, context, "") for param in listed]
    return made + [_positional_parameter(param, context) for param in listed if param.get("positional")]


def global_params(params: Iterable[Param], context: Context, *, hidden: bool) -> list[click.Parameter]:
    """The options every command takes."""
    return [
        _click_parameter({**param, "hidden": hidden or param.get("hidden", False)}, context, SHARED) for param in params
    ]


def refuse_former_names(command: CompiledCommand, options: Mapping[str, Any]) -> None:
    """Raises `UsageError` for a plain word given to an option of the program that was this command's own before."""
    for former, name in command.get("renamed", {}).items():
        value = options.get(former)
        if isinstance(value, str) and _PLAIN.match(value):
            param = next(each for each in command.get("params", ()) if each["name"] == name)
            now = f"--{name} {value!r}" if param.get("kind", "option") == "option" else f"the argument {value!r}"
            raise UsageError(f"--{former} expects an expression, not {value!r}", hint=f"did you mean {now}?")


def values_of(params: Iterable[click.Parameter], values: ParameterValues) -> tuple[dict[str, Any], dict[str, Any]]:
    """A command's own values and the global ones, by the names in the definitions."""
    own: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for param in params:
        if param.name is not None and param.name in values:
            name = param.name.removeprefix(SHARED)
            into = shared if param.name.startswith(SHARED) else own
            value = values[param.name]
            into[name] = list(value) if isinstance(value, tuple) else value
    return own, shared


def take_positional(params: Sequence[Param], values: ParameterValues, *, can_ask: bool = False) -> dict[str, Any]:
    """The values, with those that stood without their option's name.

    Raises `UsageError` where a needed one is missing, unless somebody `can` be asked for it.
    """
    listed = next((each for each in params if each.get("kind") == "argument" and each.get("multiple")), None)
    for param in params:
        if not param.get("positional"):
            continue
        name = param["name"]
        given = values.pop(POSITIONAL + name, None)
        if given not in (None, []):
            words = None if listed is None else values[listed["name"]]
            stated = values.get(name) not in (None, [])
            if listed is not None and (stated or (not words and _is_wanted(listed, values))):
                values[listed["name"]] = [*(words or []), given]  # the last word of a list was taken for it
                given = None
            elif stated:
                raise UsageError(f"{argument_name(param)} is given twice, once with --{name}")
            values[name] = given or values.get(name)
        if param.get("required") and values.get(name) in (None, []) and not (can_ask or values.get("resume")):
            raise UsageError(f"missing --{name} {param.get('metavar', '')}".strip(), hint=param.get("help"))
    return values


def _is_wanted(listed: Param, values: ParameterValues) -> bool:
    """Whether a person would be asked for the list: it is not where an option, as a query, says what is in it."""
    from ..language.template import evaluate, is_true

    when = listed.get("ask", {}).get("when")
    return when is None or is_true(evaluate(when, {to_identifier(name): value for name, value in values.items()}))


def missing_parameters(
    params: Iterable[click.Parameter], defined: Sequence[Param], values: ParameterValues
) -> list[click.Parameter]:
    """Those that the command cannot run without."""
    needed = {each["name"] for each in defined if is_required(each) and values.get(each["name"]) in (None, [])}
    return [param for param in params if param.name in needed]


def _click_parameter(param: Param, context: Context, prefix: str) -> click.Parameter:
    if param.get("kind") == "argument":
        return _click_argument(param, context)
    return _click_option(param, context, prefix)


def _positional_parameter(param: Param, context: Context) -> click.Argument:
    argument = _click_argument({**param, "required": False}, context)
    argument.name = POSITIONAL + param["name"]
    return argument


def _click_argument(param: Param, context: Context) -> click.Argument:
    name = param["name"]
    settings = {"default": param["default"]} if "default" in param else {}
    required = is_required(param)
    argument = click.Argument(
        [name],
        type=_click_type(param),
        required=required and not context.may_ask(),
        nargs=-1 if param.get("multiple") else 1,
        metavar=argument_name(param) if required else f"[{argument_name(param)}]",
        shell_complete=_parameter_completer(param, context),
        **settings,
    )
    argument.name = name
    return argument


def _click_option(param: Param, context: Context, prefix: str) -> click.Option:
    name, flag = param["name"], param.get("kind") == "flag"
    spelled = [f"--{name}", *(f"--{other}" for other in param.get("aliases", ()))]
    if "short" in param:
        spelled.insert(0, f"-{param['short']}")
    settings: dict[str, Any] = {"is_flag": True, "default": None} if flag else {"type": _click_type(param)}
    if not flag:
        settings |= {"multiple": param.get("multiple", False), "metavar": param.get("metavar")}
        # None given as a default would count as a value, and nothing would be required any more.
        settings |= {"default": param["default"]} if "default" in param else {}
    option = click.Option(
        [*spelled, to_identifier(prefix + name)],
        required=is_required(param) and not param.get("positional") and not context.may_ask(),
        help=_parameter_help(param),
        hidden=param.get("hidden", False),
        shell_complete=_parameter_completer(param, context),
        **settings,
    )
    option.name = prefix + name
    return option


def _click_type(param: Param) -> Any:
    words = REGISTRIES[param["choices_of"]] if "choices_of" in param else param.get("choices")
    if words is not None:
        return Choice(list(words), split=bool(param.get("split")))
    return TYPES[param.get("type", "text")]()


def _parameter_help(param: Param) -> str:
    text: str = param.get("help", "")
    default = param.get("default")
    notes = [f"default: {', '.join(default) if isinstance(default, list) else default}"] if "default" in param else []
    notes += [f"default: the site's {param['setting']}"] if "setting" in param else []
    if param.get("multiple"):
        notes.append("repeatable, or a,b" if param.get("split") else "repeatable")
    return f"{text} [{'; '.join(notes)}]" if notes else text


def _parameter_completer(param: Param, context: Context) -> Completer | None:
    if not {"complete", "lookup", "suggest", "assign", "convert"} & param.keys():
        return None

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from .completion.complete_value import values_for

        return values_for(context, param, ctx, incomplete)

    return complete


# What click's parser takes in silence and a person would not expect, refused or understood.


_OPTION = lazy_pattern(r"--\w|-[a-zA-Z]")
_FLAG = lazy_pattern(r"(--[\w-]+)=(.*)", re.DOTALL)
_MOST_COMMANDS = 3  # that a hint names
_ALIKE = 0.75  # another option that is less alike does something else


class ElsewhereOption(click.NoSuchOption):
    """An option that something else has: another command, or another program. `hint` says what is meant here."""

    def __init__(self, name: str, ctx: click.Context, hint: str) -> None:
        super().__init__(name, ctx=ctx)
        self.hint = hint


def strict_parser(parser: Any, ctx: click.Context, params: Sequence[click.Parameter]) -> Any:
    """A parser that refuses an option given twice that takes one value, and understands `--flag=false`."""
    parse: Callable[[list[str]], tuple[Any, list[str], list[click.Parameter]]] = parser.parse_args
    flags = {name for param in params if isinstance(param, click.Option) and param.is_flag for name in param.opts}

    def parse_args(args: list[str]) -> tuple[Any, list[str], list[click.Parameter]]:
        if not isinstance(ctx.command, click.Group) and any(isinstance(word, AliasWord) for word in args):
            args = _without_replaced(args, params)
        try:
            values, rest, order = parse(_plain_flags(args, flags))
        except click.NoSuchOption as error:
            if meant := _other_option(ctx, error.option_name):
                hint = f"did you mean {' or '.join(f'`{line}`' for line in meant)}?"
                raise ElsewhereOption(error.option_name, ctx, hint) from None
            if (others := _commands_that_take(ctx, args)) and not similar_option(error.option_name, ctx):
                raise ElsewhereOption(error.option_name, ctx, others) from None
            raise
        if not ctx.resilient_parsing:
            _refuse_repeated(order, args)
        return values, rest, order

    parser.parse_args = parse_args
    return parser


def _click_arguments(ctx: click.Context) -> list[click.Argument]:
    return [param for param in ctx.command.params if isinstance(param, click.Argument)]


def _other_option(ctx: click.Context, name: str) -> list[str]:
    """What the program says of an option that other programs have: those of the command that do the same."""
    command: Any = ctx.command
    if not hasattr(command, "context"):
        return []
    wanted = name.strip("-").casefold()
    arguments = {str(param.name): (param.metavar or str(param.name)).strip("[].") for param in _click_arguments(ctx)}
    if wanted in {*arguments, *map(str.casefold, arguments.values())}:
        return [" ".join([ctx.command_path, *arguments.values()])]
    taken = {each for param in command.params for each in param.opts}
    lines = command.context.definition.get("other_options", {}).get(name, ())
    return [line for line in lines if line.partition(" ")[0] in taken]


def _commands_that_take(ctx: click.Context, args: Sequence[str]) -> str:
    """Which other commands of the group take all the options that were typed; nothing where many do, or none."""
    command: Any = ctx.command
    group: Any = ctx.parent and ctx.parent.command
    if not getattr(group, "path", "") or not hasattr(command, "definition"):
        return ""
    shared = {name for param in group.params for name in param.opts}
    own = args[: args.index("--")] if "--" in args else args
    typed = [name for name in map(_option_name, own) if name and name not in shared]
    changing = command.definition["safety"] in CHANGES
    found = [name for name, options in group.commands_with_options(changing=changing) if {*typed} <= options]
    same = group.context.catalog.programs.get(group.context.program).get("verbs", {}).get(command.name, ())
    found = [name for name in found if name in same] or found
    if not typed or not 0 < len(found) <= _MOST_COMMANDS:
        return ""
    path = ctx.command_path.rpartition(" ")[0]
    options = " and ".join(filter(None, [", ".join(typed[:-1]), typed[-1]]))
    return f"{' or '.join(f'`{path} {name}`' for name in found)} takes {options}"


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


def _without_replaced(args: list[str], params: Sequence[click.Parameter]) -> list[str]:
    """Without the options of an alias that take one value and were typed with another."""
    options = [param for param in params if isinstance(param, click.Option) and not param.is_flag]
    named = {name: option for option in options for name in option.opts}
    given: list[tuple[click.Option | None, list[str]]] = []
    words = iter(args)
    for word in words:
        option = named.get(_option_name(word))
        given.append((option, [word, *islice(words, 1 if option and word in named else 0)]))
        if word == "--":
            given.append((None, [*words]))
    typed = {option for option, said in given if option and not option.multiple and not isinstance(said[0], AliasWord)}
    return [
        word for option, said in given if option not in typed or not isinstance(said[0], AliasWord) for word in said
    ]


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
