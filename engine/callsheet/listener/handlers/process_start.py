"""Starting a program, as cheaply as the system allows.

Both ways use vfork, whose cost does not depend on the size of the process that calls it. `posix_spawn` leaves out what
`subprocess.Popen` does around it, but cannot change the directory, and closes no descriptor.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

EncodedEnvironment = Mapping[Any, Any]  # texts on Windows, bytes elsewhere
_STANDARD = 3  # descriptors below are those that a program gets
# By Python itself; a program is to end by them.
_IGNORED = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))


class Started(Protocol):
    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while the program runs."""
        ...

    def wait(self) -> int: ...


def encode_environment(environ: Mapping[str, str]) -> EncodedEnvironment:
    """As the system takes them, so that they need not be encoded for each program."""
    if sys.platform == "win32":
        return environ
    return {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}


def start(
    arguments: Sequence[str],
    directory: str | None,
    environ: EncodedEnvironment,
    executable: str | None,
    stdin: int,
    stdout: int,
) -> Started:
    """In a process group of its own and without a terminal.

    Raises `OSError`; `ValueError` for words no program can get.
    """
    path = executable or arguments[0]
    can_spawn = os.sep in path and min(stdin, stdout) >= _STANDARD and _is_here(directory) and _can_spawn()
    if sys.platform != "win32" and can_spawn:
        spawn = os.POSIX_SPAWN_DUP2
        actions = ((spawn, stdin, 0), (spawn, stdout, 1), (spawn, stdout, 2))
        apart: dict[str, Any] = {"setsid": True} if has_terminal() else {"setpgroup": 0}
        try:
            pid = os.posix_spawn(path, list(arguments), environ, file_actions=actions, setsigdef=_IGNORED, **apart)
        except NotImplementedError:  # no sessions
            pass
        else:
            return _Spawned(pid)
    return subprocess.Popen(
        arguments,
        executable=executable,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        cwd=directory,
        env=environ,
        start_new_session=has_terminal(),
        process_group=None if sys.platform == "win32" or has_terminal() else 0,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


@lru_cache(maxsize=1)
def has_terminal() -> bool:
    """Whether programs could ask at a terminal, from which only a session of their own keeps them.

    Without one a process group does the same. It costs less: Linux shares the processor out by sessions, and makes and
    schedules a group for each.
    """
    if sys.platform == "win32":
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _is_here(directory: str | None) -> bool:
    """Whether it is the current directory; a function of a person's own may change that at any time."""
    try:
        return directory is None or directory.rstrip(os.sep) == os.getcwd()
    except OSError:  # it is gone
        return False


@lru_cache(maxsize=1)
def _can_spawn() -> bool:
    """Asked once: what this process has inherited is kept from programs from then on, as all that Python opens is."""
    if not hasattr(os, "posix_spawn"):
        return False
    try:
        descriptors = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        return False
    for descriptor in descriptors:
        if descriptor >= _STANDARD:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.set_inheritable(descriptor, False)  # noqa: FBT003 - its name says it
    return True


class _Spawned:
    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        return self._wait(os.WNOHANG)

    def wait(self) -> int:
        code = self._wait(0)
        return 0 if code is None else code

    def _wait(self, options: int) -> int | None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:  # somebody else waited for it, as `Popen` has it
            return 0
        return os.waitstatus_to_exitcode(status) if pid else None
