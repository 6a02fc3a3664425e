"""The same commands give the same results on the sandbox and on a data center that others wrote (`jira820`)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.places import CASES
from support.scripted import Script, steps
from support.simulated import serving
from support.waiting import PATIENCE

STEPS = steps(CASES / "week" / "acceptance.toml", "datacenter")
SERVER = """
import socket, uvicorn
from jira820 import make_app
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(make_app(), log_level="critical", access_log=False)).run(sockets=[listening])
"""


@contextmanager
def jira820() -> Iterator[str]:
    """Its address. Its own program listens on a fixed port, so its application is served here."""
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def wrong(url: str, project: str, home: Path, cache: Path, *, elsewhere: bool = False) -> list[str]:
    script = Script(url, "datacenter", home, cache, {"robin": "robin"})
    script.kept |= {"project": project, "board": "1"}
    return list(script.wrong(STEPS, elsewhere=elsewhere))


def test_the_sandbox_does_what_is_expected(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    answers: set[str] = set()
    with serving(deployment="datacenter", wrong=answers) as url:
        assert wrong(url, "DEMO", tmp_path, tmp_path_factory.getbasetemp() / "shared-cache") == []
    assert answers == set()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jira820") is None, reason="jira820 is not installed")
def test_so_does_a_server_that_others_wrote(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with jira820() as url:
        cache = tmp_path_factory.getbasetemp() / "shared-cache"
        assert wrong(url, "JIRA820", tmp_path, cache, elsewhere=True) == []
