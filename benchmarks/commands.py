"""What a composed command costs beside the bare call, and what fetching pages in parallel gains.

`python benchmarks/commands.py`: a list of one page against `op call` of the same operation, and 100 pages of a service
that takes 50 ms for each: by offset (several at once) and by token (one after another).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from measure import in_turn, report

SUITE = str(Path(sys.executable).parent / "suite")
FIELDS = "summary status assignee updated issuetype priority reporter created labels parent resolution duedate project"
PAGES, SIZE = 100, 50


class Service(BaseHTTPRequestHandler):
    """Answers issues by token and projects by offset, after `latency` seconds."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    latency = 0.0

    def do_GET(self) -> None:
        time.sleep(self.latency)
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        answer = self.issues(query) if parts.path.endswith("jql") else self.projects(query)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def issues(self, query: dict[str, str]) -> dict[str, Any]:
        page = int(query.get("nextPageToken", 0))
        issues = [{"key": f"DEMO-{page * SIZE + n}", "fields": {"summary": "Sweep the stage"}} for n in range(SIZE)]
        following = {"nextPageToken": str(page + 1)} if page + 1 < PAGES else {}
        return {"issues": issues, "isLast": not following, **following}

    def projects(self, query: dict[str, str]) -> dict[str, Any]:
        start = int(query.get("startAt", 0))
        values = [{"key": f"P{n}", "name": "Play"} for n in range(start, min(start + SIZE, PAGES * SIZE))]
        return {"startAt": start, "maxResults": SIZE, "total": PAGES * SIZE, "values": values}

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


def main() -> None:
    server = ThreadingHTTPServer(("localhost", 0), Service)
    server.request_queue_size = 128
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = {
        "SUITE_BASE_URL": f"http://localhost:{server.server_address[1]}",
        "SUITE_EMAIL": "a@b.c",
        "SUITE_TOKEN": "t",
    }
    call = [SUITE, "op", "call", "searchAndReconsileIssuesUsingJql", "--param", 'jql=project = "DEMO"', "-o", "json"]
    fields = [word for name in FIELDS.split() for word in ("--param", f"fields={name}")]
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home, **site}
        one_page = {
            "op call of the search": [*call, *fields],
            "issues list": [SUITE, "issues", "list", "--project", "DEMO", "-o", "json"],
        }
        report(in_turn(one_page, environ), "op call of the search")
        Service.latency = 0.05
        all_pages = {
            "100 pages by token, one by one": [SUITE, "issues", "list", "--project", "DEMO", "--all", "-o", "id"],
            "100 pages by offset, in parallel": [SUITE, "projects", "list", "--all", "-o", "id"],
        }
        report(in_turn(all_pages, environ, rounds=3), "100 pages by token, one by one")
    server.shutdown()


if __name__ == "__main__":
    main()
