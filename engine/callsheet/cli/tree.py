"""click's groups and commands, made from definitions when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..catalog.catalog import Child
from ..commands.context import Context
from ..errors import UsageError
from ..language.parameters import argument_name, is_required
from ..language.safety import CHANGES
from .invoke import RunCommand, call_and_remember
from .options import (
    click_params,
    global_params,
    missing_parameters,
    refuse_former_names,
    strict_parser,
    take_positional,
    take_shared,
    values_of,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..language.shape.commands import Param
    from .literal import LiteralValues

_MOST_LISTED = 8  # commands of a group that a hint lists
HELP = {"help_option_names": ["-h", "--help"]}


class WithHelp(click.Command):
    """Its option for help has fixed words: click looks for a translation, which takes longer than all else of it."""

    context: Context
    _help: click.Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The same object each time: click orders what was given by it."""
        if self._help is None:
            names = self.get_help_option_names(ctx)
            self._help = _eager_flag(names, "Show this message and exit.", self.context, self._help_text)
        return self._help

    def _help_text(self, ctx: click.Context) -> str:
        from .kept_help import help_width, keep_help

        ctx.terminal_width = help_width(self.context.streams.out)
        text = ctx.get_help()
        if self.context.environ is os.environ and self.context.broken is None and not self.context.catalog.left_out():
            words = ctx.command_path.split()[1:]
            keep_help(self.context.program, words, self.context.catalog.fingerprint, text)
        return text


