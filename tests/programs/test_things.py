"""Resources of a program out of a document: what is one kind of thing, what it belongs to, and what follows from it."""

from __future__ import annotations

import copy
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from callsheet.language.layers import Layer, layers_with
from callsheet.language.load import load_definitions
from callsheet.openapi import sound
from callsheet.openapi.definition_files import save_files
from callsheet.programs import everyday
from callsheet.programs.create import ProgramSource, create_program

LAYERS = layers_with("x", ["client", "mcp", "listener"], {"CALLSHEET_HOME": os.devnull}, own=False)
TEXT: dict[str, Any] = {"type": "string"}
SHELF = {"type": "object", "properties": {"id": {"type": "integer"}, "name": TEXT, "note": TEXT}}
BOOK = {
    "type": "object",
    "properties": {
        "isbn": TEXT,
        "title": TEXT,
        "language": TEXT,
        "pages": {"type": "integer", "readOnly": True},
        "updatedAt": {"type": "string", "format": "date-time", "readOnly": True},
    },
}
CHANGED_BOOK = {"type": "object", "properties": {"title": TEXT}}
CHANGED_NAME = {"type": "object", "properties": {"name": TEXT}}


def call(id: str, answer: Any, body: Any = None) -> dict[str, Any]:
    content = {"content": {"application/json": {"schema": body}}} if body else None
    reply = {"description": "ok", "content": {"application/json": {"schema": answer}}}
    return {"operationId": id, "responses": {"200": reply}, **({"requestBody": content} if content else {})}


