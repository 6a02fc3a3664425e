"""What the commands for a few operations are called: which names stand in the way of which."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from callsheet.openapi import DocumentedReply
from callsheet.programs.naming import command_word, named_commands, words_of
from support.places import DEFINITIONS

NAMING = tomllib.loads((DEFINITIONS / "client" / "program.toml").read_text(encoding="utf-8"))["program"]["client"][
    "naming"
]


def commands(*lines: str, taken: set[str] | None = None) -> dict[str, str]:
    """Words → operation, from lines `METHOD PATH TAG`; a GET of a path without a parameter at its end is a list."""
    operations: dict[str, dict[str, Any]] = {}
    replies: dict[str, DocumentedReply] = {}
    for line in lines:
        method, path, *tag = line.split(" ", 2)
        id = f"{method} {path}"
        operations[id] = {"http": id, "tag": tag[0] if tag else ""}
        replies[id] = DocumentedReply(is_list=method == "GET" and not path.endswith("}"), items=None, fields={})
    named = named_commands(operations, replies, taken or set(), "api", words_of([NAMING]))
    return {" ".join(each.words): each.operation for each in named}


def test_the_usual_verbs_stand_in_the_group_of_a_thing() -> None:
    found = commands(
        "GET /v1/pets Pets",
        "POST /v1/pets Pets",
        "GET /v1/pets/{id} Pets",
        "PUT /v1/pets/{id} Pets",
        "PATCH /v1/pets/{id} Pets",
        "DELETE /v1/pets/{id} Pets",
        "DELETE /v1/pets Pets",
    )
    verbs = ("list", "get", "create", "update", "delete", "delete-all")
    assert {f"pets {verb}" for verb in verbs} <= set(found)
    assert found["pets update"] == "PATCH /v1/pets/{id}"
    assert found["pets delete-all"] == "DELETE /v1/pets"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["GET /v1/customers", "GET /v1/customers/{id}/cards"], ["customers list", "customers cards list"]),
        (["GET /x", "POST /x/{id}/toys", "GET /x/{id}/toys"], ["x toys list", "x toys create"]),
        (["GET /repos/{o}/{r}/issues issues", "GET /issues issues"], ["issues list", "repos issues list"]),
        (["GET /a/b/c/d", "GET /x/b/c/d"], ["c d list", "b c d list"]),
        (["GET /Accounts/{Sid}/Messages.json", "GET /Accounts/{Sid}/Messages/{Id}.json"],
         ["accounts messages list", "accounts messages get"]),
        (["GET /op op"], ["api-op list"]),
        (["POST /orders/{id}/cancel", "DELETE /orders/{id}/cancel"], ["orders cancel"]),
        (["POST /jobs/{id}:stop", "GET /jobs/{id}"], ["jobs stop", "jobs get"]),
        (["GET /albums/albums/{id}"], ["albums get"]),
        (["GET /{id}", "GET /v1", "GET /"], []),
    ],
)  # fmt: skip
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
    assert command_word(text) == expected
