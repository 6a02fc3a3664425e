"""Which operations of a document take something away, although they are no DELETE."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callsheet.openapi import import_document


def imported(method: str, path: str, id: str) -> Any:
    operation = {"operationId": id, "responses": {"204": {"description": "done"}}}
    document = {"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": {path: {method: operation}}}
    return next(iter(import_document(json.dumps(document), "x", name="x").operations.values())).get("safety")


@pytest.mark.parametrize(
    ("method", "path", "id", "safety"),
    [
        ("post", "/things/delete", "things", "destroy"),
        ("post", "/things/{id}/trash", "moveThing", "destroy"),
        ("patch", "/things", "removeThings", "destroy"),
        ("put", "/things/{id}/revoke-access", "access", "destroy"),
        ("post", "/things/remove/{id}", "x", "destroy"),
        ("post", "/things/removed/list", "x", None),
        ("post", "/deletes/list", "listThem", None),
        ("post", "/things", "undeleteThing", None),
        ("get", "/things/delete", "askForDelete", None),
        ("delete", "/things/{id}", "removeThing", None),
    ],
)
def test_a_word_tells(method: str, path: str, id: str, safety: str | None) -> None:
    assert imported(method, path, id) == safety
