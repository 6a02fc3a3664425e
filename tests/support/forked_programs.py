"""Our programs in a shell, each forked from one process that has the engine loaded: hundreds of starts cost little.

A launcher on the `PATH` hands its streams, words, folder and environment over, passes signals on, and ends with the
program's exit code. What the engine does is what it does when a person starts it.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

_TESTS = Path(__file__).resolve().parent.parent
_SCRIPTS = os.path.dirname(sys.executable)
_INTERPRETER = "interpreter"
_LAUNCHER = """#!{python} -IS
# callsheet launcher: {name}
import _socket, marshal, os, signal, sys
name, words = {name!r}, sys.argv[1:]
if not name:  # the interpreter: of a program that starts another one of ours
    code = words[2] if words[:2] == ["-P", "-c"] else ""
    if "cli.entry import start; start(" not in code:  # `installation.start_code`
        os.execv({python!r}, [{python!r}, *words])
    name, words = code.rpartition("start(")[2].strip("()'"), words[3:]
here = _socket.socket(_socket.AF_UNIX)
here.connect({address!r})
told = marshal.dumps((name, words, os.getcwd(), dict(os.environ)))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
here.sendmsg([len(told).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
while told:
    told = told[here.send(told):]
process = int.from_bytes(here.recv(4), "big")
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, lambda number, _: os.kill(process, number))
os._exit((here.recv(1) or b"\\x01")[0])
"""


@contextlib.contextmanager
def forked_programs(directory: Path, names: Sequence[str], cache: Path) -> Iterator[None]:
    """Put a launcher for each program into `directory`, which a test puts on its `PATH`."""
    with (
        tempfile.TemporaryDirectory(prefix="callsheet-", dir="/tmp") as short,  # a socket's path has some 100 bytes
        _served(os.path.join(short, "socket"), directory, names, cache),
    ):
        yield


@contextlib.contextmanager
def _served(address: str, directory: Path, names: Sequence[str], cache: Path) -> Iterator[None]:
    for name in [*names, ""]:
        launcher = directory / f"{name or _INTERPRETER}.py"
        launcher.write_text(_LAUNCHER.format(python=sys.executable, address=address, name=name), encoding="utf-8")
        launcher.chmod(0o755)
        # A link to a launcher is one of ours, and nothing that removing a program would take away.
        (directory / (name or _INTERPRETER)).symlink_to(launcher)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")])}
    environ |= {"CALLSHEET_CACHE": str(cache), "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES"}  # the last for macOS
    command = [sys.executable, "-m", "support.forked_programs", address, str(directory / _INTERPRETER)]
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == b"ready\n"
            yield
        finally:
            server.stdin.close()  # it ends when nobody holds this any more


# What these import is there when a program is forked. Nothing is sent.
_LOADED_BY = (
    "suite issues new --project DEMO --type Task --summary Loaded --description **Loaded** --dry-run",
    "suite convert --from markdown --to adf -o yaml",
    "suite op search sprint",
    "lms definitions check",
    "lms webhook check",
    "callsheet list",
)
_ALSO = (
    "callsheet.client.http.http_client",
    "callsheet.sites.credentials.encrypted",
    "callsheet.sites.credentials.encrypted",
    "callsheet.client.pagination.in_parallel",
    "callsheet.client.pagination.fetch_pages",
    "callsheet.listener.assemble",
    "encodings.idna",
    "uvicorn",
)


def load(lines: Sequence[str] = _LOADED_BY) -> None:
    import importlib
    import io
    import shlex

    from callsheet.cli.main import run

    for module in _ALSO:
        importlib.import_module(module)
    with tempfile.TemporaryDirectory() as home:
        environ = {"CALLSHEET_HOME": home, "HOME": home, "SUITE_BASE_URL": "http://127.0.0.1", "SUITE_METHOD": "none"}
        environ |= {"CALLSHEET_CACHE": os.environ["CALLSHEET_CACHE"]}
        for line in lines:
            said = io.StringIO()
            program, *words = shlex.split(line)
            code = run(program, words, environ=environ, stdin=io.StringIO(), stdout=said, stderr=said)
            assert code == 0, said.getvalue()


def _serve(address: str, interpreter: str) -> None:
    """`interpreter` starts what our programs start in their turn."""
    load()
    # A password is meant to cost time, which is not what these runs are about.
    sys.modules["callsheet.sites.credentials.encrypted"]._COST.update(memory=1024, iterations=1)
    import gc
    import select

    sys.executable = interpreter
    gc.freeze()  # a look at all that was loaded would copy it in every child

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            ready, _, _ = select.select([listening, 0], [], [], 1)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if 0 in ready:
                return
            if ready:
                connection, _ = listening.accept()
                if os.fork() == 0:
                    listening.close()
                    _attend(connection)
                connection.close()


def _attend(connection: socket.socket) -> None:
    """One start: a child runs the program, this process waits for it and tells how it ended."""
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    told = b""
    while len(told) < int.from_bytes(head, "big"):
        told += connection.recv(1 << 20)
    child = os.fork()
    if child == 0:
        connection.close()
        become(streams, *marshal.loads(told))
    for stream in streams:
        os.close(stream)
    connection.sendall(child.to_bytes(4, "big"))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def become(streams: Sequence[int], name: str, words: list[str], folder: str, environ: dict[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = [os.path.join(_SCRIPTS, name), *words]
    sys.orig_argv = [sys.executable, "-m", "callsheet", name, *words]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115 - they last as long as the process
    this = sys.modules["__main__"]
    this.__spec__ = None  # processes that the program starts in its turn look here for what to import
    del this.__file__
    from callsheet.cli.entry import start

    code = 1
    try:
        start(name)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
