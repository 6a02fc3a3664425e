"""Which operations are the obvious ones, and what their commands are called."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.openapi import DocumentedReply
from callsheet.programs.resources import named_commands, resources_of, word


def commands(*lines: str, taken: set[str] | None = None) -> dict[str, str]:
    """Words → operation, from lines `METHOD PATH TAG`; a GET of a path without a parameter at its end is a list."""
    operations: dict[str, dict[str, Any]] = {}
    replies: dict[str, DocumentedReply] = {}
    for line in lines:
        method, path, *tag = line.split(" ", 2)
        id = f"{method} {path}"
        operations[id] = {"http": id, "tag": tag[0] if tag else ""}
        replies[id] = DocumentedReply(is_list=method == "GET" and not path.endswith("}"), items=None, fields={})
    named = named_commands(resources_of(operations, replies), taken or set(), "api")
    return {" ".join(each.words): each.operation for each in named}


def test_five_verbs_stand_in_the_group_of_their_tag() -> None:
    found = commands(
        "GET /v1/pets Pets",
        "POST /v1/pets Pets",
        "GET /v1/pets/{id} Pets",
        "PUT /v1/pets/{id} Pets",
        "PATCH /v1/pets/{id} Pets",
        "DELETE /v1/pets/{id} Pets",
    )
    assert list(found) == [f"pets {verb}" for verb in ("list", "get", "create", "update", "delete")]
    assert found["pets update"] == "PATCH /v1/pets/{id}"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["GET /v1/customers", "GET /v1/customers/{id}/cards"], ["customers list", "customers cards"]),
        (["GET /pets x", "POST /pets/{id}/toys x"], ["x list", "x create-toy"]),
        (["GET /x x", "POST /x/{id}/toys x", "GET /x/{id}/toys x"], ["x toys list", "x toys create"]),
        (["GET /repos/{o}/{r}/issues issues", "GET /issues issues"], ["issues list", "issues issues"]),
        (
            ["GET /Accounts/{Sid}/Messages.json", "GET /Accounts/{Sid}/Messages/{Id}.json"],
            ["accounts list", "accounts get"],
        ),
        (["GET /op op"], ["api-op list"]),
        (["GET /a/pets pets", "DELETE /b/pets/{id} pets"], ["pets list", "pets delete"]),
        (["PUT /pet pet", "GET /pet/{id} pet"], ["pet get", "pet update"]),
        (["DELETE /pets pets", "POST /pets/{id} pets"], []),
        (["GET /{id}", "GET /v1", "GET /"], []),
    ],
)
def test_commands_are_called(lines: list[str], words: list[str]) -> None:
    assert set(words) <= set(found := commands(*lines, taken={"op"}))
    assert len(found) == len(set(found.values()))


def test_no_command_is_called_like_a_group() -> None:
    found = commands("GET /pets x", "GET /pets/{p}/list x", "POST /pets/{p}/list x", "GET /list x", "GET /y/get x")
    for name in found:
        assert not any(other.startswith(f"{name} ") for other in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("petId", "pet-id"), ("HTTPServer", "http-server"), ("Pets & co", "pets-co"), ("X-Trace", "x-trace"),
        ("page[size]", "page-size"), ("$top", "top"), ("Ünï", "n"), ("", ""),
    ],
)  # fmt: skip
def test_a_name_becomes_a_word(text: str, expected: str) -> None:
    assert word(text) == expected
