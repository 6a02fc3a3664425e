from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from callsheet.client.request.http_request import Form, Json, Placeholder, Raw, Request
from support.canary import TOKEN, basic, text_leaks
from support.server import exchange, reply
from support.shop import shop
from support.waiting import PATIENCE


def test_the_credential_is_hidden_unless_asked_for() -> None:
    with shop(root="https://shop.example") as here:
        request = here.build("getItem", {"id": "a b", "token": "hush"})
        hidden, shown = here.client.curl(request), here.client.curl(request, show_token=True)
    assert hidden == (
        "curl 'https://shop.example/api/3/item/a%20b?token=***' -H 'Accept: application/json' "
        "-H 'Authorization: Basic ***' -H 'X-Client: suite'"
    )
    assert f"-H 'Authorization: {basic('robin')}'" in shown
    assert "token=hush" in shown


def test_a_secret_in_a_body_is_hidden() -> None:
    with shop(root="https://shop.example") as here:
        assert not text_leaks(here.client.curl(here.build("makeItem", body={"a": f"my {TOKEN}"})))


def test_a_placeholder_stays_readable() -> None:
    with shop(root="https://shop.example") as here:
        request = here.build("getItem", {"id": Placeholder('<id of "Robin">'), "fields": [Placeholder("<name>")]})
        assert here.client.curl(request).startswith(
            """curl 'https://shop.example/api/3/item/<id of "Robin">?fields=<name>'"""
        )


def test_a_change_names_its_method() -> None:
    with shop(root="https://shop.example") as here:
        assert here.client.curl(here.build("dropItem", {"id": "1"})).startswith("curl -X DELETE https://")
        assert here.client.curl(here.build("getPicture", {"id": "1"})).startswith("curl -L https://")
        assert here.client.curl(Request("HEAD", "https://shop.example", "/x")).startswith("curl --head https://")


NASTY = {"text": 'it\'s; "quoted" $(id) `id`\n@file <x> \\ é'}


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("kind", ["query", "json", "form", "text", "bytes", "file", "multipart"])
def test_curl_sends_exactly_what_the_client_sends(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a; b's.png"
    path.write_bytes(b"\x89PNG\x00")
    raw = {"root": "", "path": "/x"}

    def request(here: Any) -> Any:
        plain = Request("POST", here.server.url, "/x")
        return {
            "query": lambda: here.build("getItem", {"id": "a/b[1]{x}", "fields": ["ä,b", "c&d=e"]}),
            "json": lambda: here.build("makeItem", body=NASTY),
            "form": lambda: Request(**{**vars_of(plain), "body": Form((("a", "x&y é"), ("b", "@z")))}),
            "text": lambda: Request(**{**vars_of(plain), "body": Raw(b"@it's text", "text/plain")}),
            "bytes": lambda: Request(**{**vars_of(plain), "body": Raw(b"\x00%d\\\xff'", "application/octet-stream")}),
            "file": lambda: here.build("putPicture", {"id": "1"}, files=[str(path)]),
            "multipart": lambda: here.build("attach", {"id": "1", "comment": "<@x;type=y"}, files=[str(path)]),
        }[kind]()

    def vars_of(item: Request) -> dict[str, Any]:
        return {"method": item.method, "root": item.root, "path": item.path}

    methods = {"query": ("GET", "/api/3/item/a%2Fb%5B1%5D%7Bx%7D"), "json": ("POST", "/api/3/item")}
    methods |= {"file": ("PUT", "/api/3/item/1/picture"), "multipart": ("POST", "/api/3/item/1/files")}
    with shop(
        [exchange(*methods.get(kind, ("POST", raw["path"])), reply(json={}), repeat=2)],
        authorization="Basic b3duOm93bg==",
    ) as here:
        wanted = request(here)
        here.client.send(wanted)
        command = here.client.curl(wanted, show_token=True)
        subprocess.run(["sh", "-c", command], check=True, capture_output=True, timeout=PATIENCE)
        ours, theirs = here.server.requests
    assert ours.target == theirs.target
    for name in ("authorization", "x-client", "x-check", "accept"):
        assert ours.headers.get(name) == theirs.headers.get(name)
    assert comparable(ours) == comparable(theirs)


def comparable(request: Any) -> Any:
    """Type and body, without the boundary that each side chooses."""
    media, _, boundary = request.headers.get("content-type", "").partition("; boundary=")
    if not boundary:
        return media, json.loads(request.body) if media == "application/json" else request.body
    parts = request.body.split(b"--" + boundary.encode())
    return media, sorted(part.strip().lower() for part in parts)


def test_json_numbers_are_shown_as_they_are_sent() -> None:
    with shop(root="https://shop.example") as here:
        request = Request("POST", "https://shop.example", "/x", body=Json({"n": 12345678901234567890}))
        assert """--data-raw '{"n": 12345678901234567890}'""" in here.client.curl(request)