def _eager_flag(names: list[str], help: str, context: Context, text: Callable[[click.Context], str]) -> click.Option:
    """An option that prints a text and ends the program."""

    def callback(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            context.streams.out.write(text(ctx) + "\n")
            ctx.exit()

    return click.Option(names, is_flag=True, is_eager=True, expose_value=False, help=help, callback=callback)


class DefinedCommand(WithHelp):
    """A command of the tree. Its help lists its own options; the global ones are named in one line."""

    def __init__(self, context: Context, path: str, runner: RunCommand, values: LiteralValues | None = None) -> None:
        self.definition = context.catalog.commands.get(path)
        self.context = context
        self.runner = runner
        self.values = values
        own = click_params(self.definition.get("params", []), context)
        taken = {name for param in own for name in param.opts}
        shared = [param for param in _hidden_params(context) if not taken.intersection(param.opts)]
        super().__init__(
            path.rpartition(" ")[2],
            params=[*own, *shared],
            help=self.definition["help"],
            callback=None,
            context_settings=_click_settings(self.definition.get("params", [])),
        )

    def make_parser(self, ctx: click.Context) -> Any:
        """A literal run brings its values by name: none of them goes through the parser of command lines."""
        parser: Any = super().make_parser(ctx)
        if self.values is None:
            return strict_parser(parser, ctx, self.params)
        parser.parse_args = self.values.click_parser(self.params, self.definition.get("params", []), ctx.command_path)
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With a journal to go on with, all else that is required is in there."""
        if "journal" in self.definition and any(word.partition("=")[0] == "--resume" for word in args):
            for param in self.params:
                param.required = False
        ctx.allow_extra_args = not ctx.resilient_parsing  # they are refused here, in words that quote what was typed
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(f"unexpected argument {rest[0]!r}", ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        own, shared = values_of(self.params, ctx.params)
        if self.values is not None:
            own = self.values.mark_typed_values(own)
        take_shared(self.context.options, shared)
        refuse_former_names(self.definition, self.context.options)
        defined, can_ask = self.definition.get("params", []), self.context.may_ask() and self.context.prompts.can_ask
        own = take_positional(defined, own, can_ask=can_ask)
        if self.context.may_ask() and not can_ask and (lacking := missing_parameters(self.params, defined, own)):
            raise click.MissingParameter(ctx=ctx, param=lacking[0])
        return call_and_remember(self.context, self.runner, self.definition, own, ctx.command_path)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The global options too, which the command's own help leaves out."""
        from click.shell_completion import CompletionItem

        shared = [name for param in self.params if getattr(param, "hidden", False) for name in param.opts]
        asked = incomplete.startswith("-")
        names = [name for name in shared if asked and name.startswith("--") and name.startswith(incomplete)]
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, names)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        if about := self.definition.get("about"):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(about.strip())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments that need a word, then options; click's own way differs from version to version."""
        params = self.definition.get("params", [])
        explained = [each for each in params if each.get("kind") == "argument" and "help" in each]
        arguments = [(argument_name(each), each["help"]) for each in explained]
        options = [param.get_help_record(ctx) for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for heading, rows in (("Arguments", arguments), ("Options", [row for row in options if row])):
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        program = self.context.program
        if examples := self.definition.get("examples"):
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{' ' * formatter.current_indent}{program} {example}\n")
        formatter.write_paragraph()
        formatter.write_text(f"Global options ({program} --help) may stand here too.")


def _hidden_params(context: Context) -> list[click.Parameter]:
    """The options of the program, which every command and group takes; they are made once."""
    if context.shared_params is None:
        context.shared_params = global_params(context.definition.get("options", []), context, hidden=True)
    return context.shared_params


def _click_settings(params: list[Param]) -> dict[str, Any]:
    """Where one takes the rest of the line, what follows the first word is never an option of this command."""
    takes_rest = any(param.get("rest") for param in params)
    return {**HELP, "ignore_unknown_options": True, "allow_interspersed_args": False} if takes_rest else HELP


class DefinedGroup(WithHelp, click.Group):
    """A group of the tree; the root is the program itself."""

    def __init__(
        self, context: Context, path: str, runner: RunCommand, values: LiteralValues | None = None, **settings: Any
    ) -> None:
        super().__init__(
            path.rpartition(" ")[2] or context.program, no_args_is_help=True, context_settings=HELP, **settings
        )
        self.context = context
        self.path = path
        self.runner = runner
        self.values = values
        self._children: dict[str, Child] | None = None

    @property
    def child_entries(self) -> dict[str, Child]:
        if self._children is None:
            self._children = {child.name: child for child in self.context.catalog.children_of(self.path)}
        return self._children

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, child in self.child_entries.items() if not child.hidden]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        child = self.child_entries.get(cmd_name) or next(
            (child for child in self.child_entries.values() if cmd_name in child.aliases), None
        )
        if child is None:
            return None
        path = f"{self.path} {child.name}".strip()
        if child.kind == "group":
            help = self.context.catalog.groups.get(path)["help"]
            shared = _hidden_params(self.context)
            return DefinedGroup(self.context, path, self.runner, self.values, params=[*shared], help=help)
        return DefinedCommand(self.context, path, self.runner, self.values)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With a default command, words that name no command of the group are that command's."""
        default = self.default_command
        if default and not args:
            args = [default] if self._needs_nothing(default) and not ctx.resilient_parsing else args
        elif default and args[0] not in ctx.help_option_names and not self._names_a_command(ctx, args):
            args = [default, *args]
        return super().parse_args(ctx, args)

    def make_parser(self, ctx: click.Context) -> Any:
        return strict_parser(super().make_parser(ctx), ctx, self.params)

    def _names_a_command(self, ctx: click.Context, args: list[str]) -> bool:
        """Whether the first word behind the program's own options is one of the group's commands."""
        try:
            rest = self.make_parser(ctx).parse_args([*args])[1]
        except (click.UsageError, UsageError):  # an option of the default command
            return False
        return bool(rest) and self.get_command(ctx, rest[0]) is not None

    @property
    def default_command(self) -> str | None:
        found: str | None = self.context.catalog.groups.get(self.path).get("default") if self.path else None
        return found

    def _needs_nothing(self, name: str) -> bool:
        """Whether the group means the command when it is called alone; else it shows its help."""
        params = self.context.catalog.commands.get(f"{self.path} {name}").get("params", ())
        return not any(is_required(param) for param in params)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is not None:
            self._refuse_two_words(command, args)
            return args[0], command, args[1:]
        if args[0].startswith("-"):
            self.make_parser(ctx).parse_args(args)
        expanded = self._as_argument(args) if self.path else self._as_argument(self._expand_alias(args))
        if expanded != args:
            return self.resolve_command(ctx, expanded)
        raise self._unknown_command(args)

    def _refuse_two_words(self, command: click.Command, args: list[str]) -> None:
        """`comment add KEY`, where `comment` takes a key: the second word would be read as one."""
        if self.path and len(args) > 1 and isinstance(command, DefinedCommand) and self.values is None:
            instead = self.context.catalog.groups.get(self.path).get("instead", {})
            if lines := instead.get(f"{command.name} {args[1]}"):
                raise self._refused_word(" ".join(args[:2]), lines)

    def _expand_alias(self, args: list[str]) -> list[str]:
        """Only a word that is no command can be an alias, so no other start reads the file."""
        from .aliases import expand_alias, read_aliases

        return expand_alias(
            {**self.context.definition.get("aliases", {}), **read_aliases(self.context.environ, self.context.program)},
            args,
        )

    def _as_argument(self, args: list[str]) -> list[str]:
        """Behind the command that takes the first word, where that is none: an issue's key, a page's address."""
        from .suggestions import command_for_bare_word

        command = command_for_bare_word(self.context.catalog, self.path, args[0])
        return args if command is None else [*command.split(), *args]

    def _unknown_command(self, words: list[str]) -> UsageError:
        from .suggestions import suggest_commands

        return self._refused_word(words[0], suggest_commands(self.context.catalog, self.path, words))

    def _refused_word(self, word: str, lines: list[str]) -> UsageError:
        program = self.context.program
        path = f"{program} {self.path}".strip()
        near = ", ".join(f"`{program} {line}`" for line in lines)
        there = [child.name for child in self.context.catalog.children_of(self.path) if not child.hidden]
        listed = f"its commands are {', '.join(there)}; " if len(there) <= _MOST_LISTED else ""
        return UsageError(
            f"unknown command {word!r} of `{path}`",
            hint=f"did you mean {near}?" if near else f"{listed}see {path} --help",
        )

    def commands_with_options(self, *, changing: bool) -> Iterator[tuple[str, set[str]]]:
        """The commands of the group that change something, or do not, with the names of their options."""
        for child in self.child_entries.values():
            if child.kind == "command" and not child.hidden:
                definition = self.context.catalog.commands.get(f"{self.path} {child.name}")
                params = definition.get("params", []) if (definition["safety"] in CHANGES) == changing else []
                options = [each for each in params if each.get("kind") != "argument"]
                long = {f"--{name}" for each in options for name in (each["name"], *each.get("aliases", []))}
                yield child.name, long | {f"-{each['short']}" for each in options if "short" in each}

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """At the top the program's aliases and a person's too."""
        from click.shell_completion import CompletionItem

        from .completion.complete_value import complete_aliases

        defined = self.context.definition.get("aliases", {})
        own = [] if self.path else [*dict.fromkeys([*defined, *complete_aliases(self.context, {}, incomplete)])]
        found = super().shell_complete(ctx, incomplete)
        return [*found, *(CompletionItem(name, help="alias") for name in own if name.startswith(incomplete))]

    def invoke(self, ctx: click.Context) -> Any:
        _, shared = values_of(self.params, ctx.params)
        take_shared(self.context.options, shared)
        return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Names and one line each, under the headings that the program's definition gives."""
        sections = self.context.definition.get("sections", {}) if not self.path else {}
        shown = {name: child for name, child in self.child_entries.items() if not child.hidden}
        for heading, names in sections.items():
            self._write_section(formatter, heading, [shown.pop(name) for name in names if name in shown])
        self._write_section(formatter, "More commands" if sections else "Commands", list(shown.values()))

    def _write_section(self, formatter: click.HelpFormatter, heading: str, children: list[Child]) -> None:
        if children:
            with formatter.section(heading):
                formatter.write_dl([(child.name, child.help) for child in children])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        examples = self.context.definition.get("examples") if not self.path else None
        if examples:
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{' ' * formatter.current_indent}{self.context.program} {example}\n")


def root_group(context: Context, runner: RunCommand, values: LiteralValues | None = None) -> DefinedGroup:
    """The whole program as one click group. With `values` only the words of a command are expected."""
    definition = context.definition
    params = global_params(definition.get("options", []), context, hidden=False)
    group = DefinedGroup(context, "", runner, values, params=params, help=definition["title"])
    version = f"{context.program} {__version__}"
    group.params.append(_eager_flag(["--version"], "Show the version and exit.", context, lambda _: version))
    return group
