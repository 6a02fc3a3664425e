"""`command`: run a command of a program in this process; an event becomes a call without any code."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from . import MAX_RESULT, HandlerContext, HandlerFailed
from .base_handler import Base
from .command_call import command_call
from .threads import ThreadPool

if TYPE_CHECKING:
    from ...language.shape.listener import RunsCommand
    from ..verify.event import Event

MAX_OUTPUT = 4096


class Command(Base):
    """Where `run` is a text it holds the command's words, and `params` the values of its arguments and options."""

    shape = ".language.shape.listener:RunsCommand"

    def __init__(self, table: RunsCommand, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.call = command_call(table["program"], table["run"], table.get("params", {}), context.environ)
        self.environ = self.environment(self.call.prefix)
        self.pool = ThreadPool(table.get("concurrency", 16))

    @property
    def overdue(self) -> int:
        return self.pool.overdue

    @property
    def is_stuck(self) -> bool:
        return self.overdue >= self.pool.max_running

    async def run(self, event: Event, job: str) -> Any:
        values = self.call.fill(event.scope)
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
            return code, out.text, err.text

        code, out, err = await self.pool.run(run_command, self.timeout, f"{job} {event.key}")
        for line in (_excerpt(out) + err).splitlines():
            self.context.report(f"{job}: {line}")
        if self.wants_result and len(out) > MAX_RESULT:
            raise HandlerFailed(f"printed more than {MAX_RESULT} characters")
        problem = f"exit code {code}: {_last_line(err)}" if code else None
        return self.conclude(event, {"exit_code": code, "output": out}, problem)


class Excerpt(io.StringIO):
    """A stream that keeps the beginning and the end of what is written, however much that is."""

    def __init__(self, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.beginning = ""
        self.end = ""

    @property
    def text(self) -> str:
        return self.beginning + self.end

    def write(self, text: str) -> int:
        room = self.max_length - len(self.beginning)
        self.beginning += text[:room]
        self.end = (self.end + text[room:])[-self.max_length :]
        return len(text)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("error:")] or text.splitlines()
    return lines[-1][:300] if lines else "no message"


def _excerpt(text: str) -> str:
    kept = Excerpt(MAX_OUTPUT)
    kept.write(text)
    return kept.text
