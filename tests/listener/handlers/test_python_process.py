"""Python functions that take too long: ended in a process of their own, counted and told of in the listener's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.handlers import HandlerContext, HandlerFailed
from callsheet.listener.handlers import python_handler as python_process
from callsheet.listener.handlers.python_handler import Python
from callsheet.listener.verify.event import Event
from callsheet.listener.verify.source import Source
from support.listening import SECRET, Listener, event, listening, until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="looks at processes with ps")]
SOURCE = Source("s", {"title": "s", "path": "/s", "type": "payload.t", "id": "payload.id", "body": "payload"}, [], None)
FUNCTIONS = """
import asyncio, json, os, subprocess, sys, time

def note(record, text):
    with open(record["body"]["to"], "a", encoding="utf-8") as file:
        file.write(json.dumps(text) + "\\n")

def plain(record):
    print("printed")
    sys.stdin.read()
    body = record["body"]
    note(record, [os.getpid(), repr(body["large"]), str(body["exact"]), sys.argv, sorted(os.environ)])

async def slowly(record):
    await asyncio.sleep(0)
    note(record, os.getpid())

def hang(record):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    note(record, [os.getpid(), child.pid])
    time.sleep(60)

def wrapped(record):
    return slowly(record)

def later(record):
    return (note(record, text) for text in "ab")

def raises(record):
    raise ValueError("not today")

def leaves(record):
    sys.exit()

def dies(record):
    os._exit(7)

def forged(record):
    os.write(1, b"null\\n")
    raise SystemExit
"""


def made(folder: Path, name: str, **more: Any) -> Callable[..., Any]:
    """Runs a function of the module, in a loop of its own; returns what it noted."""
    import asyncio

    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    environ = {**os.environ, "A_SECRET": SECRET}
    context = HandlerContext(str(folder), environ, frozenset({"A_SECRET"}), print, 30.0, lambda *_, **__: 0)
    table: Any = {"handler": "python", "call": f"functions:{name}", "process": True, **more}
    handler = Python(table, context)
    to = folder / "noted"

    def run(times: int = 1) -> list[Any]:
        async def runs() -> None:
            try:
                for _ in range(times):
                    text = json.dumps({"t": "t", "id": 1, "to": str(to), "large": 21070000000000145})
                    data = text.replace("}", ', "exact": 5.50}').encode()
                    from callsheet.listener.verify.payload import parse_payload

                    await handler.run(Event(SOURCE, parse_payload(data), [], b"", data, data), "j")
            finally:
                await handler.close()

        asyncio.run(runs())
        return [json.loads(line) for line in to.read_text(encoding="utf-8").splitlines()]

    return run


@pytest.fixture(autouse=True)
def _modules_of_its_own() -> Any:
    yield
    sys.modules.pop("functions", None)
    sys.path[:] = [place for place in sys.path if "test_python_process" not in place and "pytest-of" not in place]


def test_one_process_serves_many_events_exactly_and_sees_no_secret(tmp_path: Path) -> None:
    first, second = made(tmp_path, "plain")(2)
    assert first == second
    process, large, exact, words, variables = first
    assert process != os.getpid()
    assert (large, exact) == ("21070000000000145", "5.50")
    assert "A_SECRET" not in variables
    assert SECRET not in str(words)
    assert not is_running(process)


@pytest.mark.parametrize("name", ["slowly", "wrapped"])
def test_an_async_function_keeps_its_loop(name: str, tmp_path: Path) -> None:
    noted = made(tmp_path, name)(3)
    assert (len(noted), len(set(noted))) == (3, 1)


def test_what_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    with pytest.raises(HandlerFailed, match="no result after"):
        made(tmp_path, "hang", timeout="2s")()
    ((process, child),) = [json.loads(line) for line in (tmp_path / "noted").read_text(encoding="utf-8").splitlines()]
    until(lambda: not is_running(process) and not is_running(child), "the end of both")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "ValueError: not today"),
        ("later", "it returned a generator"),
        ("leaves", "SystemExit"),
        ("dies", "its process ended with exit code 7"),
        ("forged", "SystemExit"),
    ],
)
def test_whatever_it_does_it_fails_alone(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HandlerFailed, match=said):
        made(tmp_path, name)()


def test_processes_without_work_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setattr(python_process, "IDLE_TIMEOUT", 0.05)
    (tmp_path / "functions.py").write_text("def quick(record): pass\n", encoding="utf-8")

    async def idle() -> None:
        pool = python_process.PythonProcesses(
            {"call": "functions:quick", "folder": str(tmp_path), "wants_result": False}, dict(os.environ)
        )
        await pool.run(b"{}", 30)
        assert len(pool._idle) == 1
        while pool._idle:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)

    asyncio.run(idle())


def is_running(process: int) -> bool:
    words = ["ps", "-o", "stat=", "-p", str(process)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


STUCK = 'import time, pathlib\ndef held(record):\n    while not pathlib.Path("go").exists(): time.sleep(0.02)\n'
ROUTES = '[route.r]\ndo = [{ handler = "python", call = "stuck:held", timeout = "100ms", concurrency = 2 }]\n'


def overdue(listener: Listener) -> bool:
    return b'listener_handlers_overdue{handler="r/1"} 2.0' in listener.request("GET", "/metrics").body


def test_a_listener_whose_functions_do_not_end_says_so_and_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK, encoding="utf-8")
    with listening(tmp_path, "--metrics", routes=ROUTES) as listener:
        assert [listener.post(event(name)).status for name in "ab"] == [500, 500]
        listener.logged("none is free")
        assert overdue(listener)
        assert listener.request("GET", "/ready").status == 503
        (tmp_path / "go").touch()
        listener.logged("has a free place again")
        assert listener.request("GET", "/ready").status == 200
        assert listener.post(event("a")).status == 200


@pytest.mark.slow
def test_a_worker_whose_functions_do_not_end_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK, encoding="utf-8")
    with listening(tmp_path, "--workers", "2", "--inbox", "in.db", routes=ROUTES) as listener:
        listener.logged("ready: 2 workers")
        assert [listener.post(event(str(number))).status for number in range(8)] == [200] * 8
        listener.logged("is started again in")
        (tmp_path / "go").touch()
        until(lambda: listener.err.count(" 200 handled") >= 8, "all of them")
        assert listener.stop() == 0
