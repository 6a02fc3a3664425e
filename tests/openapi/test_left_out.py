"""What an import cannot take over is left out alone, and said."""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from callsheet.cli.main import run
from callsheet.errors import DefinitionError
from callsheet.openapi import ImportResult, import_document
from callsheet.openapi.security import CredentialPlace
from support.programs import small_program

HEAD = {"openapi": "3.0.1", "info": {"title": "t", "version": "1"}}
GOOD = {"operationId": "good", "responses": {"200": {"description": "ok"}}}
STRING = {"type": "string"}
DEEP: dict[str, Any] = {}
for _ in range(80):
    DEEP = {"type": "array", "items": DEEP}


def imported(paths: dict[str, Any], names: Collection[CredentialPlace] = (), **more: Any) -> ImportResult:
    return import_document(json.dumps({**HEAD, **more, "paths": paths}), "shop", name="d", credential_names=names)


BAD = [
    ({"parameters": 7}, "not valid OpenAPI"),
    ({"parameters": [{"$ref": "#/components/parameters/none"}]}, "cannot be resolved"),
    (
        {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/X"}}}}},
        "schemas/X' cannot be resolved",
    ),
    ({"responses": [1]}, "not valid OpenAPI"),
    ({"requestBody": {"content": {"application/json": {"schema": DEEP}}}}, "schema postBad: nested too deeply"),
]


@pytest.mark.parametrize("names", [(), (CredentialPlace("query", "token"),)], ids=["", "looking for credentials"])
@pytest.mark.parametrize(("operation", "why"), BAD, ids=[why for _, why in BAD])
def test_a_bad_operation_is_left_out_and_the_others_are_taken(
    operation: dict[str, Any], why: str, names: tuple[CredentialPlace, ...]
) -> None:
    result = imported({"/good": {"get": GOOD}, "/bad": {"post": {"responses": {}, **operation}}}, names)
    assert list(result.operations) == ["good"]
    (note,) = result.notes
    assert note.startswith("POST /bad is left out: ")
    assert why in note


def test_a_path_that_cannot_be_read_is_left_out() -> None:
    result = imported({"/good": {"get": GOOD}, "/bad": {"$ref": "other.yaml#/x"}})
    assert list(result.operations) == ["good"]
    assert result.notes == ["/bad is left out: 'other.yaml#/x' is in another file"]


def test_a_schema_of_an_operation_that_is_left_out_does_not_stay_half_read() -> None:
    """Another operation that uses it must not find an empty one under its name."""
    schemas = {"A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    using = {"responses": {}, "requestBody": body}
    paths = {"/bad": {"post": using, "put": using}, "/good": {"get": GOOD}}
    result = imported(paths, components={"schemas": schemas})
    assert list(result.operations) == ["good"]
    assert result.schemas == {}


def test_when_nothing_is_left_it_is_an_error() -> None:
    with pytest.raises(DefinitionError, match=r"d: POST /bad: not valid OpenAPI") as raised:
        imported({"/bad": {"post": {"parameters": 7}}})
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("path", "http", "params"),
    [
        ("/#Action=ListUsers", "GET /", []),
        ("/things/{id}#detail", "GET /things/{id}", []),
        ("/files/{key+}", "GET /files/{key}", []),
        ("/files/:key/copies", "GET /files/{key}/copies", []),
        ("/?comp=list&x", "GET /", [("comp", ["list"]), ("x", [""])]),
    ],
)
def test_only_the_path_is_sent_as_the_path(path: str, http: str, params: list[tuple[str, list[str]]]) -> None:
    operation = imported({path: {"get": GOOD}}).operations["good"]
    assert operation["http"] == http
    assert [(param["name"], param["enum"]) for param in operation.get("params", [])] == params


def test_query_parameters_of_a_path_with_a_fragment_arrive() -> None:
    action = {"name": "Action", "in": "query", "required": True, "schema": {**STRING, "enum": ["ListUsers"]}}
    operation = imported({"/#Action=ListUsers": {"get": {**GOOD, "parameters": [action]}}}).operations["good"]
    assert operation["params"] == [{"name": "Action", "required": True, "enum": ["ListUsers"]}]


def test_what_definitions_cannot_say_is_noted() -> None:
    parameters = [
        {"name": "key", "in": "path", "required": True, "style": "matrix", "schema": STRING},
        {"name": "count", "in": "query", "schema": {"type": "integer", "multipleOf": 5, "exclusiveMinimum": True}},
        {"name": "session", "in": "cookie", "schema": STRING},
    ]
    item = {
        "trace": GOOD,
        "get": {
            **GOOD,
            "parameters": parameters,
            "servers": [{"url": "https://c.example"}, {"url": "https://e.example"}],
        },
    }
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}, "basic": {"type": "http", "scheme": "basic"}}
    servers = [{"url": "https://a.example"}, {"url": "https://b.example"}]
    result = imported({"/{key}": item}, servers=servers, components={"securitySchemes": schemes})
    assert result.notes == [
        "servers: https://a.example is taken; also documented: https://b.example",
        "security scheme 'key' (a key in the header 'X-Key') is left out: `init --method` says how one signs in",
        "security scheme 'basic' (http basic) is left out: `init --method` says how one signs in",
        "TRACE /{key} is left out",
        "GET /{key}: 'key' is sent without the signs of style matrix",
        "GET /{key}: 'count' multipleOf, exclusiveMinimum are not checked before it is sent",
        "GET /{key}: cookie parameter 'session' is left out",
        "GET /{key}: documented at c.example, sent to the product's own address",
        "GET /{key}: servers: https://c.example is taken; also documented: https://e.example",
    ]


