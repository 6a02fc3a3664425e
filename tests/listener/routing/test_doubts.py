"""What `webhook check` warns of in handlers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.handlers import HandlerContext
from callsheet.listener.handlers.append_handler import Append
from callsheet.listener.handlers.exec_handler import HandlerProgram
from callsheet.listener.route_set import doubts_of_handlers
from support.listening import listening, run

DASHES = "put '--' before it"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs of POSIX")


def scripts(folder: Path) -> None:
    for name, mode in (("there.sh", 0o755), ("text.txt", 0o644)):
        (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / name).chmod(mode)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cat", "{body.user}"], DASHES),
        (["cat", "{body.user}.txt", "--", "{body.user}"], DASHES),
        (["cat", "--", "{body.user}"], None),
        (["cat", "--user={body.user}", "user {id}"], None),
        (["./missing.sh"], "there is no program './missing.sh'"),
        (["no-such-program-anywhere"], "there is no program 'no-such-program-anywhere'"),
        (["./there.sh"], None),
        (["./text.txt"], "cannot be executed"),
    ],
)
def test_words_that_could_be_options_and_programs_that_are_not_there(
    words: list[str], said: str | None, tmp_path: Path
) -> None:
    scripts(tmp_path)
    context: Any = HandlerContext(str(tmp_path), {"PATH": os.environ["PATH"]}, frozenset(), print, 10.0, lambda *_: 0)
    quiet, told = (
        SimpleNamespace(configuration_warnings=list),
        HandlerProgram({"handler": "exec", "run": words}, context),
    )
    routes = [
        SimpleNamespace(jobs=[SimpleNamespace(id="a/1", handler=quiet)]),
        SimpleNamespace(jobs=[SimpleNamespace(id="r/1", handler=quiet), SimpleNamespace(id="r/2", handler=told)]),
    ]
    rules: Any = SimpleNamespace(jobs=[job for route in routes for job in route.jobs])
    found = doubts_of_handlers(rules)
    assert len(found) == (said is not None)
    if said is not None:
        assert found[0].startswith("handler r/2: run: ")
        assert said in found[0]


@pytest.mark.parametrize(
    ("kind", "table", "said"),
    [
        (HandlerProgram, {"run": ["cat"], "dir": "gone"}, ["dir: there is no folder", "gone"]),
        (HandlerProgram, {"run": ["cat"], "dir": "folder"}, []),
        (Append, {"file": "gone/lines"}, ["file: there is no folder", "gone"]),
        (Append, {"file": "folder"}, ["file: ", "is a folder"]),
        (Append, {"file": "folder/lines"}, []),
    ],
)
def test_folders_that_are_not_there(kind: Any, table: dict[str, Any], said: list[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    context: Any = HandlerContext(str(tmp_path), {"PATH": os.environ["PATH"]}, frozenset(), print, 10.0, lambda *_: 0)
    found = kind({"handler": "h", **table}, context).configuration_warnings()
    assert len(found) == bool(said)
    assert all(words in found[0] for words in said)


@pytest.mark.parametrize("script", ["./there.sh", "./text.txt"])
def test_the_command_says_them(script: str, tmp_path: Path) -> None:
    scripts(tmp_path)
    routes = f'[route.r]\ndo = [{{ handler = "exec", run = ["{script}"] }}]\n'
    (tmp_path / "routes.toml").write_text(routes, encoding="utf-8")
    done = run(tmp_path, "check", "--routes", "routes.toml")
    is_fine = script == "./there.sh"
    assert done.returncode == 0
    assert done.stderr.count("warning: handler r/1: run: ") == (not is_fine)
    assert ("no problems" in done.stdout) is is_fine


def test_a_listener_says_them_when_it_starts_and_when_it_reads_its_routes_again(tmp_path: Path) -> None:
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./late.sh"] }]\n'
    with listening(tmp_path, routes=routes) as listener:
        listener.logged("warning: handler r/1: run: there is no program './late.sh'")
        (tmp_path / "routes.toml").write_text(routes.replace("late", "later"), encoding="utf-8")
        listener.process.send_signal(signal.SIGHUP)
        listener.logged("warning: handler r/1: run: there is no program './later.sh'")
