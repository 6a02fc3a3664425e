"""Reading: both syntaxes, references, servers, and every way a document can be broken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.errors import DefinitionError
from callsheet.openapi import import_document
from callsheet.openapi.document import read_document, server_url
from support.imports import imported, text_of

HEAD = {"openapi": "3.0.1", "info": {"title": "t", "version": "1"}}


def document(**more: Any) -> str:
    return json.dumps({**HEAD, **more})


def get(**operation: Any) -> dict[str, Any]:
    return {"/x": {"get": {"responses": {}, **operation}}}


BROKEN = [
    ('{"openapi": "3.0.1", "paths": {', "d:1: not JSON: cut off (column 32)"),
    ('{"openapi": "3.0.1",\n  "paths": nothing}', "d:2: not JSON: Expecting value (column 12)"),
    ("openapi: 3.1.0\npaths:\n  /a: [\n", "d:4: not YAML: expected the node content, but found '<stream end>'"),
    ("openapi: 3.1.0\n  paths: {}", "d:2: not YAML: mapping values are not allowed here"),
    ("a: &a [*b]", "d:1: not YAML: found undefined alias 'b'"),
    ("just words", "d: not an OpenAPI document: expected a table at the top"),
    ("", "d: not an OpenAPI document: expected a table at the top"),
    ("[]", "d: not an OpenAPI document: expected a table at the top"),
    ('{"a": 1}', "d: not an OpenAPI 3 document: no 'openapi' key"),
    ('{"swagger": "1.2"}', "d: this is Swagger 1.2, expected OpenAPI 3 or Swagger 2.0"),
    ('{"openapi": "4.0.0"}', "d: not an OpenAPI 3 document: openapi is '4.0.0'"),
    ('{"openapi": "3.0.0", "paths": []}', "d: paths: expected a table"),
    (
        document(paths={"/x": {"$ref": "#/nowhere/at/all"}}),
        "d: /x: '#/nowhere/at/all' cannot be resolved: no 'nowhere'",
    ),
    (document(paths={"/x": {"$ref": "other.yaml#/x"}}), "d: /x: 'other.yaml#/x' is in another file"),
    (document(paths={"/x": {"$ref": "#/paths/~1x"}}), "d: /x: #/paths/~1x refers to itself"),
    (document(paths=get(parameters=[{"$ref": "#/components/parameters/p"}])), "cannot be resolved: no 'components'"),
    (document(paths=get(requestBody={"$ref": "#/components/b"})), "cannot be resolved: no 'components'"),
    (document(paths=get(parameters=7)), "d: GET /x: not valid OpenAPI ("),
    (document(paths=get(responses=[1])), "d: GET /x: not valid OpenAPI ("),
]


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[message[:40] for _, message in BROKEN])
def test_a_broken_document_is_refused_with_one_line_that_says_where(text: str, message: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        import_document(text, "p", name="d")
    assert message in raised.value.message
    assert raised.value.exit_code == 2
    assert "\n" not in raised.value.message


def test_a_schema_that_refers_to_nothing_is_refused() -> None:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Gone"}}}}
    with pytest.raises(DefinitionError, match="'#/components/schemas/Gone' cannot be resolved"):
        import_document(document(paths=get(requestBody=body)), "p")


@pytest.mark.parametrize("spelled", ["yes", "on", "2020-01-31", "12:30", "~1", "0o7x", "1_000", "010"])
def test_yaml_words_stay_words(spelled: str) -> None:
    text = f"openapi: 3.1.0\npaths: {{ /x: {{ get: {{ tags: [{spelled}] }} }} }}"
    assert import_document(text, "p").operations["getX"]["tag"] == spelled


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ({"url": "https://a.example/v1/"}, "https://a.example/v1/"),
        ({"url": "//a.example"}, "//a.example"),
        ({"url": "https://{host}/w", "variables": {"host": {"default": "h"}}}, "https://h/w"),
        ({"url": "/{missing}/x"}, "//x"),
        ({}, ""),
        ("nonsense", ""),
    ],
)
def test_servers(server: Any, url: str) -> None:
    assert server_url(server) == url


@settings(max_examples=60)
@given(st.data())
def test_a_damaged_document_never_ends_in_a_traceback(data: st.DataObject) -> None:
    """Any part of a good document is replaced by something else."""
    tree = read_document(text_of("forms"), "forms").tree
    node: Any = tree["paths"] if data.draw(st.booleans()) else tree["components"]
    last: tuple[Any, Any] = tree, "paths"
    for _ in range(data.draw(st.integers(1, 8))):
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        last = node, key
        node = node[key]
        if not isinstance(node, dict | list) or not node:
            break
    parent, key = last
    parent[key] = data.draw(st.sampled_from([None, 7, "x", [], {}, [None], {"a": None}, True, [{"$ref": "#/x"}]]))
    try:
        imported("forms", json.dumps(tree))
    except DefinitionError as error:
        assert error.message.startswith("forms.json")  # noqa: PT017 - it may also succeed


def test_half_a_character_is_replaced_and_a_number_without_end_refused() -> None:
    text = document(paths=get(operationId="a", summary="half \ud83d", tags=["\udc00"]))
    assert "half \ufffd" in "".join(import_document(text, "shop").files.values())
    for number in ("NaN", "-Infinity", "1e999"):
        broken = document(paths=get(operationId="a", parameters=[{"name": "p", "in": "query", "x": 0}]))
        with pytest.raises(DefinitionError, match="number that definitions cannot hold"):
            import_document(broken.replace('"x": 0', f'"x": {number}'), "shop")
