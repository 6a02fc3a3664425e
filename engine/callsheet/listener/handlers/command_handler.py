"""`command`: run a command of a program in this process; an event becomes a call without any code."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ...catalog.catalog import open_catalog
from ...errors import DefinitionError, did_you_mean
from ...language.command_line import bind_words, command_words, missing_parameters
from ...language.safety import asks_whatever_is_given
from ...language.template import compile_template, fill_template
from . import MAX_RESULT, HandlerContext, HandlerFailed
from .base_handler import Base
from .thread_pool import ThreadPool

if TYPE_CHECKING:
    from ...language.shape.commands import Param
    from ...language.shape.listener import RunsCommand
    from ..verify.event import Event

# What a `command` handler calls: which words choose the command, and which value each of its parameters gets.
#
# Values are bound to parameters when the routes are read. So nothing that an event brings is ever looked at as a
# command line: a value cannot become an option, a file, or another command.


class CommandCall(NamedTuple):
    """`values` are templates by parameter; `typed` names those that hold nothing out of an event."""

    program: str
    prefix: str
    words: list[str]
    values: dict[str, Any]
    typed: frozenset[str]

    def fill_call(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        return fill_template(self.values, scope) or {}


def prefix_of_program(program: str, environ: Any) -> str:
    """That of its variables."""
    with closing(open_catalog(program, environ)) as catalog:
        prefix: str = catalog.programs.get(program)["prefix"]
    return prefix


def command_call(program: str, run: str | Sequence[str], values: Mapping[str, Any], environ: Any) -> CommandCall:
    """Raises `UsageError` or `DefinitionError`, with the closest match, for what the program does not have."""
    try:
        return _bind_parameters(program, run, values, environ)
    except DefinitionError as error:
        raise DefinitionError(f"handler 'command': {error.message}", details=error.details) from None


def _bind_parameters(program: str, run: str | Sequence[str], values: Mapping[str, Any], environ: Any) -> CommandCall:
    words_given = run.split() if isinstance(run, str) else [*run]
    catalog = open_catalog(program, environ)
    try:
        definition = catalog.programs.get(program)
        shared: list[Param] = definition.get("options", [])
        words, rest = command_words(words_given, set(catalog.commands.ids()), shared)
        command = catalog.commands.get(" ".join(words))
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
    chosen_by_person = {param["name"] for param in shared} - {param["name"] for param in own}
    chosen_by_person |= {param["name"] for param in own if param.get("type") == "path"}
    for name in (name for name, value in templates.items() if name in chosen_by_person and is_template(value)):
        raise DefinitionError(f"{name}: no value of an event can choose sites and files: write it out")
    for name, value in templates.items():
        if (fault := _misfit_of_constant(params[name], value)) and not is_template(value):
            raise DefinitionError(f"{name}: {fault}")
    if asks_whatever_is_given(command) and _AGREES in params and _AGREES not in templates:
        raise DefinitionError(f"{' '.join(words)} asks before it does anything, and nobody is there: add --{_AGREES}")
    typed = frozenset(name for name, value in templates.items() if not is_template(value))
    return CommandCall(program, definition["prefix"], words, templates, typed)


_AGREES = "yes"


def is_template(value: Any) -> bool:
    """Whether anything in a template comes from an event."""
    if isinstance(value, str):
        return any(not isinstance(part, str) for part in compile_template(value))
    if isinstance(value, Mapping):
        return any(is_template(item) for item in value.values())
    return isinstance(value, list) and any(is_template(item) for item in value)


def _misfit_of_constant(param: Param, value: Any) -> str | None:
    """Why a constant cannot be a parameter's value, or None."""
    words = param.get("choices")
    for each in value if isinstance(value, list) else [value]:
        if words is not None and str(each).casefold() not in {word.casefold() for word in words}:
            return f"{each!r} is not one of the choices{did_you_mean(str(each), words)}"
    return None


MAX_OUTPUT = 4096


class Command(Base):
    """Where `run` is a text it holds the command's words, perhaps with options, and `params` the values of others."""

    result_members = ("exit_code", "output")
    shape = ".language.shape.listener:RunsCommand"

    def __init__(self, table: RunsCommand, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.call = command_call(table["program"], table["run"], table.get("params", {}), context.environ)
        self.environ = self.variables_for_handler(self.call.prefix)
        self.pool = ThreadPool(table.get("concurrency", 16))

    @property
    def overdue_runs(self) -> int:
        return self.pool.overdue_runs

    @property
    def is_stuck(self) -> bool:
        return self.overdue_runs >= self.pool.max_running

    async def run(self, event: Event, job: str) -> Any:
        values = self.call.fill_call(event.scope)
        data = self.input_of(event)

        def run_command() -> tuple[int, str, str]:
            out, err = Excerpt(MAX_RESULT if self.wants_result else MAX_OUTPUT), Excerpt(MAX_OUTPUT)
            stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
            code = self.context.run_command(
                self.call.program,
                self.call.words,
                values,
                typed=self.call.typed,
                environ=self.environ,
                stdin=stdin,
                stdout=out,
                stderr=err,
            )
            return code, out.excerpt_text, err.excerpt_text

        code, out, err = await self.pool.run(run_command, self.timeout, f"{job} {event.key}")
        for line in (_last_lines(out) + err).splitlines():
            self.context.report(f"{job}: {line}")
        if self.wants_result and len(out) > MAX_RESULT:
            raise HandlerFailed(f"printed more than {MAX_RESULT} characters")
        problem = f"exit code {code}: {_last_line(err)}" if code else None
        return self.check_result(event, {"exit_code": code, "output": out}, problem)


class Excerpt(io.StringIO):
    """A stream that keeps the beginning and the end of what is written, however much that is."""

    def __init__(self, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.beginning = ""
        self.end = ""

    @property
    def excerpt_text(self) -> str:
        return self.beginning + self.end

    def write(self, text: str) -> int:
        room = self.max_length - len(self.beginning)
        self.beginning += text[:room]
        self.end = (self.end + text[room:])[-self.max_length :]
        return len(text)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("error:")] or text.splitlines()
    return lines[-1][:300] if lines else "no message"


def _last_lines(text: str) -> str:
    kept = Excerpt(MAX_OUTPUT)
    kept.write(text)
    return kept.excerpt_text
