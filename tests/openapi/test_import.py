"""Whole documents: what is made of them, that it never changes by itself, and that it can be called."""

from __future__ import annotations

import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from callsheet.cli.main import run
from callsheet.client.request.build import Builder
from callsheet.client.request.http_request import Form, Json
from callsheet.errors import DefinitionError
from callsheet.openapi import import_document
from support.fakes import Definitions, FakeSite
from support.imports import DOCUMENTS, FILES, imported, text_of

EXPECTED = DOCUMENTS.parent / "expected"
OF_PRODUCT = pytest.mark.parametrize("product", FILES)


def definitions(product: str) -> Definitions:
    return Definitions("\n".join(part for part in merged(product)))


def merged(product: str) -> list[str]:
    """All files as one: their defaults folded in, since the fake catalog knows none."""
    result = imported(product)
    tables: dict[str, Any] = {"operation": result.operations, "schema": result.schemas}
    import tomlkit

    text = result.files[f"operations/{product}/_product.toml"]
    return [text, tomlkit.dumps(tables)]


@OF_PRODUCT
def test_a_document_becomes_exactly_these_files(product: str) -> None:
    expected = {
        f"operations/{product}/{path.name}": path.read_text(encoding="utf-8") for path in (EXPECTED / product).iterdir()
    }
    assert imported(product).files == expected


@OF_PRODUCT
def test_the_same_document_gives_the_same_files_in_whatever_order_it_is_written(product: str) -> None:
    def reversed_keys(node: Any) -> Any:
        if isinstance(node, dict):
            # The order of properties and mappings means something to a reader, that of all else nothing.
            return {key: reversed_keys(node[key]) for key in reversed(list(node))}
        return node

    tree = yaml.safe_load(text_of(product))
    tree["paths"] = reversed_keys(tree["paths"])
    again = import_document(json.dumps(tree, default=str), product, name="again")
    plain = import_document(text_of(product), product, name="plain")
    assert again.operations.keys() == plain.operations.keys()
    assert [table["http"] for table in again.operations.values()] == [t["http"] for t in plain.operations.values()]
    assert imported(product).files == imported(product).files


def test_what_is_left_out_is_noted() -> None:
    assert imported("petshop").notes == [
        "servers: /v2/api/ is taken; also documented: https://pets.example.org/v2/api",
        r"schema pattern '^\\p{L}+$' is left out: not a regular expression: bad escape \p at position 1",
        "GET /v2/api/pets: 'tenant' minLength is not checked before it is sent",
        "POST /v2/api/pets: 'tenant' minLength is not checked before it is sent",
        "GET /v2/api/pets: cookie parameter 'session' is left out",
        "POST /v2/api/pets: cookie parameter 'session' is left out",
        "POST /v2/api/pets: sent as application/json; also documented: text/csv",
        "DELETE /direct/pets/{petId}: sent to https://elsewhere.example.org, with the credential",
        "GET /direct/pets/{petId}: sent to https://elsewhere.example.org, without the credential",
        "webhooks and callbacks newPet, done are left out: nothing in all of them tells one from another",
    ]
    assert imported("forms").notes == ["GET /items: 'where' is sent as the text it is given"]


@OF_PRODUCT
def test_without_descriptions_no_sentence_is_taken(product: str) -> None:
    for path, text in imported(product, descriptions=False, introduce=None).files.items():
        tables = tomllib.loads(text)
        assert "product" not in tables, path
        said = [str(table) for kind in ("operation", "schema") for table in tables.get(kind, {}).values()]
        assert not any("'help':" in each or "'description':" in each for each in said)


def test_titles_and_addresses_can_be_given() -> None:
    text = imported("petshop", title="Pets", base_url="https://test.example.org/pets/").files
    tables = tomllib.loads(text["operations/petshop/_product.toml"])
    assert tables["product"]["petshop"]["title"] == "Pets"
    assert tables["service"]["petshop"]["base_url"] == "https://test.example.org/pets"


def test_imported_operations_build_requests() -> None:
    builder = Builder(definitions("petshop"), FakeSite(), "suite")
    request = builder.build_request(
        "listPets", {"tenant": "t 1", "limit": "5", "labels": ["a", "b"], "X-Trace": ["1", "2"], "kind": "cat"}
    )
    assert (request.method, request.path) == ("GET", "/v2/api/pets")
    assert sorted(request.query) == [("kind", "cat"), ("labels", "a,b"), ("limit", "5"), ("tenant", "t 1")]
    assert request.headers == (("X-Trace", "1,2"),)
    body = builder.build_request("createPet", {"tenant": "t"}, {"kind": "dog", "name": "Rex"}).body
    assert body == Json({"kind": "dog", "name": "Rex"})


def test_forms_and_styles_are_sent_as_documented() -> None:
    builder = Builder(definitions("forms"), FakeSite(), "suite")
    request = builder.build_request(
        "list-items",
        {"filter": {"state": "open"}, "ids": ["1", "2"], "words": ["a", "b"], "extra": {"x": "y"}, "where": "{}"},
    )
    assert sorted(request.query) == [
        ("filter[state]", "open"),
        ("ids", "1|2"),
        ("where", "{}"),
        ("words", "a b"),
        ("x", "y"),
    ]
    form = builder.build_request("postItems", {"name": "n", "tags": ["a", "b"]}).body
    assert form == Form((("name", "n"), ("tags", "a"), ("tags", "b")))


@pytest.mark.parametrize("paths", ["", ', "paths": {}', ', "paths": {"/pets": {}}'])
def test_a_document_without_operations_is_refused(paths: str) -> None:
    """Laid over an earlier import it would take everything away."""
    with pytest.raises(DefinitionError, match="the document has no operations"):
        import_document(f'{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}{paths}}}', "empty")


def test_expected_files_are_all_used() -> None:
    assert {path.name for path in Path(EXPECTED).iterdir()} == set(FILES)


def test_a_form_without_fields_is_no_body() -> None:
    empty = {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {}}}}}
    answer = {"responses": {"200": {"description": "x"}}}
    paths = {"/users": {"get": {"operationId": "listUsers", "requestBody": empty, **answer}}}
    document = {"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": paths}
    assert "body" not in import_document(json.dumps(document), "shop", introduce=1).operations["listUsers"]


def test_the_name_of_a_file_has_a_length_that_every_system_takes() -> None:
    long = ["t" * 5000, f"{'t' * 5000}u"]
    paths = {f"/{tag[-1]}": {"get": {"tags": [tag], "responses": {"200": {"description": "x"}}}} for tag in long}
    document = {"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": paths}
    names = [path.rpartition("/")[2] for path in import_document(json.dumps(document), "shop", introduce=1).files]
    assert len(names) == len({*names}) == 3
    assert all(len(name) < 200 for name in names)


def test_a_document_of_a_server_without_tls_makes_a_program(tmp_path: Path) -> None:
    document = {"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "servers": [{"url": "http://HOSTNAME/v1"}]}
    document["paths"] = {"/users": {"get": {"operationId": "listUsers", "responses": {"200": {"description": "x"}}}}}
    (tmp_path / "d.json").write_text(json.dumps(document), encoding="utf-8")
    environ, err = {"CALLSHEET_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}, io.StringIO()
    words = ["new", "plain", "--from", str(tmp_path / "d.json"), "--no-launcher"]
    assert run("callsheet", words, environ=environ, stdin=io.StringIO(), stdout=io.StringIO(), stderr=err) == 0, err
