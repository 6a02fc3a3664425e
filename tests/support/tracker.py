"""A small site for agents to work on: it answers what everyday tools ask, and keeps what came."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from support.canary import SITES
from support.server import Received, Scripted, Server, reply

HIDDEN = "\u202e\U000e0041"  # what a person does not see


def document(text: str) -> dict[str, Any]:
    return {
        "type": "doc",
        "version": 1,
        "content": [{"type": "paragraph", "content": [{"type": "text", "text": text}]}],
    }


def issue(key: str, text: str = "Sweep it **twice**") -> dict[str, Any]:
    comment = {"id": "7", "author": {"displayName": "Ann"}, "created": "2026-01-02T03:04:05Z", "body": document("done")}
    fields = {
        "summary": f"Sweep | the stage{HIDDEN}",
        "status": {"name": "Open"},
        "project": {
            "key": key.partition("-")[0],
            "projectTypeKey": "service_desk" if key.startswith("HELP") else "business",
        },
        "assignee": {"displayName": "Robin Sample"},
        "updated": "2026-01-02T03:04:05Z",
        "labels": ["a", "b"],
        "description": document(text),
        "comment": {"comments": [comment]},
        "attachment": [{"id": "31", "filename": "notes.txt", "size": 5}, {"id": "32", "filename": "p.png", "size": 4}],
    }
    return {"id": f"10{key.rpartition('-')[2]}", "key": key, "fields": fields}


class Tracker(Server):
    trusted = True

    def __init__(self) -> None:
        super().__init__([], None)
        SITES.add(self.url)
        self.count = 3  # issues of a list
        self.text = "Sweep it **twice**"
        self.before_answer: Callable[[], object] = lambda: None  # holds an answer back
        self.page = '<h1>Plan</h1><ac:structured-macro ac:name="toc" /><p>Sweep it.</p>'

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.requests]

    def answer(self, request: Received) -> Scripted:
        self.requests.append(request)
        self.before_answer()
        return self._answer(request)

    def _answer(self, request: Received) -> Scripted:
        path = request.path
        if request.method == "DELETE":
            return reply(204)
        if path.endswith("/search/jql"):
            items = [issue(f"DEMO-{number}", self.text) for number in range(1, self.count + 1)]
            return reply(json={"issues": items, "nextPageToken": "page-2"})
        if path.endswith("/transitions"):
            way = {"id": "31", "name": "Finish", "to": {"name": "Done"}}
            return reply(204) if request.method == "POST" else reply(json={"transitions": [way]})
        if path.endswith("/issueLinkType"):
            kind = {"id": "1", "name": "Blocks", "inward": "is blocked by", "outward": "blocks"}
            return reply(json={"issueLinkTypes": [kind]})
        if path.endswith("/issueLink"):
            return reply(201)
        if request.method == "POST" and path.endswith("/comment"):
            return reply(201, json={"id": "9", "author": {"displayName": "Me"}, **json.loads(request.body)})
        if match := re.fullmatch(r"/rest/api/3/issue/([A-Z]+-\d+)", path):
            missing = match[1] == "DEMO-404"
            return (
                reply(404, json={"errorMessages": ["no such issue"]})
                if missing
                else reply(json=issue(match[1], self.text))
            )
        if re.fullmatch(r"/wiki/api/v2/pages/\d+", path):
            sent = json.loads(request.body) if request.method == "PUT" else {}
            version = {"number": sent.get("version", {}).get("number", 3)}
            body = {"storage": {"value": self.page, "representation": "storage"}}
            page = {"id": path.rpartition("/")[2], "title": "Plan", "status": "current"}
            return reply(json={**page, "version": version, "body": body})
        if path.endswith("/attachment/content/31"):
            return reply(text=f"hello{HIDDEN}")
        if path.endswith("/attachment/content/32"):
            return reply(body=b"\x89PNG", headers={"Content-Type": "image/png"})
        return reply(404, json={"errorMessages": [f"nothing at {path}"]})
