"""The published documents as judges of requests that a test server received; there may be none to judge by."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import parse_qsl, urlsplit

from callsheet.client.request.http_request import Body, File, Json, Multipart, MultipartPart, Raw, Request
from support.openapi import OpenAPI
from support.places import SHARED
from support.server import Received

SPECS = SHARED / "specs"
# What a path starts with → the document, and what its paths stand below.
DOCUMENTS = {
    "/rest/api/3/": ("jira.json", ""),
    "/rest/agile/": ("agile.json", ""),
    "/rest/software/": ("agile.json", ""),
    "/rest/servicedeskapi/": ("jsm.json", ""),
    "/wiki/api/v2/": ("confluence-v2.json", "/wiki/api/v2"),
    "/wiki/rest/api/": ("confluence-v1.json", ""),
}
# Where the documents are wrong themselves.
FAULTS = re.compile(
    r"/wiki/api/v2/.*is valid under each of"  # a body that is both of two kinds, of which only one is allowed
    r"|query (fields|type|state): .* is not of type 'object'"  # words, as their descriptions say
    r"|/assignee: body: \$\.accountId: None is not of type"  # how nobody is assigned
)
_PART = re.compile(rb'Content-Disposition: form-data; name="([^"]+)"(; filename=)?', re.IGNORECASE)


@cache
def document(file: str, server: str) -> OpenAPI:
    return OpenAPI(SPECS / file, server)


def problems(received: Received) -> list[str]:
    """Everything in which a request departs from its document; nothing where the documents are not here."""
    if not SPECS.is_dir():
        return []
    found = next((DOCUMENTS[start] for start in DOCUMENTS if received.path.startswith(start)), None)
    if found is None:
        return [f"{received.method} {received.path}: no document describes it"]
    request = Request(
        method=received.method,
        root="",
        path=received.path,
        query=tuple(parse_qsl(urlsplit(received.target).query, keep_blank_values=True)),
        headers=tuple(received.headers.items()),
        body=_body(received),
    )
    told = (f"{received.method} {received.target}: {text}" for text in document(*found).problems(request))
    return [text for text in told if not FAULTS.search(text)]


def _body(received: Received) -> Body | None:
    media = received.headers.get("content-type", "").partition(";")[0]
    if not received.body:
        return None
    if media.endswith("json"):
        return Json(received.json(), media)
    if media == "multipart/form-data":
        parts = _PART.findall(received.body)
        return Multipart(
            tuple(MultipartPart(name.decode(), file=File("", "") if is_file else None) for name, is_file in parts)
        )
    return Raw(received.body, media)