def test_a_note_that_many_operations_share_is_told_once() -> None:
    item = {"get": {"responses": {}, "parameters": [{"name": "s", "in": "cookie", "schema": STRING}]}}
    result = imported({f"/{number}": item for number in range(9)})
    assert result.notes == ["GET /0 and 8 others: cookie parameter 's' is left out"]


def test_what_the_program_would_not_accept_is_left_out_too(tmp_path: Path) -> None:
    """And no message names the temporary files in which that was found."""
    header = {"name": "bad name", "in": "header", "schema": STRING}
    paths = {"/good": {"get": GOOD}, "/bad": {"get": {"operationId": "bad", "responses": {}, "parameters": [header]}}}
    (tmp_path / "shop.json").write_text(json.dumps({**HEAD, "paths": paths}), encoding="utf-8")
    words = ["definitions", "import", str(tmp_path / "shop.json"), "--product", "shop"]
    small_program(tmp_path / "home")
    out, err = io.StringIO(), io.StringIO()
    code = run("shop", words, environ={"CALLSHEET_HOME": str(tmp_path / "home")}, stdout=out, stderr=err)
    assert code == 0, err.getvalue()
    assert "1 operation" in out.getvalue()
    assert err.getvalue() == "note: GET /bad is left out: params.0.name: 'bad name' cannot be the name of a header\n"


def test_what_of_a_parameter_cannot_be_checked_is_noted() -> None:
    values = [
        ("late", {**STRING, "pattern": "(a+)+$"}),
        ("odd", {**STRING, "pattern": "[[a]"}),
        ("huge", {"type": "integer", "maximum": 10**400, "minimum": 1}),
    ]
    params = [{"name": name, "in": "query", "schema": schema} for name, schema in values]
    result = imported({"/good": {"get": {**GOOD, "parameters": params}}})
    assert result.operations["good"]["params"] == [
        {"name": "late"},
        {"name": "odd"},
        {"name": "huge", "type": "integer", "minimum": 1},
    ]
    assert [note.partition(" is not checked before it is sent")[0] for note in result.notes] == [
        "GET /good: 'late' pattern '(a+)+$'",
        "GET /good: 'odd' pattern '[[a]'",
        "GET /good: 'huge' maximum",
    ]


def test_a_pattern_that_can_take_for_ever_is_left_out_of_a_schema() -> None:
    schema = {"properties": {"x": {**STRING, "pattern": "(a+)+$"}}, "patternProperties": {"(b+)+$": {}, "^x-": {}}}
    body = {"content": {"application/json": {"schema": schema}}}
    result = imported({"/good": {"post": {**GOOD, "requestBody": body}}})
    (table,) = result.schemas.values()
    assert table == {"properties": {"x": STRING}, "patternProperties": {"^x-": {}}}
    assert len(result.notes) == 2


