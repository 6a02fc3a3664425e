"""Entry points: run a program, word its errors, set the exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TextIO

from ..collector import leave_all, without_collector
from ..commands.context import Context
from ..commands.streams import Streams
from ..errors import CallsheetError, UsageError, name_program
from ..paths import shipped_definitions
from ..terminal import guard_standard_streams
from .invoke import PlainLine, call_and_remember, read_plain_line, run_command

if TYPE_CHECKING:
    import click

    from .literal import LiteralValues

INTERRUPTED = 130


def main(program: str | None = None) -> None:
    """Run a program with the arguments of this process; without a name the one that this process was called by."""
    arguments = sys.argv[1:]
    if program is None and os.path.basename(sys.argv[0]) == "__main__.py":
        if not arguments or arguments[0].startswith("-"):
            raise SystemExit("usage: python -m callsheet PROGRAM ...")
        program, arguments = arguments[0], arguments[1:]
    program = program or _called_by(sys.argv[0])
    guard_standard_streams()
    try:
        code = run(program, arguments)
    except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
        code = _report_broken_start(error, arguments)
    _exit_quietly(code)


def _called_by(path: str) -> str:
    """The program that a file is named after, whatever its name ends with; a link to it may have any name.

    What follows the name of a program may be a version or a platform: `suite-linux-x86_64.pyz`.
    """
    shipped, _ = shipped_definitions()
    names = [os.path.basename(each) for each in (path, os.path.realpath(path))]
    words = [word for name in names for word in (name.partition(".")[0], "".join(takewhile(str.isalpha, name)))]
    return next((word for word in words if os.path.isdir(os.path.join(shipped, word))), words[0])


def _report_broken_start(error: Exception, arguments: list[str]) -> int:
    from traceback import extract_tb, print_exception

    if {"-v", "--verbose"}.intersection(arguments):
        print_exception(error)
    place = extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}:{place.lineno}"
    hint = "this is a fault of the program, not yours; -v shows where it happened"
    with suppress(OSError, ValueError):
        sys.stderr.write(f"error: unexpected {type(error).__name__} in {where}: {error}\nhint: {hint}\n")
    return CallsheetError.exit_code


def run(
    program: str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Run a program in this process and return its exit code. Nothing but a broken engine raises."""
    return _run_guarded(Context(program, environ, Streams(stdin, stdout, stderr)), list(arguments))


