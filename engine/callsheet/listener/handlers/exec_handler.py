"""`exec`: run a program, the event on its standard input. Never through a shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import DefinitionError, ending_text
from ...language.template import fill_text, to_text
from ..asyncio_helpers import done_within
from . import MAX_RESULT, HandlerContext, HandlerFailed
from .base_handler import Base
from .event_content import HandlerArguments, as_argument, check_written_out
from .process_start import (
    EncodedEnvironment,
    Started,
    encode_environment,
    orphans_of_this_process,
    start_program,
    start_queue,
)
from .process_watcher import Watcher, watch_program

if TYPE_CHECKING:
    from ...language.shape.listener import RunsProgram
    from ..verify.event import Event

# A program that is started for an event: fed, listened to, waited for, and ended with all that it started.
#
# The loop's own machinery is not used: uvloop forks, and a fork copies the page tables of a large process, which
# takes several times as long as starting a small program.

MAX_OUTPUT = 8192
TERMINATE_TIMEOUT = 1.0
OUTPUT_TIMEOUT = 0.2


class Process:
    """One program; its output goes where its errors go. Made inside a running loop.

    `exit_code` is its exit code, negative for a signal; None until it has ended. `most` bytes of its output are kept.
    """

    def __init__(
        self, arguments: Sequence[str], directory: str | None, environ: EncodedEnvironment, most: int = MAX_OUTPUT
    ) -> None:
        self._arguments = arguments
        self._directory = directory
        self._environ = environ
        self._most = most
        self._started: Started | None = None
        self._watcher: Watcher | None = None
        self._output = bytearray()
        loop = asyncio.get_running_loop()
        self._start_queue = start_queue(loop)
        self._ended: asyncio.Future[int] = loop.create_future()
        self._output_closed: asyncio.Future[None] = loop.create_future()

    @property
    def exit_code(self) -> int | None:
        return self._ended.result() if self._ended.done() else None

    @property
    def is_running(self) -> bool:
        return self._started is not None and not self._ended.done()

    async def start_program(self, data: bytes, executable: str | None = None) -> None:
        """Start it with `data` on its standard input. Raises `OSError`; `ValueError` for words no program can get.

        `executable` is the file of the first argument, where that is known. Whoever is cancelled here asks
        `is_running` whether it was too late.
        """
        open_ends: list[int] = []  # what is closed whatever happens
        try:
            inside, stdin = _open_pipe(open_ends)
            stdout, outside = _open_pipe(open_ends)
            left = _unwritten_rest(stdin, data)

            running = orphans_of_this_process()

            def watched(started: Started) -> None:
                running.add_group(started.pid)
                open_ends.remove(stdout)
                if left:
                    open_ends.remove(stdin)
                self._watcher = watch_program(started, stdout, stdin, left, self)
                self._started = started

            await self._start_queue.add_start(
                lambda: start_program(self._arguments, self._directory, self._environ, executable, inside, outside),
                watched,
            )
        finally:
            for descriptor in open_ends:
                os.close(descriptor)

    async def wait_until_ended(self, limit: float) -> bool:
        """Whether it ended within `limit` seconds."""
        return await done_within(self._ended, limit)

    async def read_output(self) -> bytes:
        """The first part of what it printed; children that it left may keep the pipe open and are not waited for."""
        if self._started is not None:
            await done_within(self._output_closed, OUTPUT_TIMEOUT)
        if self._watcher is not None:
            self._watcher.close()
        return bytes(self._output)

    async def stop_group(self) -> None:
        """End the program and all that it started."""
        self._signal_group("SIGTERM")
        await self.wait_until_ended(TERMINATE_TIMEOUT)
        self._signal_group("SIGKILL")
        while not await self.wait_until_ended(TERMINATE_TIMEOUT):  # a process that waits for a disk ends later
            pass

    def on_output(self, chunk: bytes) -> None:
        """All of it is read, so that a talkative program does not stall; the first part is kept."""
        if (room := self._most - len(self._output)) > 0:
            self._output += chunk[:room]

    def on_output_closed(self) -> None:
        if not self._output_closed.done():
            self._output_closed.set_result(None)

    def on_exit(self, code: int) -> None:
        self._ended.set_result(code)
        if self._started is not None:
            orphans_of_this_process().discard_group(self._started.pid)
        self._start_queue.on_exit()

    def _signal_group(self, name: str) -> None:
        if self._started is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                subprocess.run(
                    ["taskkill", "/T", "/F", "/PID", str(self._started.pid)], check=False, capture_output=True
                )
            else:
                os.killpg(self._started.pid, getattr(signal, name))


def _open_pipe(open_ends: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    open_ends += ends
    return ends


def _unwritten_rest(stdin: int, data: bytes) -> bytes:
    """What of `data` does not fit into the pipe; most events fit, so that nobody has to watch it."""
    if not data or sys.platform == "win32":
        return data
    os.set_blocking(stdin, False)
    try:
        return data[os.write(stdin, data) :]
    except BlockingIOError:
        return data


class Executable:
    """The file of a program that is named without its directory, looked for once instead of for each event.

    `environ` is what programs get; where an event chooses their PATH, each start has to look for itself.
    """

    def __init__(self, environ: Mapping[str, str], chosen: Mapping[str, str]) -> None:
        self._path = environ.get("PATH", os.defpath)
        self._is_fixed = sys.platform != "win32" and "PATH" not in chosen
        self._found: str | None = None

    async def start_with_file(self, word: str, start: Callable[[str | None], Awaitable[None]]) -> None:
        """Call `start` with the file, or None where it has to be looked for. It may have moved since it was found."""
        found = self._find_file(word)
        try:
            await start(found)
        except (FileNotFoundError, PermissionError):
            if found is None:
                raise
            self._found = None
            await start(None)

    def _find_file(self, word: str) -> str | None:
        if self._found is None and self._is_fixed and os.sep not in word:
            found = shutil.which(word, path=self._path)
            self._found = found if found is not None and os.path.isabs(found) else None
        return self._found


class HandlerProgram(Base):
    """Runs a program; the event is JSON on its standard input."""

    result_members = ("exit_code", "output")
    shape = ".language.shape.listener:RunsProgram"

    def __init__(self, table: RunsProgram, context: HandlerContext) -> None:
        super().__init__(table, context)
        if not isinstance(table["run"], list) or not table["run"]:
            raise DefinitionError("handler 'exec': run: expected a list, the program and its arguments")
        self.arguments = HandlerArguments(table["run"])
        check_written_out("exec", "dir", table.get("dir", ""))
        self.directory = os.path.join(context.folder, table.get("dir", "")) if context.folder else table.get("dir")
        environ = self.variables_for_handler()
        self.environ = encode_environment(environ)
        self.executable = Executable(environ, table.get("env", {}))

    def configuration_warnings(self) -> list[str]:
        """Words that a value could turn into an option, and a program or a folder that is not there now."""
        found = [
            f"run: {word} comes from the event, and one that starts with '-' fails there: put '--' before it, if the"
            f" program knows that, or write --name={word}"
            for word in self.arguments.exposed
        ]
        if self.directory and not os.path.isdir(self.directory):
            return [*found, f"dir: there is no folder {self.directory!r}"]  # nor what the program is looked for in
        program = str(fill_text(self.arguments.words[0], {}))  # it holds no placeholder
        place = os.path.join(self.directory or "", program) if os.path.dirname(program) else program
        if shutil.which(place, path=self.environ.get("PATH")) is None:
            found.append(f"run: there is no program {program!r}, or it cannot be executed")
        return found

    async def run(self, event: Event, job: str) -> Any:
        arguments = self.arguments.fill_arguments(event.scope if self.arguments.are_templates else {})
        most = MAX_RESULT + 1 if self.wants_result else MAX_OUTPUT
        process = Process(arguments, self.directory or None, self._variables_of_event(event), most)
        output = b""
        try:
            await self._start_process(process, arguments[0], self.input_of(event))
            in_time = await process.wait_until_ended(self.timeout)
        finally:
            if process.is_running:
                await process.stop_group()
            output = await process.read_output()
            self._report_output(job, output[:MAX_OUTPUT])
        if not in_time:
            raise HandlerFailed(f"timed out after {self.timeout:g} s, stopped")
        code = process.exit_code or 0
        if self.wants_result and len(output) > MAX_RESULT:
            raise HandlerFailed(f"printed more than {MAX_RESULT} bytes")
        result = {"exit_code": code, "output": output.decode("utf-8", "replace")} if self.wants_result else None
        problem = f"{'ended with ' if code < 0 else ''}{ending_text(code)}"
        return self.check_result(event, result, problem if code else None)

    async def _start_process(self, process: Process, program: str, data: bytes) -> None:
        try:
            await self.executable.start_with_file(program, partial(process.start_program, data))
        except (OSError, ValueError) as error:
            raise HandlerFailed(f"cannot run {program!r}: {getattr(error, 'strerror', None) or error}") from None

    def _variables_of_event(self, event: Event) -> EncodedEnvironment:
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
