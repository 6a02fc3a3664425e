"""Ids: bare, then behind the product, then behind product and tag, then behind what tells the paths apart."""

from __future__ import annotations

import pytest

from callsheet.openapi.document import HttpOperation
from callsheet.openapi.operation_definitions import assign_ids, file_slug, operation_name


def call(path: str, id: str | None = "get", tag: str | None = None, method: str = "GET") -> HttpOperation:
    operation = {"operationId": id, "tags": [tag] if tag else []}
    return HttpOperation(path, method, {key: value for key, value in operation.items() if value}, {})


def test_each_clash_takes_the_next_form() -> None:
    calls = [
        call("/a"),
        call("/b", tag="My Things"),
        call("/c", tag="My Things"),
        call("/d/{id}/left", tag="My Things"),
        call("/d/{id}/right", tag="My Things"),
        call("/d/{id}/{right}", tag="My Things"),
    ]
    assert assign_ids(calls, "shop", set()) == [
        "get",
        "shop.get",
        "shop.my-things.get",
        "shop.d.get",
        "shop.right.get",
        "shop.get-2",
    ]


def test_the_products_before_keep_theirs() -> None:
    assert assign_ids([call("/a"), call("/b")], "shop", {"get", "x"}) == ["shop.get", "shop.b.get"]


def test_without_a_tag_the_segment_stands_in_its_place() -> None:
    assert assign_ids([call("/x/a"), call("/x/b"), call("/x/c")], "p", set()) == ["get", "p.get", "p.c.get"]


@pytest.mark.parametrize(
    ("path", "method", "name"),
    [
        ("/pets", "GET", "getPets"),
        ("/pets/{petId}", "DELETE", "deletePetsByPetId"),
        ("/pets/{pet-id}/toys.json", "PUT", "putPetsByPetIdToysJson"),
        ("/", "GET", "get"),
    ],
)
def test_names_are_made_where_a_document_has_none(path: str, method: str, name: str) -> None:
    assert operation_name(call(path, None, method=method)) == name


def test_names_are_kept_but_for_spaces() -> None:
    assert operation_name(call("/", " repos/list  all ")) == "repos/list-all"


@pytest.mark.parametrize(
    ("tag", "name"), [("Content - attachments", "content-attachments"), ("Ünï", "n"), ("用户", ""), ("A&B", "a-b")]
)
def test_tags_as_file_names(tag: str, name: str) -> None:
    assert file_slug(tag) == name