def run_literally(
    program: str,
    words: Sequence[str],
    values: Mapping[str, Any],
    *,
    typed: Collection[str] = (),
    environ: Mapping[str, str] | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Run one command with values that others wrote, and return its exit code.

    `words` are those of the command, nothing else. `values` are by the names of its parameters in the definition: a
    text, a number, a boolean for a flag, a list for a parameter that may be repeated, or a table for one of
    `NAME=VALUE`; null is left out, other JSON becomes text. They are literal: none is ever taken for an option, a file
    (`@file`), standard input (`-`, `@-`), an address of the site, or a mention, whatever it starts with.
    `typed` names the values that a person wrote whole, which mean what they mean on a command line. Only these may be
    options of the whole program (such as the site, the format or `yes`) or the path of a file.
    A wrong name or value ends with exit code 2 before anything is sent. Nothing but a broken engine raises.
    """
    from .literal import LiteralValues

    context = Context(program, environ, Streams(stdin, stdout, stderr), literal=True)
    return _run_guarded(context, list(words), LiteralValues(values, typed))


def _run_guarded(context: Context, arguments: list[str], values: LiteralValues | None = None) -> int:
    try:
        return _run_arguments(context, arguments, values)
    except _of_click("NoArgsIsHelpError") as error:
        context.say(str(error))
        return UsageError.exit_code
    except (KeyboardInterrupt, EOFError, *_of_click("Abort")):
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except _expected() as error:
        return _report_error(context, _told_error(context, error))
    finally:
        context.close()


def _expected() -> tuple[type[Exception], ...]:
    """What may go wrong without a fault of the engine."""
    return (CallsheetError, UnicodeEncodeError, RecursionError, OSError, *_of_click("ClickException"))


def _of_click(name: str) -> tuple[Any, ...]:
    """An exception of click, which is raised by nothing where click is not loaded."""
    module = sys.modules.get("click.exceptions")
    return () if module is None else (getattr(module, name),)


@without_collector()
def make_all_help(program: str, environ: Mapping[str, str]) -> None:
    """Make the help of the program and of its groups and commands, and print none of it.

    A command or group that has no part which none before it had is made of what was seen to work, and left out: of
    thousands some dozens are laid out. Raises the `CallsheetError` that a person would be told.
    """
    import click

    from .tree import root_group

    context = Context(program, environ, Streams(io.StringIO(), io.StringIO(), io.StringIO()))
    try:
        tables: dict[str, Mapping[str, Any]] = {**context.catalog.groups.all(), **context.catalog.commands.all()}
        seen: set[Any] = set()
        root = root_group(context, lambda *_: None)
        ctx = click.Context(root, info_name=program)
        root.get_help(ctx)
        waiting: list[tuple[Any, click.Context]] = [(root, ctx)]
        while waiting:
            group, ctx = waiting.pop()
            for child in group.child_entries.values():
                path = f"{group.path} {child.name}".strip()
                parts = _parts_of_help(tables[path])
                if child.kind == "command" and parts <= seen:
                    continue
                made: Any = group.get_command(ctx, child.name)
                inner = click.Context(made, parent=ctx, info_name=child.name)
                if child.kind == "group":
                    waiting.append((made, inner))
                    parts |= {(each.kind, each.hidden) for each in made.child_entries.values()}
                if not parts <= seen:
                    made.get_help(inner)
                    seen |= parts
        if context.broken is not None:
            raise context.broken
    except _expected() as error:
        raise _told_error(context, error) from None
    finally:
        context.close()


def _parts_of_help(table: Mapping[str, Any]) -> set[Any]:
    """The keys of a command or group, and what each of its parameters is made of."""
    return {*table, *((each.get("kind"), each.get("type"), *each) for each in table.get("params", ()))}


def call_command(
    context: Context, words: Sequence[str], values: Mapping[str, Any] | None, *, files: bool = False
) -> None:
    """Run one command in a context of the caller's own, which gets what it prints.

    Words and values are as for `run_literally`; with `files` they may be paths too. Without values the words are a
    whole command line. Raises the `CallsheetError` that a person would be told.
    """
    from .literal import LiteralValues

    try:
        with errors_as_told(context):
            _run_arguments(context, list(words), None if values is None else LiteralValues(values, (), files=files))
    except _of_click("Abort"):  # what click makes of it
        raise KeyboardInterrupt from None


@contextmanager
def errors_as_told(context: Context) -> Iterator[None]:
    """Whatever goes wrong is raised as the `CallsheetError` that a person would be told."""
    try:
        yield
    except _expected() as error:
        raise _told_error(context, error) from None


def _told_error(context: Context, error: Exception) -> CallsheetError:
    """What a person is told of an error."""
    match error:
        case UnicodeEncodeError():  # what was typed, or came from a file, can be sent to nobody
            near = error.object[max(0, error.start - 20) : error.end + 20]
            return UsageError(f"not a valid Unicode character, U+{ord(error.object[error.start]):04X}: {near}")
        case RecursionError():  # in a file, an argument or an answer; readers that expect it name the place themselves
            return CallsheetError("the input is nested too deeply")
        case OSError():  # a full disk, say: nothing that the person asked for is wrong
            named = f"{error.filename}: " if error.filename else ""
            return CallsheetError(f"{named}{error.strerror or error}")
        case _:
            return _after_a_change(context, _with_hint(_definition_error(context) or error))


def _run_arguments(context: Context, arguments: list[str], values: LiteralValues | None) -> int:
    _check_arguments(arguments)
    asked = context.environ.get(f"_{context.program.replace('-', '_').upper()}_COMPLETE")
    if values is None and not asked and (plain := read_plain_line(context, arguments)):
        _tell_of_definitions(context)
        return _ended(context, _run_plain_line(context, plain))
    from .tree import root_group

    group = root_group(context, run_command, values)
    if values is not None and (options := [word for word in arguments if word.startswith("-")]):
        raise UsageError(f"{options[0]!r} is not a word of a command")
    if asked:
        from .completion.complete_value import answer_shell

        try:
            return answer_shell(context, group, asked, arguments)
        except _expected():  # what is typed so far is wrong: no word fits, and no noise
            return 1
    _tell_of_definitions(context)
    return _ended(context, group.main(arguments, prog_name=context.program, standalone_mode=False, obj=context))


def _run_plain_line(context: Context, line: PlainLine) -> Any:
    try:
        return call_and_remember(context, run_command, line.command, line.values, line.words)
    except KeyboardInterrupt:
        context.streams.err.write("\n")  # behind ^C, as click does
        raise


def _ended(context: Context, code: Any) -> int:
    """The exit code of a line that came to its end."""
    context.streams.out.flush()
    if broken := _definition_error(context):  # help, or the version: a command that does not look into it has refused
        from ..output.clean_text import describe_error

        context.say(describe_error(broken, "warning"))
    return code if isinstance(code, int) else 0


def _tell_of_definitions(context: Context) -> None:
    """What of a person's definitions is left out, each time; what is called differently now, once."""
    for text in context.catalog.left_out():
        context.say(f"warning: left out: {text}")
    if context.catalog.is_new:
        for text in context.catalog.notes_on_renames():
            context.note(f"{text}; `{context.program} definitions upgrade` changes the file")


def _check_arguments(arguments: list[str]) -> None:
    """Refuse what no file system, server or screen can take; it can come from a console or from an event."""
    for place, argument in enumerate(arguments, 1):
        try:
            os.fsencode(argument)
            argument.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise UsageError(f"argument {place}: an unpaired surrogate, U+{ord(argument[error.start]):04X}") from None
        if "\0" in argument:
            raise UsageError(f"argument {place}: a null character")


def _definition_error(context: Context) -> CallsheetError | None:
    """Broken definitions explain every other error, but for the commands that look into them."""
    return None if context.has_taken_over else context.broken


def _with_hint(error: Exception) -> CallsheetError:
    if isinstance(error, CallsheetError):
        return error
    import click

    from .options import ElsewhereOption, similar_option

    if isinstance(error, ElsewhereOption):
        return UsageError(f"no such option {error.option_name}", hint=error.hint)
    if isinstance(error, click.NoSuchOption):
        near = similar_option(error.option_name, error.ctx)
        return UsageError(f"no such option {error.option_name}{near}", hint=_help_hint(error))
    is_missing = isinstance(error, click.MissingParameter)  # whose message is empty
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Option) and not is_missing:
        fault = error.message.rstrip(".").replace("a valid float", "a number")
        return UsageError(f"{max(error.param.opts, key=len)}: {fault}", hint=_help_hint(error))
    if isinstance(error, click.UsageError):
        message = error.format_message()
        return UsageError(message[:1].lower() + message[1:].rstrip("."), hint=_example_hint(error) or _help_hint(error))
    return CallsheetError(error.format_message() if isinstance(error, click.ClickException) else str(error))


