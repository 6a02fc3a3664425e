"""`exec`: run a program, the event on its standard input. Never through a shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ...errors import DefinitionError
from ...language.template import fill_text, to_text
from . import HandlerContext, HandlerFailed
from .base_handler import Base

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event

MOST_OUTPUT = 8192
GRACE = 1.0
LINGER = 0.2


class Program(Base):
    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        super().__init__(table, context)
        if not isinstance(table["run"], list) or not table["run"]:
            raise DefinitionError("handler 'exec': run: expected a list, the program and its arguments")
        self.run_list = table["run"]
        self.directory = os.path.join(context.folder, table.get("dir", "")) if context.folder else table.get("dir")
        self.environ = {name: value for name, value in context.environ.items() if name not in context.hidden}

    async def run(self, event: Event, job: str) -> None:
        arguments = [to_text(fill_text(text, event.scope)) for text in self.run_list]
        process = await self._start(arguments, event)
        output = asyncio.create_task(_read(process))
        try:
            async with asyncio.timeout(self.timeout):
                await _feed(process, self.input_of(event))
                code = await process.wait()
        except TimeoutError:
            raise HandlerFailed(f"still running after {self.timeout:g} s, stopped") from None
        finally:
            if process.returncode is None:
                await _stop(process)
            self._tell(job, await _rest(output))
        if code:
            raise HandlerFailed(f"ended with signal {-code}" if code < 0 else f"exit code {code}")

    async def _start(self, arguments: list[str], event: Event) -> asyncio.subprocess.Process:
        own: dict[str, Any] = (
            {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        try:
            return await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=self.directory or None,
                env=self._environment(event),
                **own,
            )
        except (OSError, ValueError) as error:
            raise HandlerFailed(f"cannot run {arguments[0]!r}: {getattr(error, 'strerror', None) or error}") from None

    def _environment(self, event: Event) -> dict[str, str]:
        told = {
            "EVENT_TYPE": event.type,
            "EVENT_ID": to_text(event.id),
            "EVENT_TIME": to_text(event.scope["event_time"]),
        }
        told |= {"EVENT_SOURCE": event.source.name, "EVENT_ATTEMPT": str(event.attempt)}
        told |= {name: to_text(fill_text(text, event.scope)) for name, text in self.table.get("env", {}).items()}
        return self.environ | told

    def _tell(self, job: str, output: bytes) -> None:
        text = output.decode("utf-8", "replace")
        for line in text.splitlines():
            self.context.report(f"{job}: {line}")


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    # It need not read; that its end is closed is a RuntimeError in uvloop.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
        process.stdin.write(data)
        await process.stdin.drain()
    with contextlib.suppress(RuntimeError):
        process.stdin.close()


async def _read(process: asyncio.subprocess.Process) -> bytes:
    """The first part of the output; the rest is read too, so that a talkative program does not stall."""
    kept = bytearray()
    while process.stdout is not None and (piece := await process.stdout.read(65536)):
        kept += piece[: max(0, MOST_OUTPUT - len(kept))]
    return bytes(kept)


async def _rest(output: asyncio.Task[bytes]) -> bytes:
    """The output of a program that ended; children it left may keep the pipe open and are not waited for."""
    try:
        return await asyncio.wait_for(output, LINGER)
    except TimeoutError:
        return b""


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the program and all that it started."""
    _signal(process, "SIGTERM")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE)
    _signal(process, "SIGKILL")
    await process.wait()


def _signal(process: asyncio.subprocess.Process, name: str) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], check=False, capture_output=True)
        else:
            os.killpg(process.pid, getattr(signal, name))
