"""Long lists from a server that takes 50 ms for each answer: `python benchmarks/dump.py [ITEMS]`.

Issues and wiki pages with their bodies, as they are read (`--all`), and page after page (with `--limit`) of the length
that the service gives by itself (50 issues, 25 pages) and of the greatest. Each row is a whole process that writes
NDJSON; `least` is what the latency alone takes page after page, `processor` what the process itself computes.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httptools
from measure import Run, median_ms, once

LATENCY = 0.05
ROUNDS = 5
SUITE = Path(sys.executable).parent / "suite"
TEXT = "The stage has to be swept before the second act. " * 20


class Items:
    """Encoded once: the server must not be what is measured."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.issues = [json.dumps(_issue(number)).encode() for number in range(count)]
        self.ids = [b'{"id":"%d"}' % (10000 + number) for number in range(count)]
        self.pages = [json.dumps(_page(number)).encode() for number in range(count)]

    def answer(self, target: str, body: bytes) -> bytes:
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if parts.path.endswith("/approximate-count"):
            return b'{"count":%d}' % self.count
        if parts.path.endswith("/bulkfetch"):
            wanted = [int(id) - 10000 for id in json.loads(body)["issueIdsOrKeys"]]
            return b'{"issues":[%s]}' % b",".join(self.issues[number] for number in wanted)
        if parts.path.endswith("/search/jql"):
            return self._search(query, parse_qs(parts.query).get("fields") == ["id"])
        if parts.path.endswith("/search"):
            start = int(query.get("startAt", 0))
            found = self.issues[start : start + min(100, int(query.get("maxResults", 50)))]
            return b'{"startAt":%d,"total":%d,"issues":[%s]}' % (start, self.count, b",".join(found))
        return self._wiki(query, parse_qs(parts.query).get("id"))

    def _search(self, query: dict[str, str], only_ids: bool) -> bytes:
        start, most = int(query.get("nextPageToken", 0)), 5000 if only_ids else 100
        end = min(self.count, start + min(most, int(query.get("maxResults", 50))))
        found = b",".join((self.ids if only_ids else self.issues)[start:end])
        following = b'"nextPageToken":"%d"' % end if end < self.count else b'"isLast":true'
        return b'{"issues":[%s],%s}' % (found, following)

    def _wiki(self, query: dict[str, str], ids: list[str] | None) -> bytes:
        if ids is not None:
            return b'{"results":[%s],"_links":{}}' % b",".join(self.pages[int(id) - 10000] for id in ids)
        start = int(query.get("cursor", 0))
        end = min(self.count, start + int(query.get("limit", 25)))
        ordered = slice(None, None, -1) if query.get("sort") == "-id" else slice(None)
        found = (self.pages if "body-format" in query else self.ids)[ordered][start:end]
        kept = "".join(f"&{name}={value}" for name, value in query.items() if name != "cursor")
        link = {"next": f"/wiki/api/v2/pages?cursor={end}{kept}"} if end < self.count else {}
        return b'{"results":[%s],"_links":%s}' % (b",".join(found), json.dumps(link).encode())


def _issue(number: int) -> dict[str, Any]:
    fields = {
        "summary": f"Sweep the stage before act {number}",
        "status": {"name": "In Progress", "id": "3"},
        "assignee": {"displayName": "Robin Sample", "accountId": "5b10a2844c20165700ede21g"},
        "updated": "2026-01-31T09:30:00.000+0000",
        "issuetype": {"name": "Task", "id": "10001"},
        "priority": {"name": "Medium", "id": "3"},
        "labels": ["stage", "broom"],
        "project": {"key": "DEMO", "name": "Demonstration", "id": "10000"},
    }
    return {"id": str(10000 + number), "key": f"DEMO-{number + 1}", "fields": fields}


def _page(number: int) -> dict[str, Any]:
    body = {"storage": {"value": f"<p>{TEXT}</p>", "representation": "storage"}}
    return {"id": str(10000 + number), "title": f"Act {number}", "spaceId": "7", "status": "current", "body": body}


class Connection(asyncio.Protocol):
    def __init__(self, items: Items) -> None:
        self.items = items
        self.parser = httptools.HttpRequestParser(self)
        self.target, self.body = b"", b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.target, self.body = url, b""

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        asyncio.get_running_loop().call_later(LATENCY, self.send, self.target.decode(), self.body)

    def send(self, target: str, body: bytes) -> None:
        content = self.items.answer(target, body)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(content)
        self.transport.write(head + content)


async def serve(count: int) -> None:
    items = Items(count)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(items), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def rows(count: int) -> dict[str, tuple[list[str], str, float]]:
    """Name → the command, the deployment, and how many pages it would be one after another."""
    issues = ["issues", "list", "--jql", "project = DEMO"]
    pages = ["op", "call", "getPages", "--param", "body-format=storage"]
    return {
        "issues, 50 a page in turn": ([*issues, "--limit", "50"], "", count / 50),
        "issues, 100 a page in turn": ([*issues, "--limit", "100"], "", count / 100),
        "issues": (issues, "", count / 100),
        "issues, data center": (issues, "dc", count / 100),
        "pages, 25 a page in turn": ([*pages, "--limit", "25"], "", count / 25),
        "pages, 250 a page in turn": ([*pages, "--limit", "250"], "", count / 250),
        "pages": (pages, "", count / 250),
    }


def main(count: int) -> None:
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(count)], stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip() if server.stdout else ""
    with tempfile.TemporaryDirectory() as folder:
        site = {"SUITE_BASE_URL": f"http://127.0.0.1:{port}", "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "none"}
        plain = {**os.environ, "CALLSHEET_HOME": folder, **site}
        settings = {"": plain, "dc": {**plain, "SUITE_DEPLOYMENT": "datacenter"}}
        for name, (words, setting, pages) in rows(count).items():
            command = [str(SUITE), *words, "--all", "-o", "ndjson"]
            _show(name, [once(command, settings[setting]) for _ in range(1 if "in turn" in name else ROUNDS)], pages)
    server.terminate()
    server.communicate()


def _show(name: str, runs: list[Run], pages: float) -> None:
    peak = max(run.peak_mib for run in runs)
    processor = statistics.median(run.processor for run in runs)
    took = f"{median_ms(runs) / 1000:6.2f} s   least {pages * LATENCY:6.2f} s   processor {processor:5.2f} s"
    print(f"{name:28} {took}   {peak:6.1f} MiB", flush=True)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        asyncio.run(serve(int(sys.argv[2])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
