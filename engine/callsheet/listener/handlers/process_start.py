"""Starting a program, as cheaply as the system allows, so that it ends with the process that started it."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ..machine_limits import usable_cores

# Programs end with the process that started them, however it ends: they would go on beside their repetition.
#
# One process more waits at a pipe for the end of this one, and then ends the groups of those that still run. They
# stand in memory that both share, so that a start costs no more than writing a number.

MOST = 4096  # programs that run at the same time
_NUMBER = struct.Struct("=I")
_SIZE = MOST * _NUMBER.size
# It is given where that memory is and whom it belongs to, and waits for the end of that process: by its descriptor
# where the system has such, because a fork of the process has the other end of the pipe too. A service manager that
# ends all processes of a service asks each of them first.
_WATCH = f"""
import mmap, os, select, signal, struct, sys
for name in ("SIGTERM", "SIGINT", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
windows = sys.platform == "win32"
memory = mmap.mmap(-1, {_SIZE}, tagname=sys.argv[1]) if windows else mmap.mmap(int(sys.argv[1]), {_SIZE})
try:
    ends = [0, os.pidfd_open(int(sys.argv[2]))]
except (AttributeError, OSError):
    ends = []
if os.getppid() == int(sys.argv[2]):  # else it has ended already, maybe before there was a descriptor of it
    select.select(ends, [], []) if ends else sys.stdin.buffer.read()
for number, in struct.iter_unpack("{_NUMBER.format}", memory[:]):
    try:
        if number and windows:
            os.system(f"taskkill /T /F /PID {{number}}")
        elif number:
            os.killpg(number, signal.SIGKILL)
    except OSError:
        pass
"""


class Orphans:
    """The programs that run. Raises `OSError` where the process that watches them cannot be started."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}
        self._free = list(range(MOST))
        options: dict[str, Any] = {}
        if sys.platform == "win32":
            name = f"callsheet-{os.getpid()}"
            self._memory = mmap.mmap(-1, _SIZE, tagname=name)
        else:
            descriptor = _create_memory()
            self._memory, name = mmap.mmap(descriptor, _SIZE), str(descriptor)
            options = {"pass_fds": (descriptor,), "start_new_session": True, "env": {}}
        reading, self._alive = os.pipe()  # the other end is open as long as this process
        try:
            watcher = subprocess.Popen(
                [sys.executable, "-P", "-S", "-c", _WATCH, name, str(os.getpid())],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **options,
            )
            watcher.returncode = 0  # it ends after this process, and is not waited for
        except BaseException:
            os.close(self._alive)
            raise
        finally:
            os.close(reading)
            if sys.platform != "win32":
                os.close(descriptor)

    def add_group(self, pid: int) -> None:
        """A program that leads a group of its own."""
        if self._free:
            slot = self._slots[pid] = self._free.pop()
            _NUMBER.pack_into(self._memory, slot * _NUMBER.size, pid)

    def discard_group(self, pid: int) -> None:
        slot = self._slots.pop(pid, None)
        if slot is not None:
            _NUMBER.pack_into(self._memory, slot * _NUMBER.size, 0)
            self._free.append(slot)


def _create_memory() -> int:
    """Written to now: on a full disk that could be the end later."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("programs")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.write(descriptor, bytes(_SIZE))
    return descriptor


@lru_cache(maxsize=1)
def orphans_of_this_process() -> Orphans:
    """Those of this process, from the first program on."""
    return Orphans()


# Starting a program, as cheaply as the system allows.
#
# Both ways use vfork, whose cost does not depend on the size of the process that calls it. `posix_spawn` leaves out
# what `subprocess.Popen` does around it, but cannot change the directory, and closes no descriptor.

EncodedEnvironment = Mapping[Any, Any]  # texts on Windows, bytes elsewhere
_STANDARD = 3  # descriptors below are those that a program gets
# By Python itself; a program is to end by them.
_IGNORED = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))


def encode_environment(environ: Mapping[str, str]) -> EncodedEnvironment:
    """As the system takes them, so that they need not be encoded for each program."""
    if sys.platform == "win32":
        return environ
    return {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}


def start_program(
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
        return self._wait_for_exit(os.WNOHANG)

    def wait(self) -> int:
        code = self._wait_for_exit(0)
        return 0 if code is None else code

    def _wait_for_exit(self, options: int) -> int | None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:  # somebody else waited for it, as `Popen` has it
            return 0
        return os.waitstatus_to_exitcode(status) if pid else None


Started = _Spawned | subprocess.Popen[bytes]


# Programs that are to be started at about the same time are started one right after the other.
#
# A new program takes the caches of the processor for itself. What is done between two starts takes several times as
# long as the same work for many events before the first and after the last of them. So while more programs run than
# there are cores, and one more would only take turns with them, starts wait a moment for others.

T = TypeVar("T")
# In one turn of the loop, which serves nobody else meanwhile.
MAX_STARTS = 16
MAX_DELAY = 0.005


class _Start(NamedTuple):
    start: Callable[[], Started]
    on_started: Callable[[Started], None]
    done: asyncio.Future[None]


class StartQueue:
    """The starts of one loop, to which it holds no reference but while one waits."""

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self.running = 0
        self._waiting: list[_Start] = []
        self._next: asyncio.Handle | None = None

    def add_start(self, start: Callable[[], Started], on_started: Callable[[Started], None]) -> asyncio.Future[None]:
        """Calls `start` soon, and `on_started` with its result, whoever waits by then; tell `on_exit` of its end.

        Where the future was cancelled before, nothing is called. It has the exception of either call.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append(_Start(start, on_started, done))
        if self._next is None and self.running > self.cores:
            self._next = loop.call_later(MAX_DELAY, self._run_starts)
        elif self._next is None or len(self._waiting) == MAX_STARTS:
            self._run_soon(loop)
        return done

    def on_exit(self) -> None:
        self.running -= 1
        if self.running == self.cores and self._waiting:
            self._run_soon(asyncio.get_running_loop())

    def _run_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = loop.call_soon(self._run_starts)

    def _run_starts(self) -> None:
        self._next = None
        starts, self._waiting = self._waiting[:MAX_STARTS], self._waiting[MAX_STARTS:]
        if self._waiting:
            self._run_soon(asyncio.get_running_loop())
        for each, started in [(each, _attempt_start(each, each.start)) for each in starts if not each.done.done()]:
            if started is not None:
                self._tell_waiter(each, started)

    def _tell_waiter(self, each: _Start, started: Started) -> None:
        _attempt_start(each, lambda: each.on_started(started))
        if not each.done.done():
            self.running += 1
            each.done.set_result(None)


def _attempt_start(each: _Start, call: Callable[[], T]) -> T | None:
    """What goes wrong is raised where it is waited for."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
        each.done.set_exception(error)
        return None


_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, StartQueue] = WeakKeyDictionary()


def start_queue(loop: asyncio.AbstractEventLoop) -> StartQueue:
    """That of all programs of this loop."""
    queue = _QUEUES.get(loop)
    if queue is None:
        queue = _QUEUES[loop] = StartQueue(usable_cores())
    return queue
