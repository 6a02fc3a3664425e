"""One listener in several processes: starts the workers, starts those again that die, ends when all have ended."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType

from ..errors import CallsheetError, count_of, ending_text
from .event_table import GENERATIONS, HEARTBEATS, WorkerCounts, create_memory
from .server.listening_sockets import supports_reuse_port
from .worker_process import VARIABLE, WorkerAssignment, starting_file

# The process that starts the workers of a listener, starts those again that die, and ends when all have ended.
#
# Workers are the same program with the same words, told by a variable which of them they are. The first one is
# started alone: what is wrong with options or definitions is said once, and nothing else is started. On Linux each
# binds the port for itself and the system spreads connections over them; elsewhere, and for unix sockets, they share
# the sockets that are bound here or were passed to this process.

FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP")
MIN_LIFETIME = 5.0  # seconds; a worker that lived no longer is started again only after a pause
RESTART_DELAYS = (0.2, 1.0, 2.0, 5.0, 10.0)
# Seconds: what a worker that is stopped may take beside its running work. One that takes longer hangs.
END_TIMEOUT = 20.0
# Seconds between two looks at the heartbeats, and how many looks without one tell that a worker hangs. Looks are
# counted and not seconds: where all processes were stopped, as on a computer that slept, none of them hangs.
LOOK_EVERY = 1.0
HUNG_AFTER = 20


class _Worker:
    def __init__(self, index: int) -> None:
        self.index = index
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.failures = 0
        self.restart_at = 0.0  # when it is to be started again
        self.beats = 0
        self.silent_looks: int | None = None  # since the last beat, or none before the first


class Supervisor:
    """`note` says something to the operator, `ready` that all workers serve.

    Sockets that are `shared` are inherited by the workers; of others, where the system can, each binds its own.
    """

    def __init__(
        self,
        count: int,
        sockets: Sequence[socket.socket],
        note: Callable[[str], None],
        ready: Callable[[], None] = lambda: None,
        *,
        shared: bool = False,
        drain_timeout: float = 0.0,
    ) -> None:
        """`drain_timeout` is how long workers let running work go on when they are stopped."""
        self._workers = [_Worker(index) for index in range(count)]
        self._sockets = sockets
        self._note = note
        self._ready = ready
        self._shared = shared
        self._drain_timeout = drain_timeout
        self._directory = tempfile.mkdtemp(prefix="listener-")
        open(starting_file(self._directory), "x").close()
        self._memory = create_memory(self._directory)
        self._generations = WorkerCounts(self._memory, GENERATIONS)
        self._heartbeats = WorkerCounts(self._memory, HEARTBEATS)
        self._look_at = 0.0
        self._alive, self._alive_write = os.pipe()
        self._wake, self._signals = socket.socketpair()
        self._stopping = False
        self._announced = False

    def run_workers(self) -> int:
        """Returns the exit code: that of the first worker where it could not start (1 if it was killed), else 0."""
        try:
            with self._signal_handlers():
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})  # one that came earlier comes now
                code = self._start_first()
                return self._supervise_workers() if code is None or self._stopping else code
        finally:
            self._kill_all()
            self._generations.close()
            self._heartbeats.close()
            for descriptor in (self._memory, self._alive, self._alive_write):
                os.close(descriptor)
            self._wake.close()
            self._signals.close()
            shutil.rmtree(self._directory, ignore_errors=True)

    def _start_first(self) -> int | None:
        """Its exit code where it ended before it was ready."""
        first = self._workers[0]
        ready = self._start_worker(first)
        process = first.process
        while process is not None and process.poll() is None and not select.select([ready], [], [], 0.05)[0]:
            pass
        is_ready = os.read(ready, 1) == b"+"
        os.close(ready)
        if is_ready or process is None:
            return None
        code = process.wait()
        if code < 0 and not self._stopping:
            self._note(f"worker 0 ended with signal {-code} before it was ready")
        return code if code >= 0 else 1

    def _supervise_workers(self) -> int:
        ready_pipes = [self._start_worker(worker) for worker in self._workers[1:]]
        for ready in ready_pipes:
            os.read(ready, 1)
            os.close(ready)
        os.remove(starting_file(self._directory))
        if not self._stopping:
            self._ready()
            self._note(f"ready: {count_of(len(self._workers), 'worker')}")
        while True:
            self._reap_workers()
            if self._stopping and all(worker.process is None for worker in self._workers):
                return 0
            self._restart_due()
            self._end_hung()
            select.select([self._wake], [], [], self._time_until_next())
            with contextlib.suppress(BlockingIOError):
                self._wake.recv(4096)

    def _start_worker(self, worker: _Worker) -> int:
        """The descriptor at which the worker tells that it is ready; it ends without a word when the worker does."""
        ready, ready_write = os.pipe()
        inherited = () if self._workers_bind else tuple(sock.fileno() for sock in self._sockets)
        bindings = tuple((sock.family, *sock.getsockname()[:2]) for sock in self._sockets) if self._workers_bind else ()
        assignment = WorkerAssignment(
            worker.index,
            len(self._workers),
            self._directory,
            inherited,
            bindings,
            ready_write,
            self._alive,
            not self._announced,
            self._memory,
            self._generations.count_of_worker(worker.index),
        )
        self._announced = True
        try:
            with _sighup_blocked():
                worker.process = subprocess.Popen(
                    [sys.executable, "-P", *sys.orig_argv[1:]],
                    env={**os.environ, VARIABLE: assignment.as_text},
                    pass_fds=[*inherited, ready_write, self._alive, self._memory],
                    start_new_session=True,  # Ctrl-C reaches this process, which passes it on once
                )
        except OSError as error:
            raise CallsheetError(f"cannot start a worker: {error.strerror}") from None
        finally:
            os.close(ready_write)
        worker.started = time.monotonic()
        worker.beats, worker.silent_looks = self._heartbeats.count_of_worker(worker.index), None
        if self._stopping:  # since it was asked for: then the signal has passed this worker by
            worker.process.terminate()
        return ready

    @property
    def _workers_bind(self) -> bool:
        return (
            not self._shared and supports_reuse_port() and all(sock.family != socket.AF_UNIX for sock in self._sockets)
        )

    def _reap_workers(self) -> None:
        for worker in self._workers:
            if worker.process is None or (code := worker.process.poll()) is None:
                continue
            worker.process = None
            self._generations.increase_count(worker.index)
            if self._stopping:
                continue
            ended_early = time.monotonic() - worker.started < MIN_LIFETIME
            worker.failures = worker.failures + 1 if ended_early else 0
            delay = RESTART_DELAYS[min(worker.failures, len(RESTART_DELAYS) - 1)]
            worker.restart_at = time.monotonic() + delay
            self._note(f"worker {worker.index} ended with {ending_text(code)}; it is started again in {delay:g} s")

    def _restart_due(self) -> None:
        for worker in self._workers:
            if worker.process is None and not self._stopping and time.monotonic() >= worker.restart_at:
                os.close(self._start_worker(worker))

    def _end_hung(self) -> None:
        """One whose loop does not turn any more serves nobody: it is ended, and started again as any that ended."""
        if self._stopping or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_EVERY
        for worker in self._workers:
            beats = self._heartbeats.count_of_worker(worker.index)
            if worker.process is None:
                continue
            if beats != worker.beats:
                worker.beats, worker.silent_looks = beats, 0
            elif worker.silent_looks is not None:
                worker.silent_looks += 1
                if worker.silent_looks == HUNG_AFTER:
                    self._note(f"worker {worker.index} hangs, and is killed")
                    worker.process.kill()

    def _time_until_next(self) -> float | None:
        """What is to be done without a signal: a look, or a start."""
        if self._stopping:
            return None
        waiting = [worker.restart_at for worker in self._workers if worker.process is None]
        return max(0.0, min([self._look_at, *waiting]) - time.monotonic())

    @contextlib.contextmanager
    def _signal_handlers(self) -> Iterator[None]:
        """Signals are passed on, and wake the loop; the end of a worker wakes it too."""
        for sock in (self._wake, self._signals):
            sock.settimeout(0)
        previous_wakeup_fd = signal.set_wakeup_fd(self._signals.fileno(), warn_on_full_buffer=False)
        handlers: Mapping[str, Callable[[int, FrameType | None], None]] = {
            **dict.fromkeys(FORWARDED, self._forward_signal),
            "SIGCHLD": lambda *_: None,
            "SIGALRM": lambda *_: self._kill_hanging(),
        }
        previous = {name: signal.signal(getattr(signal, name), handler) for name, handler in handlers.items()}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for name, handler in previous.items():
                signal.signal(getattr(signal, name), handler)
            signal.set_wakeup_fd(previous_wakeup_fd)

    def _forward_signal(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGHUP:
            wait = END_TIMEOUT if self._stopping else self._drain_timeout + END_TIMEOUT  # a second one does not wait
            signal.setitimer(signal.ITIMER_REAL, wait, 1)
            self._stopping = True
            number = signal.SIGTERM  # which ends a worker quietly too that still starts
        for worker in self._workers:
            if worker.process is not None:
                with contextlib.suppress(OSError):
                    worker.process.send_signal(number)

    def _kill_hanging(self) -> None:
        for worker in self._workers:
            if worker.process is not None and worker.process.poll() is None:
                worker.process.kill()
                self._note(f"worker {worker.index} did not end in time and was killed")

    def _kill_all(self) -> None:
        for worker in self._workers:
            if worker.process is not None and worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()


@contextlib.contextmanager
def _sighup_blocked() -> Iterator[None]:
    """A process that is started meanwhile gets SIGHUP when it unblocks it: one that still starts would end by it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
