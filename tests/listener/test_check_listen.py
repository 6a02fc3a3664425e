"""`webhook check --listen`: what a listener with these options would do, and what would keep it from it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from support.keysets import jwk, key_server
from support.listening import run
from support.tls import Authority

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes of files, and ports, of POSIX")
WORDS = ("listen", "check")
ROUTES = '[route.low]\non = ["grade_*"]\nwhen = "body.score == \'60\'"\ndo = [{ handler = "append", file = "x" }]\n'


def rows(folder: Path, *arguments: str, code: int, **environ: str) -> dict[str, list[dict[str, Any]]]:
    done = run(folder, "check", "--listen", *arguments, "-o", "json", **environ)
    assert done.returncode == code, done.stderr + done.stdout
    found: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(done.stdout):
        found.setdefault(row["check"], []).append(row)
    return found


def test_what_would_be_served_verified_and_refused(tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(ROUTES, encoding="utf-8")
    certificate = Authority(tmp_path).certificate("localhost")
    with key_server(jwk("k1")) as keys:
        found = rows(
            tmp_path, "--addr", "127.0.0.1:0", "--routes", "routes.toml", "--tls-cert", str(certificate), "--inbox",
            "events.db", "--jwks-url", keys.url, "--source", "lms", "--source", "github", "--max-body", "5000", code=0,
            LMS_SECRET="a", GITHUB_WEBHOOK_SECRET="b",
        )  # fmt: skip
    assert found["address"][0]["detail"].startswith("https://127.0.0.1:")
    assert found["workers"][0]["detail"] == "1 process"
    assert found["certificate"][0]["status"] == "warn", "it ends within the hour"
    assert "1 secret or signed tokens (RS256)" in found["lms"][0]["detail"]
    assert found["lms keys"][0]["detail"] == "keys k1"
    assert "the id is not signed" in found["github"][0]["detail"]
    assert [row["status"] for row in found["route"]] == ["ok", "warn"]
    assert "bodies over 5000 bytes (413)" in found["limits"][0]["detail"]
    assert not (tmp_path / "events.db").exists(), "nothing is served, so nothing is made"


def test_what_would_not_work_is_named(tmp_path: Path) -> None:
    (tmp_path / "not.db").write_text("this is a text", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        found = rows(tmp_path, "--addr", where, "--inbox", "not.db", "--tls-cert", "none.pem", code=1, LMS_SECRET="")
    assert {name: each[0]["status"] for name, each in found.items()} == {
        "address": "fail", "workers": "ok", "certificate": "fail", "inbox": "fail", "sources and routes": "fail",
    }  # fmt: skip
    assert "another program listens there" in found["address"][0]["remedy"]
    assert "LMS_SECRET is set" in found["sources and routes"][0]["detail"]
    open_ = rows(tmp_path, "--addr", ":0", code=0)
    assert open_["lms"][0]["status"] == "warn"
    assert "any program on this host can send events" in open_["lms"][0]["detail"]


def test_every_option_of_listen_can_be_checked() -> None:
    catalog = open_catalog("lms", os.environ)
    try:
        listen, check = ({each["name"] for each in catalog.commands.get(f"webhook {word}")["params"]} for word in WORDS)
    finally:
        catalog.close()
    assert listen <= check


def test_an_option_of_listen_alone_has_no_meaning(tmp_path: Path) -> None:
    done = run(tmp_path, "check", "--addr", ":9")
    assert (done.returncode, "--addr needs --listen" in done.stderr) == (2, True)


def test_an_option_without_its_value_is_refused(tmp_path: Path) -> None:
    for words in (["check", "--listen", "--inbox="], ["check", "--events="], ["work", "--queue=", "--handler", "true"]):
        done = run(tmp_path, *words, LMS_QUEUE="nats://127.0.0.1:9/EVENTS")
        assert (done.returncode, "is empty" in done.stderr) == (2, True), words


def test_an_inbox_that_listen_refuses_is_refused_here_too(tmp_path: Path) -> None:
    other, folder = tmp_path / "other.db", tmp_path / "folder"
    folder.mkdir()
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    (tmp_path / "empty.db").touch()
    before = other.read_bytes()
    for name, said in (("other.db", "is a database, but not an inbox"), ("folder", "is a directory")):
        (row,) = rows(tmp_path, "--addr", "127.0.0.1:0", "--inbox", name, code=1)["inbox"]
        assert row["status"] == "fail"
        assert said in row["detail"]
    assert rows(tmp_path, "--addr", "127.0.0.1:0", "--inbox", "empty.db", code=0)["inbox"][0]["status"] == "ok"
    assert other.read_bytes() == before
    assert not list(tmp_path.glob("*.db-*"))


def test_options_that_exclude_each_other_are_refused_here_too(tmp_path: Path) -> None:
    queue = ("--inbox", "in.db", "--queue", "nats://127.0.0.1:1/EVENTS")
    (row,) = rows(tmp_path, "--addr", "127.0.0.1:0", *queue, code=1)["sources and routes"]
    assert row["detail"] == "--queue and --inbox cannot be used together"


TWINS = """
[source.first]
title = "First"
path = "/same"
type = "payload.type"
[source.second]
title = "Second"
path = "/same"
type = "payload.type"
"""


@pytest.mark.parametrize("words", [("check",), ("check", "--listen", "--addr", ":0"), ("listen", "--addr", ":0")])
def test_two_sources_of_one_path_are_named(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.toml").write_text(TWINS, encoding="utf-8")
    given = ("--source", "first", "--source", "second", "--insecure")
    done = run(tmp_path, *words, *given[: 4 if words == ("check",) else 5], LMS_DEFINITIONS=str(tmp_path / "own"))
    assert done.returncode in (1, 2)
    said = " ".join((done.stderr + done.stdout).split())
    assert "source 'first' is at this path already" in said
