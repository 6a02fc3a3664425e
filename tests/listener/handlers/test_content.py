"""What is made of an event before it is sent on: `send`, and the forms that definitions give a name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.listening import HEADER, event, listening, run
from support.server import Received, exchange, reply, serve

OWN_FORM = """[envelope.chat]
title   = "A message for a chat"
send    = { text = "{event_type}: {body.text}" }
headers = { Content-Type = "application/vnd.chat+json" }

"""


def forwarded(folder: Path, handler: str, sent: bytes, *, more: str = "") -> Received:
    """What another server gets of an event."""
    with serve([exchange("POST", "/in", reply(204))]) as server:
        routes = f'{more}[route.on]\ndo = [{{ handler = "forward", url = "{server.url}/in", {handler} }}]\n'
        with listening(folder, routes=routes) as listener:
            assert listener.send(sent).status == 200
        return server.requests[0]


@pytest.mark.parametrize(("send", "content_type", "sent"), [
    ("{ who = '{body.name}', what = '{event_type}', none = '{body.missing}' }", "application/json",
     '{"who": "Ada ü", "what": "grade_change"}'),
    ("'{event_type} by {body.name}'", "text/plain; charset=utf-8", "grade_change by Ada ü"),
    ("'{body}'", "application/json", '{"name": "Ada ü", "score": 5.50}'),
    ("[1, '{headers.x-lms-signature}']", "application/json", None),
    ("'{body.missing}'", "text/plain; charset=utf-8", ""),
])  # fmt: skip
def test_what_is_made_goes_on_without_what_proved_the_delivery(
    send: str, content_type: str, sent: str | None, tmp_path: Path
) -> None:
    body = event("1", name="Ada ü", score=0).replace(b'"score": 0', b'"score": 5.50')
    send = send.replace("headers.x-lms-signature", 'headers.\\"x-lms-signature\\"' if sent else "id")
    request = forwarded(tmp_path, f"send = {send}", body)
    assert request.body.decode() == (sent if sent is not None else '[1, "1"]')
    assert request.headers["content-type"] == content_type
    assert HEADER.lower() not in {name.lower() for name in request.headers}


def test_headers_of_the_handler_come_before_those_of_the_form(tmp_path: Path) -> None:
    chosen = 'envelope = "chat", headers = { content-type = "text/x", X-Id = "{id}" }'
    request = forwarded(tmp_path, chosen, event("7\r\nX-Evil: 1", text="hi"), more=OWN_FORM)
    assert request.headers["content-type"] == "text/x"
    assert request.headers["x-id"] == "7%0D%0AX-Evil: 1"
    assert "x-evil" not in {name.lower() for name in request.headers}
    assert json.loads(request.body) == {"text": "grade_change: hi"}


@pytest.mark.parametrize("name", ["cloudevents", "cloudevents-batch"])
def test_cloudevents(name: str, tmp_path: Path) -> None:
    """Section 3 of the HTTP binding: the media type says which mode, the required attributes are texts."""
    request = forwarded(tmp_path, f'envelope = "{name}"', event(7, user_id=12345678901234567890))
    assert request.headers["content-type"] == f"application/{name}+json"
    made: Any = json.loads(request.body)
    if name == "cloudevents-batch":
        (made,) = made
    assert made == {
        "specversion": "1.0", "id": "7", "source": "lms", "type": "grade_change", "time": "2026-01-02T03:04:05Z",
        "datacontenttype": "application/json", "data": {"user_id": 12345678901234567890},
    }  # fmt: skip


def test_a_time_that_is_no_text_is_left_out_and_an_event_without_an_id_is_not_sent(tmp_path: Path) -> None:
    body = json.dumps({"id": "1", "event_type": "grade_change", "event_time": 5, "body": {}}).encode()
    assert "time" not in json.loads(forwarded(tmp_path, 'envelope = "cloudevents"', body).body)
    routes = '[route.on]\ndo = [{ handler = "append", file = "got", envelope = "cloudevents" }]\n'
    with listening(tmp_path, routes=routes) as listener:
        assert listener.send(event(None)).status == 500
        listener.logged("on/1: envelope cloudevents: not for an event without id")
        assert listener.send(event("2")).status == 200
        assert json.loads((tmp_path / "got").read_text(encoding="utf-8"))["id"] == "2"


@pytest.mark.parametrize("inbox", [[], ["--inbox", "in.db"]], ids=["waits", "inbox"])
def test_what_an_event_says_begins_no_line(inbox: list[str], tmp_path: Path) -> None:
    routes = '[route.on]\ndo = [{ handler = "append", file = "got", send = "{id}\\t{body.text}" }]\n'
    with listening(tmp_path, *inbox, routes=routes) as listener:
        assert listener.send(event("1", text="a\r\nb\n9\tforged\n")).status == 200
        assert listener.send(event("2", text="c")).status == 200
        assert listener.stop() == 0
    lines = (tmp_path / "got").read_bytes().split(b"\n")
    assert sorted(lines) == [b"", b"1\ta\\r\\nb\\n9\tforged", b"2\tc"]


def test_a_program_gets_what_was_made(tmp_path: Path) -> None:
    (tmp_path / "keep.py").write_text("import sys; open('got', 'ab').write(sys.stdin.buffer.read() + b'|')")
    program = f'handler = "exec", run = ["{sys.executable}", "keep.py"]'
    routes = f"""[route.on]
do = [{{ {program}, send = "{{body.text}}" }}]
[route.then]
when = "body.then"
do = [{{ {program}, send = {{ a = "{{id}}" }} }}]
"""
    with listening(tmp_path, routes=routes) as listener:
        assert listener.send(event("1", text="a b")).status == 200
        assert (tmp_path / "got").read_bytes() == b"a b|"
        assert listener.send(event("2", text="", then=True)).status == 200
        assert sorted((tmp_path / "got").read_bytes().split(b"|")) == [b"", b"", b"a b", b'{"a": "2"}\n']


def test_a_value_that_an_expression_is_not_made_for_is_a_failure(tmp_path: Path) -> None:
    routes = '[route.on]\ndo = [{ handler = "append", file = "got", send = "{length(body.text)}" }]\n'
    with listening(tmp_path, routes=routes) as listener:
        assert listener.send(event("1")).status == 500
        assert listener.send(event("2", text="four")).status == 200
        assert "Traceback" not in listener.err
    assert (tmp_path / "got").read_bytes() == b"4\n"


@pytest.mark.parametrize(("handler", "says"), [
    ('send = "{id}", input = "raw"', "input"),
    ('send = "{id}", envelope = "cloudevents"', "envelope"),
    ('envelope = "cloudevents", input = "payload"', "input"),
    ('envelope = "cloudevent"', "'cloudevents'"),
    ('send = "{boddy.id}"', "boddy"),
    ('send = "{id"', "without '}'"),
])  # fmt: skip
def test_what_cannot_be_made_is_found_before(handler: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(
        f'[route.r]\ndo = [{{ handler = "append", file = "got", {handler} }}]\n', encoding="utf-8"
    )
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 2
    assert says in done.stderr
    assert "routes.toml:2" in done.stderr


def test_a_header_that_is_not_sent_on_is_found_before(tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(
        '[envelope.own]\ntitle = "Own"\nsend = "{id}"\nheaders = { Authorization = "Bearer {id}" }\n'
        '[route.r]\ndo = [{ handler = "forward", url = "http://127.0.0.1:9/", envelope = "own" }]\n',
        encoding="utf-8",
    )
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 2
    assert "'Authorization' is not sent on" in done.stderr
    assert "the handler's own `headers`" in done.stderr
