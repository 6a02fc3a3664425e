"""The sandbox as a process of its own: started, asked, stopped. A private file says where it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from ..errors import CallsheetError, NetworkError, NotAllowed, UsageError
from ..files import locked_file, make_private_directory, read_private, write_atomically
from ..paths import settings_directory

_FILE = "sandbox.json"
_PATIENCE = 30.0
_PAUSE = 0.02


class RunningSandbox(NamedTuple):
    """A sandbox that was started; `token` is what `stop` and `reset` must bring along."""

    address: str
    deployment: str
    token: str
    process: int


def sandbox_file(environ: Mapping[str, str], program: str) -> str:
    return os.path.join(settings_directory(environ, program), _FILE)


def remember_sandbox(environ: Mapping[str, str], program: str, running: RunningSandbox) -> None:
    make_private_directory(settings_directory(environ, program))
    write_atomically(sandbox_file(environ, program), json.dumps(running._asdict()).encode())


def forget_sandbox(environ: Mapping[str, str], program: str, running: RunningSandbox | None = None) -> None:
    """Take the file away; with `running` only where it still is about that one."""
    if running is not None and _told(environ, program) != running:
        return
    with suppress(FileNotFoundError):  # a sandbox that ends takes it away too
        os.remove(sandbox_file(environ, program))


def running_sandbox(environ: Mapping[str, str], program: str) -> RunningSandbox | None:
    """The sandbox that is running; None where none answers."""
    running = _told(environ, program)
    return running if running and ask_sandbox(running, "ping") else None


def _told(environ: Mapping[str, str], program: str) -> RunningSandbox | None:
    path = sandbox_file(environ, program)
    try:
        return RunningSandbox(**json.loads(read_private(path, "the sandbox's file")))
    except (ValueError, TypeError):
        return None
    except NotAllowed:
        if os.path.lexists(path):
            raise
        return None  # a sandbox that ends takes its file away, maybe just now


def ask_sandbox(running: RunningSandbox, word: str) -> bool:
    """Whether the sandbox did it."""
    from http.client import HTTPConnection, HTTPException  # a client with pools would cost most of a start

    try:
        with closing(HTTPConnection(urlsplit(running.address).netloc, timeout=5)) as connection:
            connection.request("POST", f"/.sandbox/{word}", headers={"X-Sandbox-Token": running.token})
            return connection.getresponse().status == 200
    except (OSError, ValueError, HTTPException):
        return False


def starting_lock(environ: Mapping[str, str], program: str) -> AbstractContextManager[None]:
    """Held while one is started: of two that start at the same time, nobody would know the first."""
    return locked_file(sandbox_file(environ, program), _PATIENCE)


def start_detached(words: Sequence[str], environ: Mapping[str, str], program: str) -> RunningSandbox:
    """Start a program, by all the words of its command, in the background, and wait until it answers."""
    forget_sandbox(environ, program)
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env=dict(environ), **detached
        )
        try:
            return _answering(process, said, environ, program)
        except BaseException:  # Ctrl-C too: nobody would know of a sandbox that came up later
            process.terminate()
            raise


def _answering(
    process: subprocess.Popen[bytes], said: IO[bytes], environ: Mapping[str, str], program: str
) -> RunningSandbox:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise _failure(process.returncode, said)
        if running := running_sandbox(environ, program):
            process.returncode = 0  # it goes on without us, and is not waited for
            return running
        time.sleep(_PAUSE)
    raise NetworkError(f"the sandbox did not answer within {_PATIENCE:g} seconds")


def _failure(code: int, said: IO[bytes]) -> CallsheetError:
    """What the process in the background said last, as if it had been said here."""
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").splitlines()
    try:
        told = json.loads(lines[-1])["error"]
        message, hint = str(told["message"]), told["hint"]
    except (IndexError, ValueError, TypeError, KeyError):
        return CallsheetError(f"the sandbox did not start: {lines[-1] if lines else f'exit code {code}'}")
    kind = UsageError if code == UsageError.exit_code else CallsheetError
    return kind(message, hint=hint)
