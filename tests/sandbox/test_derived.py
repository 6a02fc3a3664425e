"""An API that nobody described to the sandbox: its collections are tables, and what it answers fits its document."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import run
from callsheet.sandbox.entities import derived_entities
from callsheet.sandbox.simulated_site import SandboxSite
from support.simulated import ask

TEXT: dict[str, Any] = {"type": "string"}
BOOK = {
    "type": "object",
    "required": ["isbn", "title", "kind", "added", "shelf"],
    "additionalProperties": False,
    "properties": {
        "isbn": {"type": "string", "readOnly": True},
        "title": TEXT,
        "pages": {"type": "integer"},
        "kind": {"enum": ["novel", "poems"]},
        "added": {"type": "string", "format": "date-time", "readOnly": True},
        "shelf": {"type": "integer", "minimum": 10, "readOnly": True},
        "tags": {"type": "array", "items": TEXT},
    },
}
LOAN = {
    "type": "object",
    "required": ["id", "reader"],
    "properties": {"id": {"type": "integer", "readOnly": True}, "reader": TEXT, "days": {"type": "integer"}},
}


def answers(schema: dict[str, Any], status: str = "200") -> dict[str, Any]:
    return {"responses": {status: {"description": "it", "content": {"application/json": {"schema": schema}}}}}


def taking(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def query(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": TEXT} for name in names]


def path(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


LIST = {"type": "object", "properties": {"data": {"type": "array", "items": BOOK}, "meta": {"type": "object"}}}
LIST["properties"]["meta"] = {"type": "object", "properties": {"total": {"type": "integer"}}}  # type: ignore[index]
PAGED = [{"name": name, "in": "query", "schema": {"type": "integer"}} for name in ("page", "per_page")]
BOOKS = {
    "get": {"operationId": "listBooks", "parameters": [*query("kind"), *PAGED], **answers(LIST)},
    "post": {"operationId": "addBook", **taking(BOOK), **answers(BOOK, "201")},
}
ONE = {
    "parameters": [path("isbn", "string")],
    "get": {"operationId": "getBook", **answers(BOOK)},
    "put": {"operationId": "putBook", **taking(BOOK), **answers(BOOK)},
    "patch": {"operationId": "editBook", **taking({**BOOK, "required": []}), **answers(BOOK)},
    "delete": {"operationId": "removeBook", "responses": {"204": {"description": "gone"}}},
}
LOANS = {
    "parameters": [path("isbn", "string")],
    "get": {"operationId": "listLoans", **answers({"type": "array", "items": LOAN})},
    "post": {"operationId": "lend", **taking(LOAN), **answers(LOAN, "201")},
}
LENT = {
    "parameters": [path("isbn", "string"), path("loanId", "integer")],
    "get": {"operationId": "getLoan", **answers(LOAN)},
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Library", "version": "1"},
    "servers": [{"url": "https://library.example/v2"}],
    "paths": {
        "/books": BOOKS,
        "/books/{isbn}": ONE,
        "/books/{isbn}/loans": LOANS,
        "/books/{isbn}/loans/{loanId}": LENT,
        "/reports": {"post": {"operationId": "report", "responses": {"202": {"description": "later"}}}},
    },
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxSite]:
    home = tmp_path_factory.mktemp("library")
    document = home / "openapi.json"
    document.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    environ = {**os.environ, "CALLSHEET_HOME": str(home / "home"), "CALLSHEET_CACHE": str(home / "cache")}
    words = ["new", "library", "--from", str(document), "--no-launcher"]
    assert run("callsheet", words, environ=environ, stdout=io.StringIO(), stderr=io.StringIO()) == 0
    with closing(open_catalog("library", environ)) as catalog, closing(SandboxSite(catalog, "default")) as found:
        yield found


@pytest.fixture(autouse=True)
def _fresh(library: SandboxSite) -> None:
    library.reset_items()


def add(library: SandboxSite, **book: Any) -> Any:
    told = ask(library, "POST /v2/books", {"title": "Leaves", "kind": "poems", **book})
    assert told.status == 201
    assert list(Draft202012Validator(BOOK).iter_errors(told.body)) == []
    return told.body


def test_what_a_new_item_lacks_is_made_up_as_its_schema_wants_it(library: SandboxSite) -> None:
    book = add(library, tags=["grass"])
    assert (book["title"], book["tags"], book["shelf"], "pages" in book) == ("Leaves", ["grass"], 10, False)
    assert ask(library, f"GET /v2/books/{book['isbn']}").body == book


def test_items_are_changed_replaced_and_removed(library: SandboxSite) -> None:
    isbn = add(library, isbn="978-1", tags=["grass"])["isbn"]
    assert isbn == "978-1"
    assert ask(library, f"PATCH /v2/books/{isbn}", {"pages": 99}).body["tags"] == ["grass"]
    assert "tags" not in ask(library, f"PATCH /v2/books/{isbn}", {"tags": None}).body
    replaced = ask(library, f"PUT /v2/books/{isbn}", {"title": "Grass", "kind": "novel"}).body
    assert (replaced["title"], replaced["isbn"], "tags" in replaced) == ("Grass", isbn, False)
    assert ask(library, f"DELETE /v2/books/{isbn}").status == 204
    assert ask(library, f"GET /v2/books/{isbn}").status == 404


def test_what_does_not_fit_is_refused_and_changes_nothing(library: SandboxSite) -> None:
    add(library, isbn="978-1")
    told = ask(library, "POST /v2/books", {"title": 7, "kind": "poems"})
    assert (told.status, "body.title" in told.body["message"]) == (400, True)
    assert ask(library, "POST /v2/books", {"title": "x", "kind": "poems", "isbn": "978-1"}).status == 409
    assert ask(library, "POST /v2/reports", {}).status == 501
    assert ask(library, "GET /v2/books").body["meta"]["total"] == 1


def test_lists_have_pages_and_filters(library: SandboxSite) -> None:
    for number in range(5):
        add(library, isbn=f"b{number}", kind="novel" if number % 2 else "poems")
    pages = [ask(library, f"GET /v2/books?per_page=2&page={page}").body for page in (1, 2, 3)]
    assert [[book["isbn"] for book in page["data"]] for page in pages] == [["b0", "b1"], ["b2", "b3"], ["b4"]]
    assert {page["meta"]["total"] for page in pages} == {5}
    assert [book["isbn"] for book in ask(library, "GET /v2/books?kind=novel").body["data"]] == ["b1", "b3"]


def test_items_belong_to_others(library: SandboxSite) -> None:
    add(library, isbn="978-1")
    add(library, isbn="978-2")
    told = ask(library, "POST /v2/books/978-1/loans", {"id": 1, "reader": "Noor"})
    assert (told.status, told.body) == (201, {"id": 1, "reader": "Noor"})
    assert ask(library, "GET /v2/books/978-1/loans").body == [told.body]
    assert ask(library, "GET /v2/books/978-2/loans").body == []
    assert ask(library, "GET /v2/books/978-2/loans/1").status == 404
    assert ask(library, "POST /v2/books/none/loans", {"id": 2, "reader": "Noor"}).status == 404
    assert ask(library, "DELETE /v2/books/978-1").status == 204
    assert list(library.state.items("library/v2/books/{isbn}/loans")) == []


def test_an_entity_of_ones_own_leaves_the_other_collections_as_they_are(library: SandboxSite) -> None:
    catalog = library.entities.catalog
    whole = derived_entities(catalog, ())
    described = next(iter(next(iter(whole.values()))["actions"]))
    left = derived_entities(catalog, (), [described])
    assert left
    assert left.keys() < whole.keys()
    assert all(described not in each["actions"] for each in left.values())
