"""`exec`: run a program, the event on its standard input. Never through a shell."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import DefinitionError
from ...language.template import fill_text, to_text
from . import MAX_RESULT, HandlerContext, HandlerFailed
from .arguments import HandlerArguments, as_argument, check_written_out
from .base_handler import Base
from .process import MAX_OUTPUT, Process
from .process_start import EncodedEnvironment, encode_environment

if TYPE_CHECKING:
    from ...language.shape.listener import RunsProgram
    from ..verify.event import Event


class Executable:
    """The file of a program that is named without its directory, looked for once instead of for each event.

    `environ` is what programs get; where an event chooses their PATH, each start has to look for itself.
    """

    def __init__(self, environ: Mapping[str, str], chosen: Mapping[str, str]) -> None:
        self._path = environ.get("PATH", os.defpath)
        self._is_fixed = sys.platform != "win32" and "PATH" not in chosen
        self._found: str | None = None

    async def start(self, word: str, start: Callable[[str | None], Awaitable[None]]) -> None:
        """Call `start` with the file, or None where it has to be looked for. It may have moved since it was found."""
        found = self._file(word)
        try:
            await start(found)
        except (FileNotFoundError, PermissionError):
            if found is None:
                raise
            self._found = None
            await start(None)

    def _file(self, word: str) -> str | None:
        if self._found is None and self._is_fixed and os.sep not in word:
            found = shutil.which(word, path=self._path)
            self._found = found if found is not None and os.path.isabs(found) else None
        return self._found


class HandlerProgram(Base):
    """Runs a program; the event is JSON on its standard input."""

    shape = ".language.shape.listener:RunsProgram"

    def __init__(self, table: RunsProgram, context: HandlerContext) -> None:
        super().__init__(table, context)
        if not isinstance(table["run"], list) or not table["run"]:
            raise DefinitionError("handler 'exec': run: expected a list, the program and its arguments")
        self.arguments = HandlerArguments(table["run"])
        check_written_out("exec", "dir", table.get("dir", ""))
        self.directory = os.path.join(context.folder, table.get("dir", "")) if context.folder else table.get("dir")
        environ = self.environment()
        self.environ = encode_environment(environ)
        self.executable = Executable(environ, table.get("env", {}))

    def doubts(self) -> list[str]:
        """Words that a value could turn into an option, and a program that is not there now."""
        found = [
            f"run: {word} comes from the event, and one that starts with '-' fails there: put '--' before it, if the"
            f" program knows that, or write --name={word}"
            for word in self.arguments.exposed
        ]
        program = str(fill_text(self.arguments.words[0], {}))  # it holds no placeholder
        place = os.path.join(self.directory or "", program) if os.path.dirname(program) else program
        if shutil.which(place, path=self.environ.get("PATH")) is None:
            found.append(f"run: there is no program {program!r}, or it cannot be executed")
        return found

    async def run(self, event: Event, job: str) -> Any:
        arguments = self.arguments.fill(event.scope if self.arguments.are_templates else {})
        most = MAX_RESULT + 1 if self.wants_result else MAX_OUTPUT
        process = Process(arguments, self.directory or None, self._environment(event), most)
        output = b""
        try:
            await self._start(process, arguments[0], self.input_of(event))
            in_time = await process.wait(self.timeout)
        finally:
            if process.is_running:
                await process.stop()
            output = await process.output()
            self._report_output(job, output[:MAX_OUTPUT])
        if not in_time:
            raise HandlerFailed(f"timed out after {self.timeout:g} s, stopped")
        code = process.exit_code or 0
        if self.wants_result and len(output) > MAX_RESULT:
            raise HandlerFailed(f"printed more than {MAX_RESULT} bytes")
        result = {"exit_code": code, "output": output.decode("utf-8", "replace")} if self.wants_result else None
        problem = f"ended with signal {-code}" if code < 0 else f"exit code {code}"
        return self.conclude(event, result, problem if code else None)

    async def _start(self, process: Process, program: str, data: bytes) -> None:
        try:
            await self.executable.start(program, partial(process.start, data))
        except (OSError, ValueError) as error:
            raise HandlerFailed(f"cannot run {program!r}: {getattr(error, 'strerror', None) or error}") from None

    def _environment(self, event: Event) -> EncodedEnvironment:
        variables = {
            "EVENT_TYPE": event.type,
            "EVENT_ID": to_text(event.id),
            "EVENT_TIME": to_text(event.time),
        }
        variables |= {"EVENT_SOURCE": event.source.name, "EVENT_ATTEMPT": str(event.attempt)}
        if chosen := self.table.get("env"):
            variables |= {name: to_text(fill_text(text, event.scope)) for name, text in chosen.items()}
        return {**self.environ, **encode_environment({name: as_argument(text) for name, text in variables.items()})}

    def _report_output(self, job: str, output: bytes) -> None:
        text = output.decode("utf-8", "replace")
        for line in text.splitlines():
            self.context.report(f"{job}: {line}")
