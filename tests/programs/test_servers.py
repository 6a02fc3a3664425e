"""Where requests of a program of one's own go: the documented server, an address that is given, further servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.canary import TOKEN
from support.machine import Machine
from support.server import Server, exchange, reply, serve

OK = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}
LISTED = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "array", "items": {}}}}}}


def document(first: str, files: str, open_: str) -> dict[str, Any]:
    """Uploads on a host of their own that wants the credential, pictures on one that does not."""
    upload = {
        "operationId": "upload",
        "servers": [{"url": f"{files}/up/2"}],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
        "responses": OK,
    }
    picture = {"operationId": "picture", "servers": [{"url": open_}], "security": [], "responses": OK}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Boxes", "version": "1"},
        "servers": [{"url": f"{first}/v1"}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/pets": {"get": {"operationId": "pets", "responses": LISTED}},
            "/files": {"post": upload},
            "/pictures/now": {"get": picture},
        },
    }


class Boxes(Machine):
    """The program, and what its servers were asked."""

    def __init__(self, root: Path, first: Server, files: Server, open_: Server) -> None:
        super().__init__(root)
        self.first, self.files, self.open = first, files, open_
        path = root / "boxes.json"
        path.write_text(json.dumps(document(first.url, files.url, open_.url)))
        assert self("new", "boxes", "--from", str(path)) == 0, self.err
        self.made = self.err

    def sent(self) -> list[tuple[str, str, str]]:
        """Which server, the path, and the credential that came."""
        servers = {"first": self.first, "files": self.files, "open": self.open}
        return [
            (name, request.path, request.headers.get("authorization", ""))
            for name, server in servers.items()
            for request in server.requests
        ]


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[Boxes]:
    def any_of(*paths: str) -> list[Any]:
        return [exchange(*path.split(), reply(json=[]), repeat=None) for path in paths]

    everything = ("GET /v1/pets", "POST /up/2/files", "GET /pictures/now")
    with (
        serve(any_of(*everything), verify=False, trusted=True) as first,
        serve(any_of("POST /up/2/files"), trusted=True) as files,
        serve(any_of("GET /pictures/now")) as open_,
    ):
        yield Boxes(tmp_path, first, files, open_)


CALLS = (["pets", "list"], ["op", "call", "upload", "--data", "{}"], ["op", "call", "picture"])
BEARER = f"Bearer {TOKEN}"


def test_the_import_says_which_operations_go_elsewhere_and_with_what(boxes: Boxes) -> None:
    assert f"POST /up/2/files: sent to {boxes.files.url}, with the credential" in boxes.made
    assert f"GET /pictures/now: sent to {boxes.open.url}, without the credential" in boxes.made


def test_operations_with_a_server_of_their_own_reach_it_with_the_credential_where_that_is_said(boxes: Boxes) -> None:
    boxes.environ |= {"BOXES_BASE_URL": boxes.first.url, "BOXES_TOKEN": TOKEN}
    for words in CALLS:
        assert boxes(*words, program="boxes") == 0, boxes.err
    assert boxes.sent() == [
        ("first", "/v1/pets", BEARER), ("files", "/up/2/files", BEARER), ("open", "/pictures/now", "")
    ]  # fmt: skip


def test_a_site_elsewhere_has_everything_there(boxes: Boxes) -> None:
    """A test server stands for all of it: nothing of a test reaches what others use."""
    with serve([exchange("POST", "/up/2/files", reply(json={}))], trusted=True) as test:
        boxes.environ |= {"BOXES_BASE_URL": test.url, "BOXES_TOKEN": TOKEN}
        assert boxes(*CALLS[1], program="boxes") == 0, boxes.err
    assert boxes.sent() == []


def test_a_stored_credential_is_bound_to_the_servers_that_it_was_given_for(boxes: Boxes) -> None:
    boxes.environ |= {"BOXES_KEYRING_BACKEND": "file", "BOXES_KEYRING_PASSWORD": "only for tests"}
    words = ["init", "--base-url", f"{boxes.first.url}/v1", "--name", "here", "--token-stdin"]
    assert boxes(*words, program="boxes", given=TOKEN) == 0, boxes.err
    assert boxes(*CALLS[1], program="boxes") == 0, boxes.err
    changed = boxes.home / "definitions" / "boxes" / "mine.toml"
    id = f"boxes-localhost-{boxes.files.url.rpartition(':')[2]}"
    changed.write_text(f'language = 2\n\n[extend.service.{id}]\nbase_url = "http://127.0.0.1:9"\n')
    assert boxes(*CALLS[1], program="boxes") != 0
    assert "was given for" in boxes.err
    assert boxes.sent()[-1] == ("files", "/up/2/files", BEARER)


@pytest.mark.parametrize("end", ["", "/v1", "/v1/"])
def test_the_path_of_the_documented_server_is_not_doubled(boxes: Boxes, end: str) -> None:
    boxes.environ |= {"BOXES_BASE_URL": boxes.first.url + end, "BOXES_TOKEN": TOKEN}
    assert boxes("pets", "list", program="boxes") == 0, boxes.err
    del boxes.environ["BOXES_BASE_URL"]
    assert boxes("pets", "list", "--base-url", boxes.first.url + end, program="boxes") == 0, boxes.err
    assert {path for _, path, _ in boxes.sent()} == {"/v1/pets"}


def test_the_documented_server_counts_before_there_is_a_site_without_a_credential(boxes: Boxes) -> None:
    assert boxes("pets", "list", "--dry-run", program="boxes") == 0, boxes.err
    assert f"{boxes.first.url}/v1/pets" in boxes.out
    assert boxes("pets", "list", program="boxes") == 3
    assert "error: not signed in\nhint: run `boxes init`" in boxes.err
    assert boxes("op", "call", "picture", program="boxes") == 0, boxes.err
    boxes.environ["BOXES_TOKEN"] = TOKEN
    assert boxes("pets", "list", program="boxes") == 2
    assert f"hint: set BOXES_BASE_URL={boxes.first.url} too" in boxes.err
    assert boxes.sent() == [("open", "/pictures/now", "")]


def test_where_no_definition_says_how_things_are_shown_none_is_asked_for(boxes: Boxes) -> None:
    assert boxes("open", "7", program="boxes") == 2
    assert "'7' cannot be opened: no definition says where the site shows things" in boxes.err
    assert not boxes.sent()
