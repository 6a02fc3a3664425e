"""`command`: run a command of a program in this process; an event becomes a call without any code."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...catalog.catalog import open_catalog
from ...errors import DefinitionError
from ...jsontext import dump
from ...language.template import fill, fill_text, to_text
from . import HandlerContext, HandlerFailed
from .base_handler import Base
from .threads import Threads

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event

MOST_OUTPUT = 8192


class Command(Base):
    """Where `run` is a text it holds the command's words, and `params` its arguments and options."""

    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        super().__init__(table, context)
        if "program" not in table:
            raise DefinitionError("handler 'command' needs 'program'")
        run = table["run"]
        self.environ = {name: value for name, value in context.environ.items() if name not in context.hidden}
        self.params = command_params(table["program"], run, self.environ) if isinstance(run, str) else {}
        self.threads = Threads(table.get("concurrency", 16))

    async def run(self, event: Event, job: str) -> None:
        arguments = self.arguments(event.scope)
        data = self.input_of(event)
        out, err = io.StringIO(), io.StringIO()

        def work() -> int:
            stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
            return self.context.run_program(
                self.table["program"], arguments, environ=self.environ, stdin=stdin, stdout=out, stderr=err
            )

        code = await self.threads.run(work, self.timeout)
        for line in (out.getvalue() + err.getvalue())[:MOST_OUTPUT].splitlines():
            self.context.report(f"{job}: {line}")
        if code:
            raise HandlerFailed(f"exit code {code}: {_last_line(err.getvalue())}")

    def arguments(self, scope: Mapping[str, Any]) -> list[str]:
        run = self.table["run"]
        if isinstance(run, list):
            return [to_text(fill_text(text, scope)) for text in run]
        values = fill(dict(self.table.get("params", {})), scope) or {}
        options: list[str] = []
        positional: list[str] = []
        for name, param in self.params.items():
            if name in values:
                (positional if param.get("kind") == "argument" else options).extend(_words(param, values[name]))
        return [*run.split(), *options, *(["--", *positional] if positional else [])]


def _words(param: Mapping[str, Any], value: Any) -> list[str]:
    """An option's value stays one word with its name, so that no value can be taken for an option."""
    many = value if isinstance(value, list) and param.get("multiple") else [value]
    if param.get("kind") == "argument":
        return [_text(item) for item in many]
    if param.get("kind") == "flag":
        return [f"--{param['name']}"] if value is True else []
    return [f"--{param['name']}={_text(item)}" for item in many]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dump(value)


def command_params(program: str, words: str, environ: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    """The command's arguments and options, and the program's, by name. Raises `UsageError` with the closest match."""
    catalog = open_catalog(program, environ)
    try:
        command = catalog.get("command", " ".join(words.split()))
        shared = catalog.get("program", program).get("options", [])
    finally:
        catalog.close()
    return {param["name"]: param for param in [*shared, *command.get("params", [])]}


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("error:")] or text.splitlines()
    return lines[-1][:300] if lines else "no message"
