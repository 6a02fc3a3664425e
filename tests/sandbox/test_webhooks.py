"""A site tells of its changes: signed, tried again, and taken by a listener."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from callsheet.sandbox.simulated_site import SandboxSite, Webhooks
from support.canary import WEBHOOK_SECRET
from support.listening import listening, signature, until
from support.simulated import ask, site

ISSUE = {"fields": {"project": {"key": "DEMO"}, "issuetype": {"name": "Task"}, "summary": "Told of"}}


class Receiver(HTTPServer):
    """Answers with the statuses that it was given, then with 200; keeps what came."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = list(statuses)
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = cast("Receiver", self.server)
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.came.append((headers, self.rfile.read(int(headers["content-length"]))))
        self.send_response(server.statuses.pop(0) if server.statuses else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    with Receiver(*statuses) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def telling(url: str, secret: str | None = None, **rules: Any) -> Iterator[SandboxSite]:
    found = site()
    found.webhooks = Webhooks(url, secret)
    simulation = found.entities.simulation_of("jira")
    simulation["webhook"] |= {"wait": "0s", **rules}
    yield found
    found.close()


def test_an_event_looks_like_the_service_s_and_is_signed() -> None:
    with receiving() as receiver, telling(receiver.url, WEBHOOK_SECRET) as told:
        key = ask(told, "POST /rest/api/3/issue", ISSUE).body["key"]
        assert ask(told, f"POST /rest/api/3/issue/{key}/comment", {"body": "x"}).status == 201
        ask(told, "GET /rest/api/3/myself")
        until(lambda: len(receiver.came) == 2)
        (headers, body), (_, comment) = receiver.came
    event = json.loads(body)
    assert (event["webhookEvent"], event["issue"]["key"]) == ("jira:issue_created", key)
    assert (event["user"]["displayName"], type(event["timestamp"])) == ("Robin Sample", int)
    assert headers["x-hub-signature"] == f"sha256={signature(body)}"
    assert (headers["content-type"], "x-atlassian-webhook-retry" in headers) == ("application/json", False)
    assert json.loads(comment)["webhookEvent"] == "comment_created"


def test_what_was_not_taken_is_sent_again_as_the_same_event() -> None:
    with receiving(500, 429) as receiver, telling(receiver.url) as told:
        ask(told, "POST /rest/api/3/issue", ISSUE)
        until(lambda: len(receiver.came) == 3)
    names = ("x-atlassian-webhook-identifier", "x-atlassian-webhook-retry")
    first, second, third = [[headers.get(name) for name in names] for headers, _ in receiver.came]
    assert [first[1], second[1], third[1]] == [None, "1", "2"]
    assert first[0] == second[0] == third[0]
    assert len({body for _, body in receiver.came}) == 1
    assert "x-hub-signature" not in receiver.came[0][0]


@pytest.mark.parametrize(("statuses", "tries"), [([400], 1), ([503] * 9, 6)])
def test_it_is_given_up_when_it_is_refused_or_too_often_failed(statuses: list[int], tries: int) -> None:
    with receiving(*statuses) as receiver, telling(receiver.url) as told:
        ask(told, "DELETE /rest/api/3/issue/DEMO-1")
        assert told.webhooks is not None
        until(lambda: told.webhooks and told.webhooks.failed)
        assert len(receiver.came) == tries


def test_a_listener_takes_it_and_runs_its_handler(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    script = f"import pathlib, sys; pathlib.Path({str(taken)!r}).open('a').write(sys.stdin.read())"
    (tmp_path / "handler.py").write_text(script, encoding="utf-8")
    words = ["--source", "jira", "--handler", f"{sys.executable} {tmp_path / 'handler.py'}"]
    with listening(tmp_path, *words, environ={"JIRA_WEBHOOK_SECRET": WEBHOOK_SECRET}) as listener:
        url = f"http://127.0.0.1:{listener.port}/jira"
        with telling(url, WEBHOOK_SECRET) as told:
            key = ask(told, "POST /rest/api/3/issue", ISSUE).body["key"]
            until(lambda: f'"{key}"' in taken.read_text(encoding="utf-8"))
        with telling(url, "another secret") as forged:
            ask(forged, "DELETE /rest/api/3/issue/DEMO-1")
            until(lambda: forged.webhooks and forged.webhooks.failed)
    assert "issue_deleted" not in taken.read_text(encoding="utf-8")
