"""Spans of deliveries: they continue the sender's trace, and what is sent on continues theirs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.listening import SECRET, event, listening, signature
from support.server import exchange, reply, serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the process is patched by a fork")
TRACE, SENDER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SENT = {"traceparent": f"00-{TRACE}-{SENDER}-01", "tracestate": "vendor=1"}
SET_UP = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
def one_line(span): return span.to_json(None) + chr(10)
exporter = ConsoleSpanExporter(out=open({file!r}, "a", buffering=1), formatter=one_line)
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""


def _spans(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "spans").read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_what_waited_in_an_inbox_is_of_the_trace_too(tmp_path: Path) -> None:
    environ = {"LMS_SECRET": SECRET}
    with serve([exchange("POST", "/", reply(500)), exchange("POST", "/", reply(200))]) as server:
        routes = f'[route.r]\ndo = [{{ handler = "forward", url = "{server.url}/", backoff = "100ms" }}]\n'
        set_up = SET_UP.format(file=str(tmp_path / "spans"))
        with listening(tmp_path, "--inbox", "i.db", routes=routes, environ=environ, patch=set_up) as listener:
            body = event("a")
            assert listener.post(body, {"X-Lms-Signature": signature(body)}).status == 200
            listener.logged("handled")
            assert listener.stop() == 0
    parents = [request.headers["traceparent"].split("-")[2] for request in server.requests]
    assert parents == [span["context"]["span_id"].removeprefix("0x") for span in _spans(tmp_path)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("patch", ["", SET_UP], ids=["none", "set up"])
def test_a_delivery_has_a_span_and_hands_its_trace_on(patch: str, tmp_path: Path) -> None:
    set_up = patch.format(file=str(tmp_path / "spans"))
    environ = {"LMS_SECRET": SECRET}
    with serve([exchange("POST", "/a", reply(200), None), exchange("POST", "/b", reply(500), None)]) as server:
        do = f'{{ handler = "forward", url = "{server.url}/{{id}}", send = {{ id = "{{id}}" }} }}'
        with listening(tmp_path, routes=f"[route.r]\ndo = [{do}]\n", environ=environ, patch=set_up) as listener:
            for id, status in (("a", 200), ("b", 500)):
                body = event(id)
                assert listener.post(body, {"X-Lms-Signature": signature(body), **SENT}).status == status
            assert listener.stop() == 0
    got = [dict(request.headers) for request in server.requests]
    parents = [headers["traceparent"].split("-") for headers in got]
    assert [parent[1] for parent in parents] == [TRACE, TRACE]
    assert [headers["tracestate"] for headers in got] == ["vendor=1", "vendor=1"]
    if not patch:
        assert [parent[2] for parent in parents] == [SENDER, SENDER]
        return
    spans = _spans(tmp_path)
    assert [span["parent_id"] for span in spans] == [f"0x{SENDER}"] * 2
    assert [span["context"]["span_id"] for span in spans] == [f"0x{parent[2]}" for parent in parents]
    assert [span["attributes"]["callsheet.outcome"] for span in spans] == ["accepted", "failed"]
    assert [span["status"]["status_code"] for span in spans] == ["UNSET", "ERROR"]
