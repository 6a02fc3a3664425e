"""A document of several files is read as one, and reads nothing that is not beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import DefinitionError
from callsheet.openapi import ImportResult, import_document

JSON = "application/json"
ANSWER = {"200": {"description": "", "content": {JSON: {"schema": {"type": "array", "items": {}}}}}}
PET = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "of": {"$ref": "#/Owner"}}}
OWNER = {"type": "object", "properties": {"pets": {"type": "array", "items": {"$ref": "pets.yaml#/Pet"}}}}


def written(folder: Path, files: dict[str, Any]) -> ImportResult:
    for name, tree in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(tree), encoding="utf-8")
    path = folder / "openapi.json"
    return import_document(path.read_text("utf-8"), "p", name="d", path=str(path))


def document(paths: dict[str, Any]) -> dict[str, Any]:
    return {"openapi": "3.0.3", "info": {"title": "Pets"}, "paths": paths}


def test_it_is_imported_as_one_file_would_be(tmp_path: Path) -> None:
    body = {"required": True, "content": {JSON: {"schema": {"$ref": "../models/pets.yaml#/Pet"}}}}
    limit = {"$ref": "../openapi.json#/components/parameters/limit"}
    item = {"post": {"operationId": "makePet", "parameters": [limit], "requestBody": body, "responses": ANSWER}}
    shared = {"limit": {"name": "limit", "in": "query", "schema": {"$ref": "models/limit.json"}}}
    found = written(
        tmp_path,
        {
            "openapi.json": {**document({"/pets": {"$ref": "paths/pets.json"}}), "components": {"parameters": shared}},
            "paths/pets.json": item,
            "models/pets.yaml": {"Pet": PET, "Owner": OWNER},
            "models/limit.json": {"type": "integer", "maximum": 50},
        },
    )
    operation = found.operations["makePet"]
    assert operation["http"] == "POST /pets"
    assert operation["params"] == [{"name": "limit", "type": "integer", "maximum": 50}]
    assert operation["body"]["schema"] == "p.Pet"
    assert sorted(found.schemas) == ["p.Owner", "p.Pet"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("../secret.json#/Pet", "'../secret.json#/Pet' is outside of the document's directory"),
        ("/etc/passwd", "'/etc/passwd' is outside of the document's directory"),
        ("%2e%2e/secret.json", "'%2e%2e/secret.json' is outside of the document's directory"),
        ("link.json#/Pet", "'link.json#/Pet' is outside of the document's directory"),
        ("none.json", "'none.json': there is no such file"),
        ("fifo", "'fifo': there is no such file"),
        ("latin.json", "'latin.json': not UTF-8"),
        ("broken.json", "broken.json:1: not JSON"),
        ("https://a.example/x.json", "'https://a.example/x.json' is in another file"),
        ("//a.example/x.json", "'//a.example/x.json' is in another file"),
    ],
)
def test_what_is_not_beside_it_is_not_read(tmp_path: Path, reference: str, message: str) -> None:
    folder = tmp_path / "spec"
    folder.mkdir()
    (tmp_path / "secret.json").write_text('{"Pet": {"type": "string", "description": "secret"}}', encoding="utf-8")
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "latin.json").write_bytes(b'{"a": "\xe4"}')
    (folder / "broken.json").write_text("{", encoding="utf-8")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "fifo")
    parameters = [{"name": "a", "in": "query", "schema": {"$ref": reference}}]
    with pytest.raises(DefinitionError) as caught:
        written(folder, {"openapi.json": document({"/x": {"get": {"parameters": parameters, "responses": ANSWER}}})})
    assert message in caught.value.message


def test_files_that_name_each_other_end(tmp_path: Path) -> None:
    one = {"get": {"operationId": "one", "responses": ANSWER, "parameters": [{"$ref": "b.json"}]}}
    circle = document({"/x": {"$ref": "a.json"}, "/y": {"$ref": "b.json"}})
    found = written(tmp_path, {"openapi.json": circle, "a.json": one, "b.json": {"$ref": "c/b.json"}, "c/b.json": {}})
    assert list(found.operations) == ["one"]
    with pytest.raises(DefinitionError, match="refers to itself"):
        written(tmp_path, {"openapi.json": circle, "a.json": {"$ref": "b.json"}, "b.json": {"$ref": "a.json"}})


def test_examples_are_data(tmp_path: Path) -> None:
    operation = {"operationId": "one", "responses": ANSWER, "x-note": {"example": {"$ref": "../../etc/passwd"}}}
    found = written(tmp_path, {"openapi.json": document({"/x": {"get": operation}})})
    assert list(found.operations) == ["one"]
