"""The page of a listener: who may see it, what it says of deliveries, and what it changes."""

from __future__ import annotations

import json
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.recent_deliveries import RecentDeliveries
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.source import Source
from support.listener_page import PageOfListener, listening_with_page
from support.listening import SECRET, event, run, signature, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="reads the private file of a POSIX system")
HEADER = "X-Lms-Signature"


# What a page of ours never sends.
WRONG: list[tuple[str, Any, str]] = [
    *(("/api/replay", {"keys": keys}, "no events: expected a list") for keys in (5, None, [], [True], ["1"], {"1": 1})),
    ("/api/replay", [1], "expected an object"),
    ("/api/purge", {"state": "done", "older": "soon"}, "'soon' is not a time"),
    ("/api/purge", {"state": "done"}, "'None' is not a time"),
]


def newest(found: PageOfListener) -> dict[str, Any]:
    _, rows = found.ask("/api/deliveries")
    record: dict[str, Any] = found.ask(f"/api/delivery?number={rows[0]['number']}")[1]
    return record


@pytest.mark.slow
def test_deliveries_are_shown_with_their_reasons(tmp_path: Path) -> None:
    with listening_with_page(tmp_path) as (listener, found):
        assert listener.send(event("a", score=99)).status == 500
        shown = newest(found)
        assert [(route["route"], route["took"], route["why"]) for route in shown["routes"]] == [
            ("print", True, ""),
            ("high", True, ""),
            ("courses", False, "it takes the types course_*"),
        ]
        assert {run["job"]: (run["failure"], run["output"]) for run in shown["runs"]} == {
            "print/1": (None, ["printed"]),
            "high/1": ("ValueError: no such student", []),
        }
        assert listener.send(event("b", score=60)).status == 200
        assert newest(found)["routes"][1]["why"] == "its condition does not hold: body.score > `60`"
        body = event("c")
        wrong = signature(body, "another secret")
        assert listener.post(body, {HEADER: wrong, "Cookie": "a=b"}).status == 401
        shown = newest(found)
        assert [(step["ok"], step["text"][:30]) for step in shown["steps"]] == [
            (None, f"POST /webhook, {len(body)} bytes"),
            (True, f"signatures in {HEADER}: "[:30]),
            (None, f"{len(body)} bytes have to be signed (sha256): "[:30]),
            (False, "secret 1 does not match"),
        ]
        assert wrong[:12] in shown["steps"][1]["text"]
        assert SECRET not in json.dumps(shown)
        assert "cookie" not in dict(shown["headers"])
        assert listener.post(body, {"X-Other": "1"}).status == 401
        assert newest(found)["steps"][-1] == {"ok": False, "text": f"no {HEADER} header"}
        assert found.ask("/api/overview")[1]["minutes"][-1].keys() == {"start", "succeeded", "refused", "failed"}
        assert listener.stop() == 0
        assert "Warning" not in listener.err


@pytest.mark.slow
def test_only_who_has_the_token_sees_anything(tmp_path: Path) -> None:
    with listening_with_page(tmp_path) as (_, found):
        for path in ("/api/deliveries", "/api/overview", "/api/changes", "/api/nothing"):
            assert found._replace(token="x" * 43).ask(path)[0] == 401
            assert found._replace(token="").ask(path)[0] == 401
        assert found.ask("/api/deliveries", Host="evil.example")[0] == 421
        assert found.ask("/api/deliveries", Origin="https://evil.example")[0] == 403
        assert found.ask("/api/replay", {"keys": [1]})[0] == 404  # there is no inbox
        assert found.ask("/api/nothing")[0] == 404
        connection = HTTPConnection(found.host, timeout=30)
        connection.request("GET", "/")
        answer = connection.getresponse()
        policy = answer.getheader("content-security-policy") or ""
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert found.token not in answer.read().decode()
        connection.close()