@pytest.mark.parametrize("name", ["X Key:", "Host", ""])
def test_a_key_that_nothing_can_be_called_is_left_out(name: str) -> None:
    schemes = {"k": {"type": "apiKey", "in": "header", "name": name}}
    result = import_document(
        json.dumps({**HEAD, "paths": {"/good": {"get": GOOD}}, "components": {"securitySchemes": schemes}}),
        "shop",
        name="d",
        introduce=1,
    )
    assert result.notes == [f"security scheme 'k' is left out: a header cannot be called {name!r}"]
    assert "auth" not in result.introduction


LONG = 1500


def long_chain(parts: int) -> dict[str, Any]:
    """Schemas that are each made of the next one, named so many times."""
    schemas = {f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * parts} for n in range(LONG)}
    return {"schemas": {**schemas, f"S{LONG}": {"type": "object", "properties": {"sku": STRING}}}}


@pytest.mark.parametrize("parts", [1, 2])
def test_a_chain_of_schemas_may_be_as_long_as_it_is(parts: int) -> None:
    """Neither calls within calls nor twice the work for each of its links."""
    content = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    query = {"name": "q", "in": "query", "schema": {"$ref": "#/components/schemas/S0"}}
    using = {"operationId": "new", "parameters": [query], "requestBody": content}
    paths = {"/a": {"post": {**using, "responses": {"200": {"description": "ok", **content}}}}}
    text = json.dumps({**HEAD, "paths": paths, "components": long_chain(parts)})
    result = import_document(text, "shop", name="d", with_replies=True)
    assert result.notes == []
    assert list(result.operations) == ["new"]
    assert len(result.schemas) == LONG + 1
    assert list(result.replies["new"].fields) == ["sku"]


def test_what_shares_many_parts_at_each_level_is_read_once() -> None:
    """Twenty parts at eight levels are 25,600,000,000 when each is read for itself."""
    levels = {f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 20} for n in range(12)}
    query = {"name": "q", "in": "query", "schema": {"$ref": "#/components/schemas/S5"}}
    paths = {"/a": {"get": {**GOOD, "parameters": [query]}}}
    result = imported(paths, components={"schemas": {**levels, "S12": {"type": "integer"}}})
    assert result.operations["good"]["params"][0]["type"] == "integer"


def test_an_operation_whose_answer_cannot_be_read_is_left_out_whole() -> None:
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/none"}}}}}
    text = json.dumps({**HEAD, "paths": {"/good": {"get": GOOD}, "/bad": {"post": {"responses": answer}}}})
    result = import_document(text, "shop", name="d", with_replies=True)
    assert list(result.operations) == list(result.replies) == ["good"]


def uploaded(media: str, **parts: Any) -> ImportResult:
    schema = {"type": "object", "properties": parts}
    return imported({"/a": {"post": {**GOOD, "requestBody": {"content": {media: {"schema": schema}}}}}})


def test_the_text_called_file_of_an_upload_without_files_is_the_file() -> None:
    result = uploaded("multipart/form-data", file=STRING, note=STRING)
    assert result.operations["good"]["body"]["parts"] == {"file": {"file": True}, "note": {}}
    assert result.notes == ["POST /a: the part 'file' is taken for a file"]


@pytest.mark.parametrize(
    ("media", "parts"),
    [
        ("application/x-www-form-urlencoded", {"file": STRING}),
        ("multipart/form-data", {"file": STRING, "image": {**STRING, "format": "binary"}}),
        ("multipart/form-data", {"file": {**STRING, "format": "uri"}}),
        ("multipart/form-data", {"file": {"type": "integer"}}),
        ("multipart/form-data", {"name": STRING}),
    ],
)
def test_any_other_text_called_file_stays_a_text(media: str, parts: dict[str, Any]) -> None:
    result = uploaded(media, **parts)
    assert not result.operations["good"]["body"]["parts"].get("file", {}).get("file")
    assert result.notes == []


