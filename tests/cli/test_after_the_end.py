"""Pages that were asked for ahead of time say nothing once a command has ended, whatever ended it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from support.fakesite import EMAIL, TOKEN
from support.listening import until
from support.server import Exchange, exchange, reply, serve
from support.shell import Shell

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to another process there")

PATH = "/rest/agile/1.0/board"


def page(start: int, **more: Any) -> Exchange:
    values = [{"id": start + number, "name": "Crew"} for number in range(2)]
    answer = {"startAt": start, "maxResults": 2, "total": 2000, "values": values}
    query = ["maxResults=2", f"startAt={start}"] if start else ["maxResults=100"]
    return exchange("GET", PATH, reply(**{"json": answer, **more}), query=query)


def reader_leaves(process: subprocess.Popen[str]) -> None:
    assert process.stdout
    assert process.stdout.readline()
    process.stdout.close()


def interrupt(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)


# The third page decides how it ends; those that were asked for beside it are under way for a while.
ENDS: dict[str, tuple[dict[str, Any], Callable[[subprocess.Popen[str]], None] | None, int, str]] = {
    "the reader leaves": ({"delay": 1.0}, reader_leaves, 0, ""),
    "Ctrl-C": ({"delay": 5.0}, interrupt, 130, ""),
    "a page that fails": ({"status": 400, "json": {"errorMessages": ["no more"]}}, None, 1, "no more"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ENDS)
def test_nothing_is_said_after_the_end(how: str, shell: Shell) -> None:
    third, end, code, told = ENDS[how]
    script = [page(0), page(2), page(4, **third), *(page(start, delay=2.5) for start in range(6, 60, 2))]
    with serve(script, verify=False) as server:
        server.trusted = True
        environ = {"SUITE_BASE_URL": server.url, "SUITE_EMAIL": EMAIL, "SUITE_TOKEN": TOKEN}
        with shell.start("op", "call", "getAllBoards", "--all", "-o", "ndjson", **environ) as process:
            until(lambda: len(server.requests) >= 8 or process.poll() is not None, "what is asked for ahead")
            if end is not None:
                end(process)
            assert process.stderr
            errors = process.stderr.read()
        assert process.returncode == code
    assert [line for line in errors.splitlines() if line and (not told or told not in line)] == []
