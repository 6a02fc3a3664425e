"""Swagger 2.0 becomes the same as OpenAPI 3, and whatever stands in such a document is an import or an error."""

from __future__ import annotations

import contextlib
import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.errors import DefinitionError
from callsheet.openapi import import_document
from callsheet.openapi.document import Document, as_openapi_3, read_document
from support import places as cases

JSON = "application/json"
CASES = tomllib.loads((cases.CASES / "swagger.toml").read_text("utf-8"))


def operation_of(operation: dict[str, Any], **whole: Any) -> dict[str, Any]:
    """What an operation becomes."""
    tree = {"swagger": "2.0", "paths": {"/x": {"post": operation}}, **whole}
    found: dict[str, Any] = as_openapi_3(tree)["paths"]["/x"]["post"]
    return found


@pytest.mark.parametrize("case", CASES["address"], ids=lambda case: str(case["given"])[:60])
def test_where_it_is_served(case: dict[str, Any]) -> None:
    given, wanted = case["given"], case["wanted"]
    assert [server["url"] for server in as_openapi_3({"swagger": "2.0", **given})["servers"]] == wanted


@pytest.mark.parametrize("case", CASES["parameter"], ids=lambda case: str(case["given"])[:60])
def test_a_parameter(case: dict[str, Any]) -> None:
    parameter, wanted = case["given"], case["wanted"]
    shared = {"limit": {"name": "limit", "in": "query", "type": "integer", "default": 20}}
    assert operation_of({"parameters": [parameter]}, parameters=shared)["parameters"] == [wanted]


@pytest.mark.parametrize("case", CASES["body"], ids=lambda case: str(case["given"])[:60])
def test_a_body(case: dict[str, Any]) -> None:
    operation, wanted = case["given"], case["wanted"]
    assert operation_of(operation)["requestBody"] == wanted


def test_parameters_of_a_path_are_those_of_its_operations() -> None:
    tree = {
        "swagger": "2.0",
        "consumes": ["application/json"],
        "paths": {
            "/x/{id}": {
                "parameters": [
                    {"name": "id", "in": "path", "type": "string", "required": True},
                    {"name": "old", "in": "body", "schema": {"type": "string"}},
                ],
                "put": {"parameters": [{"name": "new", "in": "body", "schema": {"type": "integer"}}]},
                "post": {},
            }
        },
    }
    found = as_openapi_3(tree)["paths"]["/x/{id}"]
    assert [each["name"] for each in found["put"]["parameters"]] == ["id"]
    assert found["put"]["requestBody"]["content"][JSON]["schema"] == {"type": "integer"}
    assert found["post"]["requestBody"]["content"][JSON]["schema"] == {"type": "string"}


def test_answers_and_schemas() -> None:
    found = operation_of(
        {
            "produces": ["application/json", "text/csv"],
            "responses": {
                "200": {"description": "", "schema": {"type": "file"}, "headers": {"X-Left": {"type": "integer"}}},
                "404": {"$ref": "#/responses/Gone"},
            },
        },
        responses={"Gone": {"description": "gone", "schema": {"$ref": "#/definitions/Error"}}},
    )["responses"]
    assert found["200"]["content"]["text/csv"]["schema"] == {"type": "string", "format": "binary"}
    assert found["200"]["headers"] == {"X-Left": {"schema": {"type": "integer"}}}
    assert found["404"]["content"][JSON]["schema"] == {"$ref": "#/components/schemas/Error"}
    pet = {"type": "object", "discriminator": "kind", "properties": {"kind": {"type": "string", "x-nullable": True}}}
    assert as_openapi_3({"swagger": "2.0", "definitions": {"Pet": pet}})["components"]["schemas"]["Pet"] == {
        "type": "object",
        "discriminator": {"propertyName": "kind"},
        "properties": {"kind": {"type": "string", "x-nullable": True, "nullable": True}},
    }