SCHEMAS = [  # what a document says of a body, and what an import keeps of it
    ({"type": "array", "minProperties": 1, "items": STRING}, {"type": "array", "items": STRING}),
    ({"type": "object", "maxLength": 9, "properties": {"a": STRING}}, {"type": "object", "properties": {"a": STRING}}),
    ({"type": "integer", "enum": [1, "2", 1]}, {"type": "integer", "enum": [1]}),
    ({"type": "boolean", "default": "yes"}, {"type": "boolean"}),
    (
        {"type": "object", "required": ["a", "b", "a"], "properties": {"a": STRING}},
        {"type": "object", "required": ["a", "b"], "properties": {"a": STRING, "b": {}}},
    ),
    (
        {"allOf": [{"required": ["b"], "properties": {"a": STRING}}, {"properties": {"b": STRING}}]},
        {"allOf": [{"required": ["b"], "properties": {"a": STRING}}, {"properties": {"b": STRING}}]},
    ),
]


@pytest.mark.parametrize(("said", "kept"), SCHEMAS, ids=range(len(SCHEMAS)))
def test_what_says_nothing_of_any_value_is_not_kept(said: dict[str, Any], kept: dict[str, Any]) -> None:
    body = {"content": {"application/json": {"schema": said}}}
    result = imported({"/good": {"post": {**GOOD, "requestBody": body}}})
    assert [*result.schemas.values()] == [kept]


def test_a_list_whose_body_takes_the_page_by_a_part_of_its_schema_comes_in_pages(tmp_path: Path) -> None:
    paging = {"type": "object", "properties": {"page": {"type": "integer"}, "page_size": {"type": "integer"}}}
    body = {"allOf": [{"$ref": "#/components/schemas/Paging"}], "properties": {"q": STRING}}
    listed = {"type": "array", "items": {"type": "object", "properties": {"id": STRING}}}
    answer = {"200": {"description": "x", "content": {"application/json": {"schema": listed}}}}
    search = {"requestBody": {"content": {"application/json": {"schema": body}}}, "responses": answer}
    get = {
        "parameters": [{"name": name, "in": "query", "schema": {"type": "integer"}} for name in paging["properties"]]
    }
    paths = {"/things": {"get": {**get, "responses": answer}}, "/things/search": {"post": search}}
    document = {**HEAD, "paths": paths, "components": {"schemas": {"Paging": paging}}}
    (tmp_path / "d.json").write_text(json.dumps(document), encoding="utf-8")
    err = io.StringIO()
    words = ["new", "shop", "--from", str(tmp_path / "d.json"), "--no-launcher"]
    environ = {"CALLSHEET_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    assert run("callsheet", words, environ=environ, stdin=io.StringIO(), stdout=io.StringIO(), stderr=err) == 0
    assert "left out" not in err.getvalue()


def test_a_parameter_of_the_name_of_one_in_the_path_is_left_out() -> None:
    """Arguments have one name, and a value for the path would be sent a second time."""
    listed = [{"name": "id", "in": place, "required": True, "schema": STRING} for place in ("path", "query", "header")]
    upper = {"name": "ID", "in": "query", "schema": STRING}
    result = imported({"/things/{id}": {"get": {**GOOD, "parameters": [*listed, upper]}}})
    assert result.operations["good"]["params"] == [{"name": "ID", "in": "query"}]
    assert result.notes == [
        f"GET /things/{{id}}: {place} parameter 'id' is left out: the path has one of this name"
        for place in ("query", "header")
    ]


TOKEN = {"name": "token", "in": "query", "schema": {"type": "string"}}
BESIDE_A_TOKEN = [
    {"name": [], "in": "query"},
    {"name": {}, "in": {}},
    {"name": "q", "in": ["query"]},
    {"$ref": "#/nowhere"},
    5,
]


@pytest.mark.parametrize("other", BESIDE_A_TOKEN, ids=map(str, BESIDE_A_TOKEN))
def test_no_operation_takes_a_credential_whatever_stands_beside_it(other: Any) -> None:
    paths = {f"/good{number}": {"get": {"parameters": [TOKEN], "responses": {}}} for number in range(3)}
    bad = {"get": {"parameters": [TOKEN, other], "responses": {}}}
    result = imported({**paths, "/bad": bad}, [CredentialPlace("query", "token")])
    assert len(result.operations) >= len(paths)
    assert "token" not in json.dumps(list(result.operations.values()))
