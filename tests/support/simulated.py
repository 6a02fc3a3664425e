"""A simulated site to ask, and the published documents as judges of what it answers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from callsheet.catalog.catalog import open_catalog
from callsheet.client.request.model import Request
from callsheet.sandbox.site import Incoming, Site
from support.published import DOCUMENTS, SPECS, document


class Told(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


def site(deployment: str = "cloud", environ: Mapping[str, str] = os.environ, path: str | None = None) -> Site:
    found = Site(open_catalog("suite", environ, own=False), deployment, path)
    found.address = "http://127.0.0.1:8800"
    return found


def ask(site: Site, request: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Told:
    """`request` is a method and a target."""
    method, _, target = request.partition(" ")
    data = b"" if body is None else json.dumps(body).encode()
    answer = site.answer(Incoming(method, target, {"content-type": "application/json", **(headers or {})}, data))
    return Told(answer.status, answer.body, dict(answer.headers))


def problems(request: str, told: Told) -> list[str]:
    """Where an answer departs from its document; nothing where the documents are not here."""
    method, _, target = request.partition(" ")
    path = target.partition("?")[0]
    found = next((DOCUMENTS[start] for start in DOCUMENTS if path.startswith(start)), None)
    if not SPECS.is_dir() or found is None:
        return []
    judge = document(*found)
    operation = judge.find(Request(method, "", path))
    if operation is None:
        return [f"no {method} {path}"]
    responses = operation[0]["responses"]
    response = judge.resolve(responses.get(str(told.status), responses.get("default")))
    if response is None:
        return [f"status {told.status} is not documented: {', '.join(responses)}"]
    if told.status >= 400:
        return []
    content = next((entry for media, entry in response.get("content", {}).items() if "json" in media), None)
    if content is None or "schema" not in content:
        return []
    return [
        f"{error.json_path}: {error.message[:200]}"
        for error in judge.validator(content["schema"]).iter_errors(told.body)
    ]