def listed(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


PATHS: dict[str, Any] = {
    "/shelf": {"get": call("listShelf", listed(SHELF)), "post": call("addShelf", SHELF, SHELF)},
    "/shelf/{shelfId}": {
        "get": call("getShelf", SHELF),
        "patch": call("changeShelf", SHELF, SHELF),
        "delete": call("dropShelf", {}),
    },
    "/shelf/{shelfId}/books": {"get": call("listBooks", listed(BOOK)), "post": call("addBook", BOOK, BOOK)},
    "/shelf/{shelfId}/books/{isbn}": {"get": call("getBook", BOOK), "put": call("changeBook", BOOK, CHANGED_BOOK)},
}


@pytest.fixture
def kinds(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return made(PATHS, tmp_path)


def made(paths: dict[str, Any], home: Path) -> dict[str, dict[str, Any]]:
    """The tables of a program by kind and id, compiled parts too."""
    document = {"openapi": "3.0.0", "info": {"title": "Shop"}, "paths": copy.deepcopy(paths)}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            operation["tags"] = [path.split("/")[-1] if not path.endswith("}") else path.split("/")[-2]]
    found = create_program("shop", ProgramSource(json.dumps(document), "d", None, None), ["client", "listener"], LAYERS)
    assert not [note for note in found.notes if "left out" in note]
    save_files(found.files, str(home))
    for text in found.files.values():
        tomllib.loads(text)
    kinds: dict[str, dict[str, Any]] = {}
    for (kind, id), definition in load_definitions([*LAYERS, Layer(str(home))]).items():
        kinds.setdefault(kind, {})[id] = definition.table
    return kinds


def test_operations_at_one_path_are_one_kind_of_thing(kinds: dict[str, dict[str, Any]]) -> None:
    shelf = kinds["resource"]["shelf"]
    assert {key: shelf[key]["call"] for key in ("list", "read", "create", "update", "delete")} == {
        "list": "listShelf",
        "read": "getShelf",
        "create": "addShelf",
        "update": "changeShelf",
        "delete": "dropShelf",
    }
    assert shelf["read"]["args"] == {"shelfId": "{id}"}
    assert (shelf["name"], shelf["fields"]) == ("name", ["id", "name", "note"])
    assert "parent" not in shelf


def test_a_thing_knows_what_it_belongs_to_and_what_cannot_be_changed(kinds: dict[str, dict[str, Any]]) -> None:
    book = kinds["resource"]["book"]
    assert book["parent"] == {"shelf": "`null`"}
    assert book["id"] == "isbn"
    assert book["list"] == {"call": "listBooks", "args": {"shelfId": "{shelf}"}}
    assert book["update"]["args"] == {"shelfId": "{shelf}", "isbn": "{id}"}
    assert book["fields"] == ["isbn", "title", "language"]
    assert book["fixed"] == ["isbn", "language"]
    assert book["changed"] == {"at": "updatedAt"}


def test_words_are_looked_up_and_completed(kinds: dict[str, dict[str, Any]]) -> None:
    lookup = kinds["lookup"]["shelf"]
    assert (lookup["pattern"], lookup["match"], lookup["value"]) == (r"\d+", ["name"], "id")
    assert lookup["sole"] == "`false`"  # no list is read where an id is given
    argument = kinds["command"]["shelf get"]["params"][0]
    assert argument["lookup"] == "shelf"
    assert "lookup" not in kinds["command"]["shelf books get"]["params"][1]
    agents = kinds["resource"]["shelf"]["agents"]
    assert (agents["uri"], agents["command"], agents["values"]) == ("shelf/{id}", "shelf get", {"shelf-id": "{id}"})


def test_a_change_can_be_taken_back(kinds: dict[str, dict[str, Any]]) -> None:
    assert kinds["command"]["shelf update"]["keep"] == {"snapshot": "shelf", "of": "shelf-id"}
    keep = kinds["command"]["shelf books update"]["keep"]
    assert keep == {"snapshot": "book", "of": "isbn", "args": {"shelf": "{shelf_id}"}}
    snapshot = kinds["snapshot"]["book"]
    assert snapshot["state"] == 'found | @ | {fields: picked({"title": "title"}, `["title"]`), shelf: $shelf}'
    assert snapshot["undo"][-1] == {
        "call": "changeBook",
        "args": {"shelfId": "{shelf}", "isbn": "{id}"},
        "body": {"title": "{whole.title}"},
    }
    assert 'fields: {"id": "id", "name": "name", "note": "note"}' in kinds["snapshot"]["shelf"]["state"]


def test_what_replaces_a_whole_thing_says_the_members_that_nobody_named(tmp_path: Path) -> None:
    """A `PUT` loses what it does not say; a `PATCH` does not, and reads nothing before."""
    body = {**SHELF, "required": ["name"]}
    whole = copy.deepcopy(PATHS)
    whole["/shelf/{shelfId}"]["put"] = call("replaceShelf", SHELF, body)
    del whole["/shelf/{shelfId}"]["patch"]
    kinds = made(whole, tmp_path)
    read, change = kinds["command"]["shelf update"]["step"]
    assert (read["call"], read["args"], read["as"]) == ("getShelf", {"shelfId": "{shelf_id}"}, "shelf")
    assert change["body"] == {"id": "{shelf.id}", "name": "{shelf.name}", "note": "{shelf.note}"}
    assert change["over"] == [{"name": "{name}", "id": "{id}", "note": "{note}"}, "{data}", "{set}"]
    assert change["unless_same"]["body"] == change["body"]
    assert kinds["resource"]["shelf"]["update"]["body"] == {
        name: f"{{whole.{name}}}" for name in ("id", "name", "note")
    }
    assert made(PATHS, tmp_path / "patched")["command"]["shelf update"]["call"] == "changeShelf"


def test_a_change_without_an_id_is_no_change_of_a_thing(tmp_path: Path) -> None:
    paths = {"/settings": {"get": call("listSettings", listed(SHELF)), "put": call("changeSettings", SHELF, SHELF)}}
    kinds = made(paths, tmp_path)
    assert "update" not in kinds["resource"]["setting"]
    assert "keep" not in kinds["command"]["settings update"]


def test_what_most_can_be_done_with_has_the_plain_name(tmp_path: Path) -> None:
    paths = {
        "/old/shelf": {"get": call("listOld", listed(SHELF))},
        "/shelf": {"get": call("listShelf", listed(SHELF))},
        "/shelf/{id}": {"get": call("getShelf", SHELF), "put": call("changeShelf", SHELF, SHELF)},
    }
    resources = made(paths, tmp_path)["resource"]
    assert resources["shelf"]["update"]["call"] == "changeShelf"
    assert resources["old-shelf"]["list"]["call"] == "listOld"


def test_what_nobody_can_name_is_no_resource(tmp_path: Path) -> None:
    nameless = {"type": "object", "properties": {"text": TEXT}}
    paths = {
        "/notes": {"get": call("listNotes", listed(nameless))},
        "/lost/{lostId}/parts": {"get": call("listParts", listed(SHELF))},
        "/site": {"get": call("listSites", listed(SHELF))},
    }
    resources = made(paths, tmp_path)["resource"]
    assert "note" not in resources
    assert "part" not in resources
    assert "site-site" in resources


def test_agents_read_two_things_of_one_name_at_two_addresses(tmp_path: Path) -> None:
    one = {"/old/books": PATHS["/shelf"], "/old/books/{shelfId}": PATHS["/shelf/{shelfId}"]}
    other = {path.replace("old", "new"): methods for path, methods in one.items()}
    kinds = made({**one, **other}, tmp_path)
    addresses = [each["agents"]["uri"] for each in kinds["resource"].values() if "agents" in each]
    assert addresses == ["books/{id}", "old-book/{id}"]


def test_a_name_with_a_digit_keeps_its_thing(tmp_path: Path) -> None:
    paths = {path.replace("/shelf", f"/area{number}/s3-shelves"): PATHS[path] for number in (1, 2) for path in PATHS}
    resources = made(paths, tmp_path)["resource"]
    addresses = [each["agents"]["uri"] for each in resources.values() if "agents" in each]
    assert len(addresses) == 2
    assert all(re.fullmatch(r"[a-z0-9-]+/\{id\}", address) for address in addresses)


def test_a_thing_is_known_by_its_path_whatever_its_parameters_are_called(tmp_path: Path) -> None:
    paths = {
        "/shelf": PATHS["/shelf"],
        "/shelf/{id}": PATHS["/shelf/{shelfId}"],
        "/shelf/{shelfId}/books": PATHS["/shelf/{shelfId}/books"],
        "/shelf/{number}/books/{isbn}": PATHS["/shelf/{shelfId}/books/{isbn}"],
    }
    book = made(paths, tmp_path)["resource"]["book"]
    assert book["parent"] == {"shelf": "`null`"}
    assert book["list"] == {"call": "listBooks", "args": {"shelfId": "{shelf}"}}
    assert book["read"]["args"] == {"number": "{shelf}", "isbn": "{id}"}


def test_a_list_of_what_belongs_to_something_else_is_no_list_of_a_thing(tmp_path: Path) -> None:
    paths = {**PATHS, "/notes/{noteId}": {"get": call("getNote", SHELF)}}
    paths["/shelf/{shelfId}/notes"] = {"get": call("listNotes", listed(SHELF))}
    note = made(paths, tmp_path)["resource"]["note"]
    assert note["read"]["call"] == "getNote"
    assert "list" not in note


def test_what_no_change_can_send_is_no_field(tmp_path: Path) -> None:
    """Without a call that reads a thing there is nothing to compare a change with."""
    paths = {"/shelf": {"get": call("listShelf", listed(SHELF)), "post": call("addShelf", SHELF, CHANGED_NAME)}}
    paths["/shelf/{shelfId}"] = {"patch": call("changeShelf", SHELF, SHELF)}
    shelf = made(paths, tmp_path)["resource"]["shelf"]
    assert "update" not in shelf
    assert shelf["fields"] == ["name"]


def test_a_put_that_needs_what_no_thing_has_is_no_change_of_it(tmp_path: Path) -> None:
    needs_more = {**SHELF, "properties": {**SHELF["properties"], "secret": TEXT}, "required": ["secret"]}
    paths = {"/shelf": PATHS["/shelf"]}
    paths["/shelf/{shelfId}"] = {"get": call("getShelf", SHELF), "put": call("replaceShelf", SHELF, needs_more)}
    shelf = made(paths, tmp_path)["resource"]["shelf"]
    assert shelf.keys() >= {"list", "read", "create"}
    assert "update" not in shelf


def test_a_member_without_a_name_is_no_column(tmp_path: Path) -> None:
    odd = {**SHELF, "properties": {"": TEXT, **SHELF["properties"]}}
    view = made({"/shelf": {"get": call("listShelf", listed(odd))}}, tmp_path)["view"]["shelf"]
    assert [column["value"] for column in view["columns"]] == ["id", "name", "note"]


def test_what_comes_in_pages_reads_no_single_thing(tmp_path: Path) -> None:
    """A document may say so of one thing: nothing could be taken out of its answer before a change."""
    item = copy.deepcopy(PATHS["/shelf/{shelfId}"])
    item["get"] = {
        **call("getShelf", {"type": "object", "properties": {"data": listed(SHELF), "page": {"type": "integer"}}}),
        "parameters": [{"name": name, "in": "query", "schema": {"type": "integer"}} for name in ("page", "per_page")],
    }
    item["put"] = call("replaceShelf", SHELF, SHELF)
    del item["patch"]
    kinds = made({"/shelf": PATHS["/shelf"], "/shelf/{shelfId}": item}, tmp_path)
    assert "read" not in kinds["resource"]["shelf"]
    assert "step" not in kinds["command"]["shelf update"]


def test_what_belongs_to_a_thing_without_commands_is_left_out_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checking a large program takes most of making it: what is made has to be sound at once."""
    make, refuse = everyday._everyday_command, sound._refused_definitions
    rounds: list[str] = []
    monkeypatch.setattr(
        everyday,
        "_everyday_command",
        lambda api, program, named: None if named.operation.endswith("Shelf") else make(api, program, named),
    )

    def refuse_and_count(*given: Any) -> Any:
        rounds.append("round")
        return refuse(*given)

    monkeypatch.setattr(sound, "_refused_definitions", refuse_and_count)
    kinds = made(PATHS, tmp_path)
    assert "shelf books list" in kinds["command"]
    assert not {"shelf", "book"} & kinds.get("resource", {}).keys()
    assert len(rounds) == 1