@pytest.mark.slow
def test_events_of_an_inbox_are_run_again_and_deleted_under_the_policy(tmp_path: Path) -> None:
    with listening_with_page(tmp_path, "--inbox", "inbox.sqlite") as (listener, found):
        assert listener.send(event("a", "course_created")).status == 200
        done = until(lambda: found.ask("/api/events?state=done")[1], "the event is done")
        shown = found.ask(f"/api/event?key={done[0]['key']}&id=a")[1]
        assert shown["succeeded"] == []
        assert shown["payload"]["id"] == "a"
        assert newest(found)["runs"][0]["failure"] is None
        assert found.ask("/api/replay", {"keys": [done[0]["key"]]})[0] == 200
        until(lambda: len(newest(found)["runs"]) == 2, "it ran again")
        assert found.ask("/api/purge", {"state": "waiting", "older": "0s"}) == (
            400,
            {"error": "events that are waiting cannot be deleted", "hint": "expected done or dead"},
        )
        until(lambda: found.ask("/api/overview")[1]["inbox"]["counts"]["done"] == 1, "it is done again")
        assert found.ask("/api/purge", {"state": "done", "older": "1ms"}) == (200, 1)
        for path, given, said in WRONG:
            status, answer = found.ask(path, given)
            assert (status, answer["error"][: len(said)]) == (400, said)
        assert listener.stop() == 0
    with listening_with_page(tmp_path, "--inbox", "inbox.sqlite", LMS_POLICY="read-only") as (_, found):
        status, answer = found.ask("/api/purge", {"state": "done", "older": "1ms"})
        assert status == 403
        assert "inbox purge" in answer["error"]


@pytest.mark.slow
def test_changes_are_told_as_they_come(tmp_path: Path) -> None:
    with listening_with_page(tmp_path) as (listener, found):
        connection = HTTPConnection(found.host, timeout=30)
        connection.request("GET", "/api/changes", headers={"Authorization": f"Bearer {found.token}"})
        answer = connection.getresponse()
        assert answer.readline() == b"data: changed\n"
        assert answer.readline() == b"\n"
        assert listener.send(event("a", "course_created")).status == 200
        assert answer.readline() == b"data: changed\n"
        assert listener.stop() == 0  # it waits for nobody who looks
        connection.close()


def test_several_processes_have_no_page(tmp_path: Path) -> None:
    done = run(tmp_path, "listen", "--ui", "--workers", "2", "--insecure")
    assert done.returncode == 2
    assert "--ui shows the deliveries of one process" in done.stderr


def test_a_secret_that_is_sent_as_it_is_is_shown_nowhere() -> None:
    definition: Any = {"title": "s", "path": "/s", "type": "payload.t", "token": {"header": "X-Token", "env": "S"}}
    source = Source("s", definition, ["a-plain-secret"])
    recent = RecentDeliveries()
    sent = [(b"x-token", b"a-plain-secret"), (b"x-other", b"Token a-plain-secret"), (b"authorization", b"Basic x")]
    recent.add_refused(source, Rejected(400, "unreadable", "it"), "127.0.0.1", sent, b"", b'{"t": "a-plain-secret"}')
    shown = recent.find_delivery(1)
    assert shown is not None
    assert shown["headers"] == [["x-token", "(not shown)"], ["x-other", "Token (not shown)"]]
    assert shown["body"] == '{"t": "(not shown)"}'
    assert [step["text"] for step in shown["steps"]] == ["POST /s, 23 bytes", "secret 1 matches"]


def test_a_token_in_a_header_is_not_shown() -> None:
    class Tokens:
        header = "X-Token"

    class Receiving:
        name, proof, tokens = "s", None, Tokens()

    recent = RecentDeliveries()
    sent = [(b"x-token", b"a.b.c"), (b"x-other", b"1")]
    recent._add_delivery(Receiving(), "127.0.0.1", 200, "accepted", "", sent, b"{}")  # type: ignore[arg-type] # what is read of it
    assert (recent.find_delivery(1) or {})["headers"] == [["x-token", "(not shown)"], ["x-other", "1"]]


def test_a_port_that_is_none_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "inbox", "ui", "--inbox", "nowhere.sqlite", "--port", "99999")
    assert done.returncode == 2
    assert "no inbox at nowhere.sqlite" in done.stderr
    with listening_with_page(tmp_path, "--inbox", "inbox.sqlite") as (listener, _):
        done = run(tmp_path, "inbox", "ui", "--inbox", "inbox.sqlite", "--port", "99999")
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: --port: 99999 is not a port")
        assert listener.stop() == 0