@pytest.mark.parametrize("case", CASES["security"], ids=lambda case: str(case["given"])[:60])
def test_a_way_to_sign_in(case: dict[str, Any]) -> None:
    scheme, wanted = case["given"], case["wanted"]
    tree = {"swagger": "2.0", "securityDefinitions": {"one": scheme}}
    assert as_openapi_3(tree)["components"]["securitySchemes"]["one"] == wanted


def test_it_is_imported_as_its_openapi_3_is() -> None:
    schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    of_path = {"name": "id", "in": "path", "required": True}
    body = {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
    content = {JSON: {"schema": {"$ref": "#/components/schemas/Pet"}}}
    put = {"operationId": "putPet", "parameters": [{**of_path, "type": "string"}, body]}
    one = {"host": "pets.example", "basePath": "/v1", "definitions": {"Pet": schema}}
    other = {"servers": [{"url": "https://pets.example/v1"}], "components": {"schemas": {"Pet": schema}}}
    put_3 = {
        "operationId": "putPet",
        "parameters": [{**of_path, "schema": {"type": "string"}}],
        "requestBody": {"required": True, "content": content},
    }
    documents = (
        {"swagger": "2.0", "info": {"title": "Pets"}, **one, "paths": {"/pets/{id}": {"put": put}}},
        {"openapi": "3.0.3", "info": {"title": "Pets"}, **other, "paths": {"/pets/{id}": {"put": put_3}}},
    )
    assert len({repr(import_document(json.dumps(each), "p", name="d")) for each in documents}) == 1


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"swaggerVersion": "1.2"}, "this is Swagger 1.2"),
        ({"swagger": "1.2"}, "this is Swagger 1.2"),
        ({"kind": "discovery#restDescription"}, "this is a Google Discovery document"),
        ({"info": {"schema": "https://schema.getpostman.com/json/collection/v2.1.0/"}}, "this is a Postman collection"),
        ({"asyncapi": "3.0.0"}, "this is an AsyncAPI document"),
        ({"data": {"__schema": {}}}, "this is the schema of a GraphQL service"),
        ({"log": {"version": "1.2", "entries": []}}, "this is a HAR file"),
        ({"_type": "export", "__export_format": 4}, "this is an export of Insomnia"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "this is a JSON Schema"),
        ({"data": [], "info": 1}, "no 'openapi' key"),
    ],
)
def test_another_kind_of_document_is_named(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        Document("d", tree)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("\n<!DOCTYPE html>\n<html></html>", "a web page"),
        ('<?xml version="1.0"?>\n<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>', "a WSDL document"),
        ('<application xmlns="http://wadl.dev.java.net/2009/02"/>', "a WADL document"),
        ("#%RAML 1.0\ntitle: x\n", "a RAML document"),
        ("FORMAT: 1A\n# Shop\n", "an API Blueprint"),
        ('// a\nsyntax = "proto3";\n', "a file of protocol buffers"),
        ("# pets\ntype Query {\n  pets: [Pet]\n}\n", "the schema of a GraphQL service"),
        ('"""Pets"""\nschema { query: Query }\n', "the schema of a GraphQL service"),
        ("scalar Date\n", "the schema of a GraphQL service"),
    ],
)
def test_what_is_no_table_is_named_by_its_beginning(text: str, kind: str) -> None:
    with pytest.raises(DefinitionError, match=f"d: this is {kind}, expected OpenAPI 3 or Swagger 2.0") as raised:
        read_document(text, "d")
    assert raised.value.hint


WORDS = st.sampled_from(["", "array", "file", "body", "#/definitions/A", "csv"])
NAMES = ("$ref", "type", "in", "name", "schema", "parameters", "responses", "items", "get", "200", "headers", "x")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("host", "basePath", "schemes", "consumes", "paths", "definitions", "parameters", "securityDefinitions", "info")


@pytest.mark.slow
@given(tree=st.dictionaries(st.sampled_from(KEYS), ANYTHING), item=ANYTHING)
def test_whatever_stands_in_it_is_imported_or_an_error(tree: dict[str, Any], item: Any) -> None:
    tree = {"paths": {"/x": item}, **tree, "swagger": "2.0"}
    with contextlib.suppress(DefinitionError):
        import_document(json.dumps(tree), "p", name="d")
