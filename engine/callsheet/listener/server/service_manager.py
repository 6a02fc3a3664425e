"""What passes between a service and its manager, as systemd has it: sockets that are open already, and word when ready.

See sd_listen_fds(3) and sd_notify(3). Both work through variables of the environment. They are taken out of it, so that
no program that is started from here believes that it is meant.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping, MutableMapping

from ...errors import UsageError
from .bind import PASSED, ListenAddress

_FIRST = 3  # the descriptors follow those of standard input, output and error
_MOST = 64
_HINT = f"--addr {PASSED} works in a service that a .socket unit starts; elsewhere give an address, as :8080"


def has_passed(environ: Mapping[str, str]) -> bool:
    """Whether sockets were passed to this process; the variables may be left from a process above."""
    return environ.get("LISTEN_PID") == str(os.getpid())


def take_address(environ: MutableMapping[str, str]) -> ListenAddress:
    """The sockets that were passed to this process. Raises `UsageError` where there are none, or none that serve."""
    given = {name: environ.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID")}
    count = given["LISTEN_FDS"]
    if not has_passed(given) or not count.isascii() or not count.isdigit() or not 0 < int(count) <= _MOST:
        raise UsageError(f"--addr {PASSED}: the service manager passed no socket", hint=_HINT)
    return passed_address(tuple(range(_FIRST, _FIRST + int(count))))


def passed_address(descriptors: tuple[int, ...]) -> ListenAddress:
    """The address of sockets that are open in this process. Raises `UsageError` for what is no listening socket."""
    hosts = []
    for descriptor in descriptors:
        try:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - its name says it
            sock = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            raise UsageError(f"--addr {PASSED}: descriptor {descriptor} is not a socket", hint=_HINT) from None
        with sock:
            hosts += _hosts(sock, descriptor)
    return ListenAddress(tuple(hosts), descriptors=descriptors, is_passed=True)


def _hosts(sock: socket.socket, descriptor: int) -> list[str]:
    if sock.type != socket.SOCK_STREAM:
        problem = f"descriptor {descriptor} is not a stream socket"
        raise UsageError(f"--addr {PASSED}: {problem}", hint="the unit needs ListenStream=")
    # A system that cannot tell (macOS) has it refused when connections are to be accepted.
    if hasattr(socket, "SO_ACCEPTCONN") and not _is_listening(sock):
        problem = f"descriptor {descriptor} is a connection, not a listening socket"
        raise UsageError(f"--addr {PASSED}: {problem}", hint="the unit needs Accept=no")
    return [sock.getsockname()[0]] if sock.family in (socket.AF_INET, socket.AF_INET6) else []


def _is_listening(sock: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    return True


class Notifier:
    """Tells the service manager what it wants to know; nothing where nobody asked."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._path = environ.pop("NOTIFY_SOCKET", "")

    def ready(self) -> None:
        if self._path.startswith(("/", "@")) and hasattr(socket, "AF_UNIX"):
            name = f"\0{self._path[1:]}" if self._path.startswith("@") else self._path
            # A manager that has gone must not end the service.
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.sendto(b"READY=1", name)
