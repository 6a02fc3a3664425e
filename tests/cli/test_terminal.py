"""A session at a real terminal: questions are asked there, and answered there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.cases import environment, run_program
from support.server import exchange, reply, serve
from support.terminal import at_terminal, in_shell

pytest.importorskip("pty")

SUITE = [sys.executable, "-m", "callsheet", "suite"]


@pytest.mark.parametrize(("answer", "code", "sent"), [("y", 0, 1), ("n", 2, 0), ("", 2, 0)])
def test_a_deletion_is_asked_for(answer: str, code: int, sent: int, tmp_path: Path) -> None:
    delete = exchange("DELETE", "/rest/api/3/issue/DEMO-1", reply(204), repeat=None)
    with serve([delete], trusted=True) as server:
        environ = {**environment(tmp_path / "home", server.url), "NO_COLOR": "1"}
        exit_code, shown = at_terminal([*SUITE, "issues", "delete", "DEMO-1"], environ, answer)
        assert (exit_code, len(server.requests)) == (code, sent), shown
    assert "Delete issue DEMO-1? [y/N]" in shown


def test_long_lists_show_a_bar_where_a_person_watches(tmp_path: Path) -> None:
    pages = [
        exchange(
            "GET",
            "/rest/api/3/project/search",
            reply(
                json={"startAt": at, "maxResults": 2, "total": 4, "values": [{"key": f"P{at}"}, {"key": f"P{at + 1}"}]}
            ),
            query=query,
        )
        for at, query in ((0, ["expand=lead", "maxResults=100"]), (2, ["expand=lead", "maxResults=100", "startAt=2"]))
    ]
    with serve(pages, trusted=True) as server:
        environ = {**environment(tmp_path / "home", server.url), "NO_COLOR": "1", "TERM": "xterm"}
        out = tmp_path / "out"
        line = f"{sys.executable} -m callsheet suite projects list --all -o id > {out}"
        code, shown = in_shell(line, environ)
    assert (code, out.read_text(encoding="utf-8")) == (0, "P0\nP1\nP2\nP3\n")
    assert "items" in shown
    assert "4/4" in shown


def test_nothing_is_shown_beside_the_result_where_nobody_watches(tmp_path: Path) -> None:
    page = {"startAt": 0, "maxResults": 1, "total": 2, "values": [{"key": "P0"}]}
    rest = {**page, "startAt": 1, "values": [{"key": "P1"}]}
    script = [exchange("GET", "/rest/api/3/project/search", reply(json=each)) for each in (page, rest)]
    with serve(script, trusted=True) as server:
        done = run_program(
            "suite", ["projects", "list", "--all", "-o", "id"], environment(tmp_path / "home", server.url)
        )
    assert (done.exit, done.stdout, done.stderr) == (0, b"P0\nP1\n", "")
