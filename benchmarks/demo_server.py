"""A small issue tracker on this machine, so that the programs can be seen at work without an account anywhere.

It answers four operations of the tracker's API from memory: search with page tokens, create, get, and who am I.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SUMMARIES = (
    "Print the call sheet for Monday",
    "Book the rehearsal room",
    "Repair the lamp in studio 2",
    "Ask for the new script pages",
    "Order lunch for 30 people",
)


def issue(number: int, summary: str) -> dict[str, Any]:
    fields = {"summary": summary, "status": {"name": "To Do"}, "issuetype": {"name": "Task"}}
    return {"id": str(10_000 + number), "key": f"DEMO-{number}", "fields": fields}


class Tracker(ThreadingHTTPServer):
    """Listens on a free port of the loopback address; `url` says which."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.issues = [issue(number, text) for number, text in enumerate(SUMMARIES, start=1)]
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Tracker
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if not self.headers.get("Authorization"):
            self.answer(401, {"message": "Client must be authenticated to access this resource."})
        elif parts.path == "/rest/api/3/myself":
            self.answer(200, {"accountId": "5f0c", "displayName": "Robin Sample", "active": True})
        elif parts.path == "/rest/api/3/search/jql":
            self.answer(200, self.page(int(query.get("nextPageToken", 0)), int(query.get("maxResults", 50))))
        elif parts.path.startswith("/rest/api/3/issue/"):
            self.one(parts.path.rpartition("/")[2])
        else:
            self.answer(404, {"errorMessages": ["No such resource here."], "errors": {}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        fields = body.get("fields", {})
        if not fields.get("summary"):
            self.answer(400, {"errorMessages": [], "errors": {"summary": "You must specify a summary of the issue."}})
            return
        with self.server.lock:
            made = issue(len(self.server.issues) + 1, fields["summary"])
            self.server.issues.append(made)
        self.answer(
            201, {"id": made["id"], "key": made["key"], "self": f"{self.server.url}/rest/api/3/issue/{made['id']}"}
        )

    def page(self, start: int, size: int) -> dict[str, Any]:
        shown = self.server.issues[start : start + size]
        more = start + size < len(self.server.issues)
        return {"issues": shown, "isLast": not more, **({"nextPageToken": str(start + size)} if more else {})}

    def one(self, key: str) -> None:
        for found in self.server.issues:
            if key in (found["key"], found["id"]):
                self.answer(200, found)
                return
        text = "Issue does not exist or you do not have permission to see it."
        self.answer(404, {"errorMessages": [text], "errors": {}})

    def answer(self, status: int, value: dict[str, Any]) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def start() -> Tracker:
    tracker = Tracker()
    threading.Thread(target=tracker.serve_forever, daemon=True).start()
    return tracker
