"""Programs that are started for events, watched by the loop where it can and by threads elsewhere."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.handlers import exec_handler as process
from callsheet.listener.handlers import process_start, process_watcher
from callsheet.listener.handlers.exec_handler import MAX_OUTPUT, Executable, Process
from callsheet.listener.server.server_process import new_event_loop
from support.listening import until
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="written for a POSIX shell")
BIG = b"x" * 1_000_000


@pytest.fixture(params=["loop", "threads"], autouse=True)
def _watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "threads":
        monkeypatch.setattr(process_watcher, "HAS_PIDFD", False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfds here")


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work())


async def shell(line: str, data: bytes = b"") -> Process:
    started = Process(["/bin/sh", "-c", line], None, dict(os.environ))
    await started.start_program(data)
    return started


def outcome(line: str, data: bytes = b"") -> tuple[int | None, bytes]:
    async def work() -> tuple[int | None, bytes]:
        started = await shell(line, data)
        assert await started.wait_until_ended(PATIENCE)
        return started.exit_code, await started.read_output()

    found: tuple[int | None, bytes] = run(work)
    return found


@pytest.mark.parametrize(
    ("line", "data", "code", "said"),
    [
        ("cat", b"an event\n", 0, b"an event\n"),
        ("wc -c", BIG, 0, b"1000000\n"),
        ("cat", BIG, 0, BIG[:MAX_OUTPUT]),
        ("true", BIG, 0, b""),
        ("exec 0<&-; sleep 0.1; echo no", BIG, 0, b"no\n"),
        ("echo out; echo err >&2; exit 3", b"", 3, b"out\nerr\n"),
        ("kill -9 $$", b"", -9, b""),
    ],
)
def test_a_program_gets_its_input_and_is_heard(line: str, data: bytes, code: int, said: bytes) -> None:
    assert outcome(line, data) == (code, said)


def test_what_is_printed_just_before_the_end_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "OUTPUT_TIMEOUT", 20.0)
    assert outcome("{ sleep 0.1; echo late; } & true") == (0, b"late\n")


def test_a_child_that_was_left_is_not_waited_for() -> None:
    begun = time.monotonic()
    assert outcome("sleep 30 & echo done") == (0, b"done\n")
    assert time.monotonic() - begun < 20


def test_stopping_ends_all_that_was_started(tmp_path: Path) -> None:
    async def work() -> tuple[int | None, bytes]:
        line = f"trap '' TERM; sleep 60 & echo $! > {tmp_path}/child; wait; sleep 60"
        started = await shell(line)
        await asyncio.to_thread(until, lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        await started.stop_group()
        return started.exit_code, await started.read_output()

    assert run(work) == (-9, b"")
    child = int((tmp_path / "child").read_text())
    until(lambda: not is_running(child))


def is_running(pid: int) -> bool:
    """A zombie that nobody has waited for yet has ended."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


def test_a_program_that_is_not_there_is_an_os_error() -> None:
    async def work() -> None:
        process = Process(["/no/such/program"], None, {})
        try:
            await process.start_program(b"")
        finally:
            assert not process.is_running
            assert await process.read_output() == b""

    with pytest.raises(FileNotFoundError):
        run(work)


def test_many_programs_leave_no_descriptor_open() -> None:
    async def work() -> None:
        async def one() -> None:
            started = await shell("cat", b"x")
            await started.wait_until_ended(PATIENCE)
            assert await started.read_output() == b"x"

        await asyncio.gather(*(one() for _ in range(20)))

    run(work)
    before = len(os.listdir("/dev/fd"))
    run(work)
    assert len(os.listdir("/dev/fd")) == before


def test_a_program_that_moved_is_found_again(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("first", "second")]
    for place in places:
        place.mkdir()
        (place / "tool").write_text(f"#!/bin/sh\necho {place.name}\n")
        (place / "tool").chmod(0o755)
    environ = {"PATH": os.pathsep.join(map(str, places))}
    executable = Executable(environ, {})

    printed: list[bytes] = []

    async def start(path: str | None) -> None:
        done = subprocess.run(["tool"], executable=path, env=environ, check=True, capture_output=True)  # noqa: ASYNC221 - nothing else runs in this loop
        printed.append(done.stdout)

    async def work() -> None:
        for _ in range(2):
            await executable.start_with_file("tool", start)
        (places[0] / "tool").unlink()
        await executable.start_with_file("tool", start)
        (places[1] / "tool").unlink()
        with pytest.raises(FileNotFoundError):
            await executable.start_with_file("tool", start)

    run(work)
    assert printed == [b"first\n", b"first\n", b"second\n"]