def _after_a_change(context: Context, error: CallsheetError) -> CallsheetError:
    """A usage error says that nothing was sent; where something was, it is a failure of another kind."""
    if not isinstance(error, UsageError) or not context.changed:
        return error
    details = (*error.details, "what was sent before may have taken effect")
    return CallsheetError(error.message, hint=error.hint, details=details, status=error.status, trace_id=error.trace_id)


def _example_hint(error: click.UsageError) -> str | None:
    """A line of the command as it is meant: what is missing or too much is seen there."""
    if error.ctx is None or not (examples := getattr(error.ctx.command, "definition", {}).get("examples")):
        return None
    return f"such as `{error.ctx.find_root().command_path} {examples[0]}`; see {error.ctx.command_path} --help"


def _help_hint(error: click.UsageError) -> str | None:
    return f"see {error.ctx.command_path} --help" if error.ctx else None


def _report_error(context: Context, error: CallsheetError) -> int:
    """Say what went wrong on standard error, as JSON where the output is JSON."""
    from ..output.clean_text import describe_error, error_object

    context.hang_up()  # pages that were asked for ahead of time
    error.hint = error.hint and name_program(error.hint, context.program)
    if context.option("verbose"):
        from ..language.template import UnfitValue

        error.details = (*error.details, *([error.problem] if isinstance(error, UnfitValue) else ()))
    text = describe_error(error)
    if _as_json(context):
        from ..jsontext import dump_json

        text = dump_json(error_object(error))
    context.say(text)
    return error.exit_code


def _as_json(context: Context) -> bool:
    try:
        return context.output_format == "json"
    except CallsheetError:  # broken definitions, which is then what is reported
        return bool(context.option("output") == "json")


def _exit_quietly(code: int) -> None:
    """Exit without the interpreter's complaint about a closed pipe."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    leave_all()
    sys.exit(code)
