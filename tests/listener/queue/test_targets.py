"""Each target of an event has a schedule and a rate of its own, and none holds up another."""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.listening import event, listening, run, until
from support.server import exchange, reply, serve

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"), pytest.mark.slow]

SOON = '[extend.listener.webhook]\nbackoff = "100ms"\nbackoff_max = "200ms"\n'


def listed(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    done = run(folder, "inbox", *arguments, "--inbox", "in.db", "-o", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def written(folder: Path, name: str = "got") -> list[str]:
    path = folder / name
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def test_each_target_is_tried_by_its_own_schedule_and_replayed_alone(tmp_path: Path) -> None:
    routes = """[route.r]
do = [
  { handler = "exec", name = "short", run = ["sh", "-c", "echo x >> short; test -e mended"], max_attempts = 2 },
  { handler = "exec", name = "long", run = ["sh", "-c", "echo x >> long; test -e there"], max_attempts = 100 },
  { handler = "append", name = "file", file = "got", send = "{id}" },
]
"""
    with listening(tmp_path, "--inbox", "in.db", routes=routes, definitions=SOON) as listener:
        assert listener.post(event("a")).status == 200
        until(lambda: len(written(tmp_path, "long")) >= 5, "five attempts")
        assert (len(written(tmp_path, "short")), written(tmp_path)) == (2, ["a"])
        (dead,) = listed(tmp_path, "list", "--target", "r/short")
        assert (dead["id"], dead["state"], dead["attempts"], dead["error"]) == ("a", "dead", 2, "exit code 1")
        (waits,) = listed(tmp_path, "list", "--target", "r/long", "--state", "waiting")
        assert waits["attempts"] >= 4
        assert listed(tmp_path, "list", "--target", "r/long", "--state", "dead") == []

        (tmp_path / "there").touch()
        listener.logged("500 given_up")
        (whole,) = listed(tmp_path, "dead")
        assert whole["error"] == "r/short: exit code 1"
        shown = json.loads(run(tmp_path, "inbox", "show", "a", "--inbox", "in.db", "-o", "json").stdout)
        assert shown["succeeded"] == ["r/file", "r/long"]
        assert [(each["target"], each["due"]) for each in shown["targets"]] == [("r/short", None)]

        (tmp_path / "mended").touch()
        before = len(written(tmp_path, "long"))
        listed(tmp_path, "replay", "--state", "dead", "--target", "r/short")
        listener.logged("200 handled")
        assert (len(written(tmp_path, "short")), len(written(tmp_path, "long"))) == (3, before)

        listed(tmp_path, "replay", "a", "--target", "r/file")
        until(lambda: written(tmp_path) == ["a", "a"], "the one target of an event that was done")
        until(lambda: [row["state"] for row in listed(tmp_path, "list")] == ["done"], "its end")
        assert (len(written(tmp_path, "short")), len(written(tmp_path, "long"))) == (3, before)


def test_targets_that_hang_or_are_down_leave_places_to_others(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as hangs:
        port = hangs.getsockname()[1]
        routes = f"""[route.hangs]
do = [{{ handler = "forward", url = "http://127.0.0.1:{port}/in", timeout = "1h" }}]
[route.down]
do = [{{ handler = "forward", url = "http://127.0.0.1:1/in", circuit = {{ failures = 2, pause = "1h" }} }}]
[route.works]
do = [
  {{ handler = "append", file = "got", send = "{{id}}" }},
  {{ handler = "exec", run = ["sh", "-c", "echo $EVENT_ID >> ran"] }},
]
"""
        few = "[extend.listener.webhook]\nconcurrency = 4\ndrain_timeout = '100ms'\n"
        with listening(tmp_path, "--inbox", "in.db", routes=routes, definitions=few) as listener:
            for number in range(40):
                assert listener.post(event(str(number))).status == 200
            everything = {str(number) for number in range(40)}
            until(
                lambda: set(written(tmp_path)) == set(written(tmp_path, "ran")) == everything,
                "all at the target that works",
            )
            states = {
                row["attempts"] for row in listed(tmp_path, "list", "--target", "down/1") if "not run" in row["error"]
            }
            assert max(states) <= 2, "what was not tried counts as no attempt"
            listener.stop()
    assert (
        sorted(written(tmp_path), key=int) == sorted(written(tmp_path, "ran"), key=int) == sorted(everything, key=int)
    )


def test_a_target_gets_events_at_its_rate_and_others_at_once(tmp_path: Path) -> None:
    with serve([exchange("POST", "/in", reply(204), repeat=6)]) as server:
        routes = f"""[route.r]
do = [
  {{ handler = "forward", url = "{server.url}/in", rate = "5/s" }},
  {{ handler = "append", file = "got", send = "{{id}}" }},
]
"""
        with listening(tmp_path, "--inbox", "in.db", routes=routes) as listener:
            started = time.monotonic()
            for number in range(6):
                assert listener.post(event(str(number))).status == 200
            until(lambda: len(written(tmp_path)) == 6, "all at the other target")
            until(lambda: len(server.requests) == 6, "all at the target with a rate")
            assert time.monotonic() - started >= 0.85, "five turns of 200 ms, of which 100 ms may be made up for"
            until(lambda: {row["state"] for row in listed(tmp_path, "list")} == {"done"}, "all done")
            assert {row["attempts"] for row in listed(tmp_path, "list")} == {1}


def test_without_an_inbox_a_sender_waits_for_the_rate_or_is_sent_away(tmp_path: Path) -> None:
    routes = '[route.r]\ndo = [{ handler = "append", file = "got", send = "{id}", rate = "1/h" }]\n'
    quick = '[extend.listener.webhook]\nqueue_timeout = "100ms"\n'
    with listening(tmp_path, routes=routes, definitions=quick) as listener:
        assert [listener.post(event(id)).status for id in "ab"] == [200, 503]
    assert written(tmp_path) == ["a"]


def test_an_event_that_is_too_old_is_given_up_whatever_the_attempts(tmp_path: Path) -> None:
    routes = """[route.r]
do = [{ handler = "exec", run = ["false"], max_attempts = 1000, give_up_after = "1s" }]
"""
    with listening(tmp_path, "--inbox", "in.db", routes=routes, definitions=SOON) as listener:
        started = time.monotonic()
        assert listener.post(event("a")).status == 200
        listener.logged("500 given_up")
        assert time.monotonic() - started > 0.5
    (dead,) = listed(tmp_path, "dead")
    assert 2 < dead["attempts"] < 1000


@pytest.mark.parametrize(("key", "says"), [
    ('rate = "fast"', "rate"), ('rate = "0/s"', "rate"), ('backoff = "soon"', "backoff"),
    ("max_attempts = 0", "max_attempts"),
    ("give_up_after = 3", "give_up_after"), ("max_atempts = 3", "did you mean 'max_attempts'?"),
])  # fmt: skip
def test_a_wrong_schedule_is_found_before_anything_is_served(key: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(
        f'[route.r]\ndo = [{{ handler = "append", file = "got", {key} }}]\n', encoding="utf-8"
    )
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 2
    assert says in done.stderr


def test_a_word_that_is_no_target_is_refused(tmp_path: Path) -> None:
    routes = '[route.grades]\ndo = [{ handler = "append", name = "crm", file = "got" }]\n'
    with listening(tmp_path, "--inbox", "in.db", routes=routes) as listener:
        assert listener.post(event("a")).status == 200
    for command in (("list",), ("replay", "--state", "done"), ("replay", "a")):
        done = run(tmp_path, "inbox", *command, "--inbox", "in.db", "--target", "crm")
        assert (done.returncode, "expected ROUTE/HANDLER" in done.stderr) == (2, True)
        done = run(tmp_path, "inbox", *command, "--inbox", "in.db", "--target", "grades/cmr")
        assert (done.returncode, done.stdout) == (2, "")
        assert "no target 'grades/cmr', did you mean 'grades/crm'?" in done.stderr
        assert "its targets: grades/crm" in done.stderr
    done = run(tmp_path, "inbox", "list", "--inbox", "in.db", "--target", "grades/crm")
    assert (done.returncode, "no event failed at grades/crm" in done.stderr) == (0, True)
    done = run(tmp_path, "inbox", "list", "--inbox", "in.db", "--type", "grade_chang")
    assert (done.returncode, "did you mean 'grade_change'?" in done.stderr) == (0, True)
