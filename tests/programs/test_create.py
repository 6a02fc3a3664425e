"""A program out of a document: what it has, and that everything in it is sound."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callsheet.errors import DefinitionError
from callsheet.language.layers import layers_with
from callsheet.programs.create import Made, ProgramSource, create_program
from support.imports import text_of

LAYERS = layers_with("x", ["client", "mcp", "listener"], {"CALLSHEET_HOME": os.devnull}, own=False)
Tables = dict[str, dict[str, dict[str, Any]]]


def made(document: Any, **options: Any) -> Made:
    text = document if isinstance(document, str) else json.dumps({"openapi": "3.0.0", **document})
    source = ProgramSource(text, "d", options.get("base_url"), options.get("title"))
    return create_program("pets", source, ["client", "listener"], LAYERS)


def tables(found: Made, *, of: str = "") -> Tables:
    kinds: Tables = {}
    for path, text in found.files.items():
        if path.startswith(of):
            said = tomllib.loads(text)
            assert path.startswith("operations/") or said.pop("language") == 2
            for part in (said, said.pop("extend", {})):
                for kind, each in part.items():
                    kinds.setdefault(kind, {}).update(each)
    return kinds


def reply(schema: Any) -> dict[str, Any]:
    return {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}


@pytest.fixture(scope="module")
def petshop() -> Made:
    return made(text_of("petshop"))


def test_the_document_decides_title_groups_and_commands(petshop: Made) -> None:
    kinds = tables(petshop)
    program = kinds["program"]["pets"]
    assert (program["title"], program["prefix"], program["uses"]) == ("The pet shop", "PETS", ["client", "listener"])
    assert program["sections"]["Commands"] == ["orders", "pets", "direct"]
    assert set(kinds["command"]) == {
        *(f"pets {verb}" for verb in ("list", "create", "photo download", "photo upload", "vaccinations add")),
        *("direct pets get", "direct pets delete", "orders create"),
    }
    assert petshop.commands == len(kinds["command"])
    assert petshop.operations == 8


def test_a_list_has_filters_pages_and_columns(petshop: Made) -> None:
    command = tables(petshop)["command"]["pets list"]
    params = {param["name"]: param for param in command["params"]}
    assert params["kind"]["choices"] == ["cat", "dog"]
    assert params["tenant"]["required"] is True
    assert params["x-trace"] == {
        "name": "x-trace",
        "multiple": True,
        "type": "integer",
        "metavar": "N",
        "required": True,
    }
    assert "old" not in params
    assert command["args"]["X-Trace"] == "{x_trace}"
    assert command["items"] == "pets"
    assert [column["name"] for column in tables(petshop)["view"][command["view"]]["columns"]] == [
        "NAME",
        "KIND",
        "LIVES",
    ]


def test_a_change_takes_options_or_a_whole_body_and_a_removal_asks(petshop: Made) -> None:
    commands = tables(petshop)["command"]
    create = commands["pets create"]
    assert create["body"] == {"kind": "{kind}", "name": "{name}", "lives": "{lives}"}
    assert create["over"] == ["{data}", "{set}"]
    assert commands["direct pets delete"]["confirm"] == "Delete pet {pet_id}?"
    assert "discount" in commands["orders create"]["body"]
    assert "id" not in commands["orders create"]["body"]


def test_names_that_mean_something_already_get_another_one() -> None:
    found = made(
        {
            "info": {"title": "T"},
            "paths": {
                "/auth": {
                    "get": {
                        "operationId": "listAuth",
                        "parameters": [
                            {
                                "name": name,
                                "in": "query",
                                "schema": {"type": "integer" if name == "limit" else "string"},
                            }
                            for name in ("output", "query", "cursor", "all", "given", "site", "1st", "limit")
                        ],
                        "responses": reply({"type": "array", "items": {"type": "object", "properties": {"id": {}}}}),
                    }
                }
            },
        }
    )
    command = tables(found)["command"]["pets-auth list"]
    assert command["args"] == {
        "output": "{output_param}",
        "query": "{query_param}",
        "cursor": "{cursor_param}",
        "all": "{all_param}",
        "given": "{given_param}",
        "site": "{site_param}",
        "1st": "{param_1st}",
        "limit": "{limit}",
    }


def test_operations_whose_names_fold_to_one_have_commands_all_the_same_or_are_named() -> None:
    """An id that says another verb than its method gives no command that means something else."""
    documented = [
        ("/pets", "get", "pets_list"),
        ("/pets", "post", "list_pets"),
        ("/pets/{id}", "get", "pets.list"),
        ("/Pets", "get", "listPets"),
        ("/PETS", "get", "ListPets"),
    ]
    paths: dict[str, Any] = {}
    for path, method, id in documented:
        paths.setdefault(path, {})[method] = {
            "operationId": id,
            "tags": ["pets"],
            "responses": reply({"type": "object"}),
        }
    found = made({"info": {"title": "T"}, "paths": paths})
    commands = {words: table["call"] for words, table in tables(found)["command"].items()}
    assert commands["pets list-pets"] == "list_pets"
    assert tables(found)["command"]["pets list-pets"]["help"] == "List pets"
    left = {id for _, _, id in documented} - set(commands.values())
    assert [note for note in found.notes if note.startswith("operations without a command of their own: ")] == [
        f"operations without a command of their own: {left.pop()}; `pets op call ID` calls any operation"
    ]
    assert not left


def test_a_name_of_the_path_and_the_query_is_one_argument() -> None:
    """Requests have its value in both places."""
    params = [
        {"name": "list_id", "in": where, "required": where == "path", "schema": {"type": "integer"}}
        for where in ("path", "query")
    ]
    get = {"operationId": "getList", "tags": ["Lists"], "parameters": params, "responses": reply({"type": "object"})}
    found = made({"info": {"title": "T"}, "paths": {"/lists/{list_id}": {"get": get}}})
    command = tables(found)["command"]["lists get"]
    assert [(param["name"], param["kind"]) for param in command["params"]] == [("list-id", "argument")]
    assert command["args"] == {"list_id": "{list_id}"}


def test_values_of_a_body_keep_their_types() -> None:
    properties = {
        "tame": {"type": "boolean"},
        "size": {"type": "integer", "enum": [1, 2]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "nested": {"type": "object", "properties": {"a": {}}},
        "ref": {"$ref": "#/components/schemas/Kind"},
    }
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": properties}}}}
    post = {"operationId": "make", "requestBody": body, "responses": reply({"type": "object"})}
    found = made(
        {
            "info": {"title": "T"},
            "paths": {"/pets": {"post": post}},
            "components": {"schemas": {"Kind": {"type": "string", "enum": ["cat"]}}},
        }
    )
    command = tables(found)["command"]["pets create"]
    assert command["body"] == {
        "tame": "{tame && tame == 'true'}",
        "size": "{size && to_number(size)}",
        "tags": "{tags}",
        "ref": "{ref}",
    }
    assert {param["name"]: param.get("choices") for param in command["params"]} == {
        "tame": ["true", "false"], "size": ["1", "2"], "tags": None, "ref": ["cat"], "data": None, "set": None,
    }  # fmt: skip


SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "login": {"type": "http", "scheme": "basic"},
}


@pytest.mark.parametrize(
    ("components", "ways", "usual"),
    [
        ({}, ["none", "token", "basic"], "none"),
        ({"securitySchemes": SCHEMES}, ["none", "pets-key", "pets-login"], "pets-key"),
    ],
)
def test_ways_of_signing_in_are_those_of_the_document_or_the_usual_ones(
    components: Any, ways: list[str], usual: str
) -> None:
    get = {"operationId": "whoAmI", "responses": reply({"type": "object"})}
    found = tables(made({"info": {"title": "T"}, "components": components, "paths": {"/me": {"get": get}}}))
    assert sorted(found["auth"]) == sorted(ways)
    assert found["deployment"]["default"]["method"] == usual


def test_who_is_asked_whether_a_credential_works() -> None:
    listed = {"operationId": "all", "responses": reply({"type": "array", "items": {}})}
    who = {"operationId": "me", "responses": reply({"type": "object"})}
    program = tables(made({"paths": {"/things": {"get": listed}, "/users/me": {"get": who}}}), of="program/")
    assert program["product"]["pets"]["probe"] == {"call": "me"}
    program = tables(made({"paths": {"/things": {"get": listed}}}), of="program/")
    assert program["product"]["pets"]["probe"] == {"call": "all"}


def test_another_address_stands_in_the_place_of_the_documents_server() -> None:
    get = {"operationId": "all", "responses": reply({"type": "array", "items": {}})}
    document = {"servers": [{"url": "https://a.example/v1"}], "paths": {"/things": {"get": get}}}
    kinds = tables(made(document, base_url="http://b.example/test/v2", title="Mine"), of="operations")
    assert kinds["service"]["pets"] == {"title": "Mine", "base_url": "http://b.example"}
    assert kinds["operation"]["all"]["http"] == "GET /test/v2/things"


def test_a_command_that_the_check_refuses_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    get = {"operationId": "all", "responses": reply({"type": "array", "items": {}})}
    other = {"operationId": "other", "responses": reply({"type": "array", "items": {}})}
    monkeypatch.setattr(
        "callsheet.programs.everyday._command_help", lambda named: "\x1b[2J" if named.noun == "thing" else "Fine"
    )
    found = made({"paths": {"/things": {"get": get}, "/others": {"get": other}}})
    assert list(tables(found)["command"]) == ["others list"]
    assert any(note.startswith('command "things list" is left out: ') for note in found.notes)


def test_what_is_no_document_is_an_error() -> None:
    with pytest.raises(DefinitionError, match=r"this is Swagger 1\.2"):
        made('{"swagger": "1.2"}')


def test_making_it_again_makes_the_same(petshop: Made, tmp_path: Path) -> None:
    del tmp_path
    assert made(text_of("petshop")) == petshop


SEGMENTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["check", "out", "item", "list", "v1"]), min_size=1, max_size=3),
        st.sampled_from("/_-."),
    ),
    min_size=1,
    max_size=6,
)


@given(SEGMENTS)
@example([(["check", "out"], "/"), (["check", "out"], "_"), (["check", "out"], "-"), (["check", "out"], ".")])
def test_whatever_the_paths_are_called_everything_is_defined_once(drawn: list[tuple[list[str], str]]) -> None:
    paths: dict[str, Any] = {}
    for number, (words, sign) in enumerate(drawn):
        path = f"/{sign.join(words)}"
        thing = {"type": "object", "properties": {"id": {"type": "string"}, f"n{number}": {"type": "string"}}}
        listing = {"responses": reply({"type": "array", "items": thing})}
        hole = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        paths[path] = {"get": listing, "post": {"responses": reply(thing)}}
        paths[f"{path}/{{id}}"] = {
            each: {"parameters": [hole], "responses": reply(thing)} for each in ("get", "delete")
        }
    found = made({"info": {"title": "Shop", "version": "1"}, "paths": paths})
    seen: set[tuple[str, str]] = set()
    for text in found.files.values():
        for kind, each in tomllib.loads(text).items():
            for id in each if isinstance(each, dict) and kind != "extend" else ():
                assert (kind, id) not in seen
                seen.add((kind, id))
