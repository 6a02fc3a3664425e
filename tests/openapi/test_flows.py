"""The flows of OAuth 2.0 that a document describes: which become ways of signing in, and what is said of the others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callsheet.openapi import import_document

GOOD = {"operationId": "good", "responses": {"200": {"description": "ok"}}}
TOKEN = "https://id.example/token"


def imported(flows: dict[str, Any], server: str = "https://api.example/v1") -> tuple[dict[str, Any], list[str]]:
    """The OAuth tables of the auth definitions by id, and the notes."""
    document = {
        "openapi": "3.0.0",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": server}],
        "paths": {"/good": {"get": GOOD}},
        "components": {"securitySchemes": {"k": {"type": "oauth2", "flows": flows}}},
    }
    result = import_document(json.dumps(document), "shop", name="d", introduce=1)
    ways = result.introduction.get("auth", {})
    return {id: table["oauth"] for id, table in ways.items()}, result.notes


def test_each_flow_is_a_way_of_its_own() -> None:
    flows = {
        "clientCredentials": {"tokenUrl": TOKEN, "scopes": {"read": "x"}},
        "authorizationCode": {"authorizationUrl": "https://id.example/go", "tokenUrl": TOKEN, "scopes": {}},
        "deviceAuthorization": {"deviceAuthorizationUrl": "https://id.example/device", "tokenUrl": TOKEN},
    }
    found, notes = imported(flows)
    assert notes == []
    assert found["shop-k-app"] == {"grant": "client_credentials", "token": TOKEN, "scopes": ["read"]}
    assert (found["shop-k"]["authorize"], found["shop-k"]["token"]) == ("https://id.example/go", TOKEN)
    assert found["shop-k-device"]["device"] == "https://id.example/device"


@pytest.mark.parametrize(
    ("url", "server", "expected"),
    [
        ("/oauth/token", "https://api.example/v1", "https://api.example/oauth/token"),
        ("token", "https://api.example/v1/", "https://api.example/v1/token"),
        ("http://127.0.0.1:8080/token", "https://api.example", "http://127.0.0.1:8080/token"),
        ("/token", "http://localhost:8080/v1", "http://localhost:8080/token"),
    ],
)
def test_an_address_may_be_relative_to_the_server_or_on_this_machine(url: str, server: str, expected: str) -> None:
    found, notes = imported({"clientCredentials": {"tokenUrl": url}}, server)
    assert (found["shop-k-app"]["token"], notes) == (expected, [])


@pytest.mark.parametrize(
    ("flows", "server", "why"),
    [
        ({"password": {"tokenUrl": TOKEN}}, "https://a.example", "it is none that is known here"),
        ({"implicit": {"authorizationUrl": TOKEN}}, "https://a.example", "it is none that is known here"),
        (
            {"clientCredentials": {"tokenUrl": "http://id.example/t"}},
            "https://a.example",
            "'http://id.example/t' is not an https address",
        ),
        ({"clientCredentials": {"tokenUrl": "/t"}}, "http://a.example", "'http://a.example/t' is not an https address"),
        ({"clientCredentials": {"tokenUrl": "/t"}}, "/v1", "'/t' is not an https address"),
        ({"clientCredentials": {"tokenUrl": "https://["}}, "https://a.example", "'https://[' is not an https address"),
        ({"clientCredentials": {"tokenUrl": 7}}, "https://a.example", "'' is not an https address"),
        ({"clientCredentials": {}}, "https://a.example", "'' is not an https address"),
    ],
)
def test_what_is_left_out_is_said_with_its_reason(flows: dict[str, Any], server: str, why: str) -> None:
    found, notes = imported(flows, server)
    (flow,) = flows
    assert found == {}
    assert notes == [f"security scheme 'k': the flow {flow!r} is left out: {why}"]
