"""Ids in tables under the names that people know, and what happens when these cannot be read."""

from __future__ import annotations

from pathlib import Path

from support.cases import environment, run_program
from support.server import exchange, reply, serve

PAGES = {"results": [{"id": "1", "title": "One", "spaceId": "7"}, {"id": "2", "title": "Two", "spaceId": "8"}]}
LIST = exchange("GET", "/wiki/api/v2/pages", reply(json=PAGES), repeat=None)


def test_an_id_that_nobody_knows_stays(tmp_path: Path) -> None:
    known = {"results": [{"id": "7", "key": "DOC"}]}
    spaces = exchange("GET", "/wiki/api/v2/spaces", reply(json=known), query=["ids=7", "ids=8", "limit=250"])
    with serve([LIST, spaces], trusted=True) as server:
        argv = ["pages", "list", "--columns", "id,space"]
        done = run_program("suite", argv, environment(tmp_path / "home", server.url))
    assert (done.exit, done.stdout, done.stderr) == (0, b"ID  SPACE\n1   DOC\n2   8\n", "")


def test_a_table_is_shown_where_names_are_refused(tmp_path: Path) -> None:
    spaces = exchange("GET", "/wiki/api/v2/spaces", reply(403, json={"message": "no"}))
    with serve([LIST, spaces], trusted=True) as server:
        argv = ["pages", "list", "--columns", "id,space"]
        done = run_program("suite", argv, environment(tmp_path / "home", server.url))
    assert (done.exit, done.stdout) == (0, b"ID  SPACE\n1   7\n2   8\n")
    assert done.stderr.startswith("note: some names could not be read, so ids are shown: ")


def test_programs_get_ids(tmp_path: Path) -> None:
    with serve([LIST], trusted=True) as server:
        environ = environment(tmp_path / "home", server.url)
        done = run_program("suite", ["pages", "list", "--columns", "id,space", "-o", "csv"], environ)
    assert done.stdout == b"ID,SPACE\n1,7\n2,8\n"
