"""What commands of many services are called: mostly what a person would type, and never a verb that they do not do."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from callsheet.programs.naming import Nouns, command_word, named_commands, words_of
from support.machine import Machine
from support.places import CASES, DEFINITIONS

TABLE = tomllib.loads((CASES / "command_names.toml").read_text(encoding="utf-8"))
NAMING = tomllib.loads((DEFINITIONS / "client" / "program.toml").read_text(encoding="utf-8"))["program"]["client"][
    "naming"
]
LEAST = 0.9
READS = {"list", "get", "search", "find", "check", "count", "info", "download", "preview", "validate"}
REMOVES = {"delete", "remove", "purge", "unstar", "unlock", "unfollow", "disable", "kick", "cancel", "void"}


class Row(NamedTuple):
    id: str
    http: str
    what: str
    tag: str
    wanted: str


def rows(service: str) -> Iterator[Row]:
    for line in TABLE[service]["operations"].strip().splitlines():
        http, id, what, tag, wanted = (part.strip() for part in line.split("|"))
        yield Row(id, http, what, tag, wanted)


def operation(row: Row) -> dict[str, Any]:
    table: dict[str, Any] = {"http": row.http, "tag": row.tag, "reply": "binary" if row.what == "file" else "json"}
    if row.what == "upload":
        table["body"] = {"media": "multipart/form-data", "parts": {"file": {"file": True}}}
    return table


def named(service: str) -> dict[str, str]:
    """Words by operation."""
    every = list(rows(service))
    replies = {row.id: SimpleNamespace(is_list=row.what == "list") for row in every}
    found = named_commands({row.id: operation(row) for row in every}, replies, set(), "x", words_of([NAMING]))
    return {each.operation: " ".join(each.words) for each in found}


def differences() -> list[tuple[Row, str]]:
    return [
        (row, found.get(row.id, ""))
        for service in TABLE
        for found in [named(service)]
        for row in rows(service)
        if found.get(row.id) != row.wanted
    ]


def meaning(words: str) -> str:
    verb = words.rpartition(" ")[2].partition("-")[0]
    return "reads" if verb in READS else "removes" if verb in REMOVES else "does"


def test_nine_of_ten_are_what_a_person_would_type() -> None:
    count = sum(len(list(rows(service))) for service in TABLE)
    assert len(TABLE) >= 12
    assert count >= 240
    other = differences()
    assert len(other) <= (1 - LEAST) * count, "\n".join(
        f"{row.http}: {found!r}, not {row.wanted!r}" for row, found in other
    )


def test_no_name_misleads() -> None:
    wrong = [(row.http, found) for row, found in differences() if found and meaning(found) != meaning(row.wanted)]
    assert wrong == []


def test_no_group_is_repeated_and_no_word_is_cut() -> None:
    for service in TABLE:
        for id, words in named(service).items():
            parts = words.split()
            assert len(set(parts)) == len(parts), (id, words)
            assert not [part for part in parts if part.endswith(("statu", "kubernete", "addres"))]


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("statuses", "status"), ("status", "status"), ("kubernetes", "kubernetes"), ("caches", "cache"),
        ("cookies", "cookie"), ("addresses", "address"), ("node-pools", "node-pool"), ("analyses", "analysis"),
        ("data", "data"), ("people", "person"), ("archives", "archive"), ("dns", "dns"), ("pet", "pet"),
    ],
)  # fmt: skip
def test_one_of_many(many: str, one: str) -> None:
    assert Nouns(NAMING["unchanging"]).singular(many) == one


def test_names_of_an_api_are_words() -> None:
    assert [command_word(text) for text in ("petId", "Pets & co", "HTTPServer", "a_b.c")] == [
        "pet-id",
        "pets-co",
        "http-server",
        "a-b-c",
    ]


def test_a_word_is_no_name_of_a_thing_where_get_takes_none(tmp_path: Path) -> None:
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}
    paths = {
        "/files/settings": {"get": {"operationId": "settings", "responses": answer}},
        "/pets": {"get": {"operationId": "pets", "responses": answer}},
        "/pets/{id}": {"get": {"operationId": "pet", "responses": answer}},
    }
    document = {"openapi": "3.0.0", "info": {"title": "Chat", "version": "1"}, "paths": paths}
    (tmp_path / "chat.json").write_text(json.dumps(document))
    machine = Machine(tmp_path)
    assert machine("new", "chat", "--from", str(tmp_path / "chat.json"), "--base-url", "http://localhost:9") == 0
    assert machine("files", "settings", "rex", program="chat") == 2
    assert machine.err.splitlines()[1] == "hint: its commands are get; see chat files settings --help"
    assert machine("pets", "rex", program="chat") == 2
    assert machine.err.splitlines()[1] == "hint: did you mean `chat pets get rex`?"
