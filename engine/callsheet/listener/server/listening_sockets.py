"""Where a server listens: addresses, or sockets that a service manager passes, and telling it that all is ready."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

from ...errors import CallsheetError, UsageError

# Where a server listens: `:port`, `host:port`, `[::1]:port`, `unix:PATH`, or sockets that it is given.

BACKLOG = 2048
PASSED = "systemd"  # instead of an address: the sockets that the service manager opened
_LOOPBACK = ("127.0.0.1", "::1")
_MAX_PORT = 65535


class ListenAddress(NamedTuple):
    """`hosts` are bound all; a `path` is a unix socket.

    One that `is_passed` consists of `descriptors`, which are bound already, and of the hosts that these are bound to.
    """

    hosts: tuple[str, ...] = ()
    port: int = 0
    path: str = ""
    descriptors: tuple[int, ...] = ()
    is_passed: bool = False

    @property
    def is_public(self) -> bool:
        """Whether others than this host can connect. They count as able to where that is not known yet."""
        if self.is_passed and not self.descriptors:
            return True
        return any(host not in _LOOPBACK and not host.startswith("127.") for host in self.hosts)


def parse_address(text: str, option: str = "--addr") -> ListenAddress:
    """Raises `UsageError` that names the option. A port alone is this host on both protocols, as `localhost` is."""
    if text.startswith("unix:"):
        if not text[5:]:
            raise UsageError(f"{option}: unix: needs a path", hint="example: unix:/run/listener.sock")
        return ListenAddress(path=text[5:])
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"{option}: {text!r}: put an IPv6 address in brackets", hint="example: [::1]:8080")
    is_port = port.isascii() and port.isdigit() and len(port) <= len(str(_MAX_PORT)) and int(port) <= _MAX_PORT
    if not is_port or (not colon and host):
        raise UsageError(
            f"{option}: {text!r} is not a valid address",
            hint="examples: :8080, 127.0.0.1:8080, 0.0.0.0:8080, unix:/run/x.sock",
        )
    return ListenAddress(_LOOPBACK if host in ("", "localhost") else (host,), int(port))


def parse_served_address(text: str) -> ListenAddress:
    """What `--addr` of a service may be: an address, or the word for sockets that are passed. Raises `UsageError`."""
    return ListenAddress(is_passed=True) if text == PASSED else parse_address(text)


def bind_sockets(address: ListenAddress, option: str = "--addr") -> list[socket.socket]:
    """Listening sockets. Raises `CallsheetError` that says why the address cannot be had."""
    if address.is_passed:
        return [start_listening(socket.socket(fileno=descriptor)) for descriptor in address.descriptors]
    try:
        return [_bind_unix(address.path)] if address.path else _bind_tcp(address)
    except socket.gaierror as error:
        raise UsageError(f"{option}: no such host: {address.hosts[0]} ({error.strerror})") from None
    except OSError as error:
        where = address.path or f"port {address.port} of {address.hosts[0]}"
        hint = _what_is_there(address.path) if error.errno == errno.EADDRINUSE else None
        raise CallsheetError(f"cannot listen on {where}: {error.strerror}", hint=hint) from None


def _what_is_there(path: str) -> str:
    is_socket = not path
    with contextlib.suppress(OSError):  # a link to nothing
        is_socket = is_socket or stat.S_ISSOCK(os.stat(path).st_mode)
    return "another program listens there" if is_socket else "another file is there: move it away, or name another path"


def _bind_tcp(address: ListenAddress) -> list[socket.socket]:
    first = _bind_one(address.hosts[0], address.port)
    sockets = [first]
    for host in address.hosts[1:]:
        with contextlib.suppress(OSError):  # a host without IPv6
            sockets.append(_bind_one(host, first.getsockname()[1]))
    return sockets


def _bind_one(host: str, port: int) -> socket.socket:
    family, _, _, _, name = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return start_listening(_bound_socket(family, name))


def _bound_socket(family: socket.AddressFamily, name: tuple[Any, ...], *, is_shared: bool = False) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if is_shared and sys.platform == "linux":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(name)
    except OSError:
        sock.close()
        raise
    return sock


def start_listening(sock: socket.socket) -> socket.socket:
    try:
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)  # noqa: FBT003 - its only form
    return sock


def supports_reuse_port() -> bool:
    """Whether the system spreads connections over sockets that are bound to the same port. Linux does."""
    return sys.platform == "linux"


def bind_for_workers(address: ListenAddress) -> list[socket.socket]:
    """What workers listen on: bound and listening, or, where ports are shared, bound only, to hold them.

    Raises as `bind` does, also where another listener shares the port already.
    """
    sockets = bind_sockets(address)
    if address.path or address.is_passed or not supports_reuse_port():
        return sockets
    names = [(each.family, each.getsockname()) for each in sockets]
    for each in sockets:
        each.close()
    return [shared_socket(family, name) for family, name in names]


def shared_socket(family: socket.AddressFamily, name: tuple[Any, ...]) -> socket.socket:
    """Bound beside others of the same user; connections are spread over those that listen."""
    try:
        return _bound_socket(family, name, is_shared=True)
    except OSError as error:
        raise CallsheetError(f"cannot listen on port {name[1]} of {name[0]}: {error.strerror}") from None


def _bind_unix(path: str) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise UsageError("--addr: this system does not support unix sockets")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        sock.bind(path)
        os.chmod(path, 0o660)
    except OSError:
        sock.close()
        raise
    return start_listening(sock)


def _remove_stale(path: str) -> None:
    """Take away a socket that a killed process left; one that still answers, or another file, stays."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.remove(path)


def urls_of_sockets(sockets: list[socket.socket], scheme: str) -> list[str]:
    """The bound addresses as a person would type them."""
    urls_found = []
    for sock in sockets:
        name = sock.getsockname()
        if isinstance(name, str):
            urls_found.append(f"unix:{name}")
        else:
            host = f"[{name[0]}]" if ":" in name[0] else name[0]
            urls_found.append(f"{scheme}://{host}:{name[1]}")
    return urls_found


# What passes between a service and its manager, as systemd has it: sockets that are open already, and word when
# ready.
#
# See sd_listen_fds(3) and sd_notify(3). Both work through variables of the environment. They are taken out of it, so
# that no program that is started from here believes that it is meant.

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
            hosts += _hosts_of_socket(sock, descriptor)
    return ListenAddress(tuple(hosts), descriptors=descriptors, is_passed=True)


def _hosts_of_socket(sock: socket.socket, descriptor: int) -> list[str]:
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

    def notify_ready(self) -> None:
        if self._path.startswith(("/", "@")) and hasattr(socket, "AF_UNIX"):
            name = f"\0{self._path[1:]}" if self._path.startswith("@") else self._path
            # A manager that has gone must not end the service.
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.sendto(b"READY=1", name)