def test_where_an_event_chooses_the_path_nothing_is_remembered() -> None:
    found: list[str | None] = []

    async def start(path: str | None) -> None:
        found.append(path)

    async def work() -> None:
        await Executable({"PATH": os.defpath}, {"PATH": "{id}"}).start_with_file("sh", start)
        await Executable({"PATH": os.defpath}, {}).start_with_file("./sh", start)

    run(work)
    assert found == [None, None]


@pytest.mark.parametrize("missing", ["pidfd_open", "epoll"])
def test_a_program_is_watched_where_the_loop_cannot(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs already: calling that a failure would run it once more."""

    def fail(*_: Any) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os if missing == "pidfd_open" else process_watcher.select, missing, fail, raising=False)
    assert outcome("cat; exit 7", BIG) == (7, BIG[:MAX_OUTPUT])


def test_time_that_is_over_is_told_and_ends_nothing() -> None:
    async def work() -> tuple[bool, int | None]:
        started = await shell("sleep 60")
        in_time = await started.wait_until_ended(0.05)
        before = started.exit_code
        await started.stop_group()
        assert await started.read_output() == b""
        return in_time, before

    assert run(work) == (False, None)


@pytest.fixture(params=["spawned", "Popen"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How programs are started: where the system cannot spawn them, or not in the directory, in the other way."""
    if request.param == "Popen":
        monkeypatch.setattr(process_start, "_can_spawn", lambda: False)
    elif not hasattr(os, "posix_spawn"):
        pytest.skip("no posix_spawn here")
    way: str = request.param
    return way


STATE = "import os; print(os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), os.getcwd())"


@pytest.mark.parametrize("at_terminal", [True, False])
def test_each_way_of_starting_gives_a_program_the_same(
    at_terminal: bool, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group of its own always, and a session where there is a terminal that it must not reach."""
    monkeypatch.setattr(process_start, "has_terminal", lambda: at_terminal)

    async def work(directory: str | None) -> tuple[int | None, bytes]:
        words = [sys.executable, "-I", "-c", STATE + "; raise SystemExit(5)"]
        started = Process(words, directory, dict(os.environ))
        await started.start_program(b"")
        assert isinstance(started._started, subprocess.Popen) == (way == "Popen" or directory is not None)
        assert await started.wait_until_ended(PATIENCE)
        return started.exit_code, await started.read_output()

    assert run(lambda: work(None)) == (5, f"True {at_terminal} {os.getcwd()}\n".encode())
    assert run(lambda: work(str(tmp_path))) == (5, f"True {at_terminal} {os.path.realpath(tmp_path)}\n".encode())


def test_a_signal_that_python_ignores_ends_a_program(way: str) -> None:
    assert outcome("kill -PIPE $$; echo ignored") == (-13, b"")


def test_no_program_gets_what_the_listener_inherited(way: str) -> None:
    inherited = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inherited, True)  # noqa: FBT003 - its name says it
    if way == "spawned":
        process_start._can_spawn.cache_clear()
    try:
        assert outcome("ls /dev/fd | wc -l; cat", b"in")[1].split() in ([b"4", b"in"], [b"3", b"in"])
    finally:
        os.close(inherited)


def test_each_way_of_starting_refuses_alike(way: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")

    async def work(word: str, environ: dict[str, str]) -> None:
        await Process([word], None, environ).start_program(b"")

    with pytest.raises(FileNotFoundError):
        run(lambda: work(f"{tmp_path}/missing", {}))
    with pytest.raises(PermissionError):
        run(lambda: work(f"{tmp_path}/plain", {}))
    with pytest.raises(ValueError, match="null"):
        run(lambda: work("/bin/a\0b", {}))


@pytest.mark.slow
@pytest.mark.parametrize("at_terminal", [True, False])
def test_no_program_can_ask_at_the_terminal_of_the_listener(at_terminal: bool) -> None:
    """A process that leads a session of its own gets the terminal whose file it opens; else it has none."""
    primary, secondary = os.openpty()
    lines = [
        "import asyncio, os",
        "from callsheet.listener.handlers.exec_handler import Process",
        f"os.setsid(); os.close(os.open({os.ttyname(secondary)!r}, os.O_RDWR))" if at_terminal else "os.setsid()",
        "async def work():",
        "    program = Process(['/bin/sh', '-c', 'echo asked > /dev/tty || echo kept away'], None, dict(os.environ))",
        "    await program.start_program(b'')",
        "    await program.wait_until_ended(20)",
        "    print((await program.read_output()).decode())",
        "asyncio.run(work())",
    ]
    try:
        done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    finally:
        os.close(primary)
        os.close(secondary)
    assert done.stdout.strip().endswith("kept away"), done
