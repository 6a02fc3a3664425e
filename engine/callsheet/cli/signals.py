"""Signals while a process starts and ends: SIGHUP never ends one that serves, and none has to wait to be stopped.

SIGHUP ends a program, unless it serves: that one reads its files again. Which of both is meant is known when the
command is, so the signal waits until then. Systems without it have nothing to hold.
"""

from __future__ import annotations

import atexit
import os
import signal
from types import FrameType

_STOP = ("SIGINT", "SIGTERM")
_is_own_process = False  # else whoever called the engine decides about signals


def hold_hangup() -> None:
    """Called where a process starts, before anything else takes time."""
    global _is_own_process  # noqa: PLW0603 - a process has one mask of signals
    if hasattr(signal, "SIGHUP"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        _is_own_process = True


def release_hangup() -> None:
    """From here on it does what is set for it, also one that came before."""
    if _is_own_process:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})


def begin_serving() -> None:
    """Called before a person's modules are loaded, so that what these do when the process ends comes first."""
    if _is_own_process:
        end_at_once()
        atexit.register(_ignore_signals)


def end_at_once() -> None:
    """What signals do before something is served and after that: there is nothing to finish, and nothing to reload."""
    if not _is_own_process:
        return
    signal.signal(signal.SIGHUP, lambda *_: None)  # to ignore it would forget the one that waits
    for name in _STOP:
        signal.signal(getattr(signal, name), _leave_process)


def _leave_process(_number: int, _frame: FrameType | None) -> None:
    os._exit(0)


def _ignore_signals() -> None:
    """The interpreter gives signals their usual effect back some time before the process has ended."""
    for name in ("SIGHUP", *_STOP):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
