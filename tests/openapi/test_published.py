"""The committed catalog against the documents it was made of."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.request.build import Builder
from callsheet.client.request.http_request import Json, Request
from callsheet.client.request.json_body import check_json
from callsheet.client.request.sample_values import body_sample, parameter_sample
from callsheet.errors import UsageError
from support.cases import nobody
from support.fakes import FakeSite
from support.openapi import OpenAPI
from support.places import ROOT

SPECS = ROOT.parent / "shared" / "specs"
DEFINITIONS = ROOT / "definitions" / "suite"
PRODUCTS = {
    "jira": ("jira.json", "", 616),
    "agile": ("agile.json", "", 105),
    "jsm": ("jsm.json", "", 74),
    "confluence": ("confluence-v2.json", "/wiki/api/v2", 218),
    "confluence-v1": ("confluence-v1.json", "", 130),
}
# Who owns an operation id that several documents, or one of them several times, use.
CLASHES = {
    "agile.getConfiguration": "GET /rest/agile/1.0/board/{boardId}/configuration",
    "agile.getIssue": "GET /rest/agile/1.0/issue/{issueIdOrKey}",
    "confluence.deleteForgeAppProperty": "DELETE /wiki/api/v2/app/properties/{propertyKey}",
    "confluence.getForgeAppProperty": "GET /wiki/api/v2/app/properties/{propertyKey}",
    "confluence.putForgeAppProperty": "PUT /wiki/api/v2/app/properties/{propertyKey}",
    "confluence-v1.createGroup": "POST /wiki/rest/api/group",
    "confluence-v1.createSpace": "POST /wiki/rest/api/space",
    "confluence-v1.deleteUserProperty": "DELETE /wiki/rest/api/user/{userId}/property/{key}",
    "confluence-v1.getAuditRecords": "GET /wiki/rest/api/audit",
    "confluence-v1.getCurrentUser": "GET /wiki/rest/api/user/current",
    "confluence-v1.getTask": "GET /wiki/rest/api/longtask/{id}",
    "confluence-v1.getTasks": "GET /wiki/rest/api/longtask",
    "confluence-v1.getUser": "GET /wiki/rest/api/user",
    "confluence-v1.getUserProperty": "GET /wiki/rest/api/user/{userId}/property/{key}",
    "confluence-v1.removeTemplate": "DELETE /wiki/rest/api/template/{contentTemplateId}",
    "jsm.addCustomers": "POST /rest/servicedeskapi/servicedesk/{serviceDeskId}/customer/skip-permission-check",
    "jsm.createCustomer": "POST /rest/servicedeskapi/customer/skip-permission-check",
    "jsm.deleteProperty": "DELETE /rest/servicedeskapi/organization/{organizationId}/property/{propertyKey}",
    "jsm.getArticles": "GET /rest/servicedeskapi/servicedesk/{serviceDeskId}/knowledgebase/article",
    "jsm.getAttachmentContent": "GET /rest/servicedeskapi/request/{issueIdOrKey}/attachment/{attachmentId}",
    "jsm.getAttachmentThumbnail": "GET /rest/servicedeskapi/request/{issueIdOrKey}/attachment/{attachmentId}/thumbnail",
    "jsm.getOrganizations": "GET /rest/servicedeskapi/servicedesk/{serviceDeskId}/organization",
    "jsm.getPropertiesKeys": "GET /rest/servicedeskapi/organization/{organizationId}/property",
    "jsm.getProperty": "GET /rest/servicedeskapi/organization/{organizationId}/property/{propertyKey}",
    "jsm.setProperty": "PUT /rest/servicedeskapi/organization/{organizationId}/property/{propertyKey}",
}
REQUEST_TYPE = "/rest/servicedeskapi/servicedesk/{serviceDeskId}/requesttype/{requestTypeId}/property"
CLASHES |= {
    "jsm.servicedesk.deleteProperty": f"DELETE {REQUEST_TYPE}/{{propertyKey}}",
    "jsm.servicedesk.getPropertiesKeys": f"GET {REQUEST_TYPE}",
    "jsm.servicedesk.getProperty": f"GET {REQUEST_TYPE}/{{propertyKey}}",
    "jsm.servicedesk.setProperty": f"PUT {REQUEST_TYPE}/{{propertyKey}}",
}
OF_PRODUCT = pytest.mark.parametrize("product", PRODUCTS)
published = pytest.mark.skipif(not SPECS.is_dir(), reason="the published documents are not here")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    opened = open_catalog("suite", nobody(tmp_path_factory))
    yield opened
    opened.close()


def operations(catalog: Catalog, product: str) -> dict[str, dict[str, Any]]:
    """The documented ones."""
    tables = catalog.operations.all().items()
    return {id: table for id, table in tables if table["product"] == product and not table.get("hidden")}


def test_all_1143_operations_are_there(catalog: Catalog) -> None:
    counts = Counter(table["product"] for table in catalog.operations.all().values() if not table.get("hidden"))
    assert counts == {product: count for product, (_, _, count) in PRODUCTS.items()}


def test_clashing_ids_fall_as_the_rule_says(catalog: Catalog) -> None:
    bare = {
        id: table["http"]
        for id, table in catalog.operations.all().items()
        if id.startswith(tuple(f"{p}." for p in PRODUCTS))
    }
    assert bare == CLASHES
    assert catalog.operations.get("jira.getIssue") == catalog.operations.get("getIssue")


@cache
def fresh() -> dict[str, Any]:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from import_catalog import import_all
    finally:
        sys.path.pop(0)
    imported: dict[str, Any] = import_all(str(SPECS))
    return imported


@pytest.mark.slow
@published
@pytest.mark.published
@OF_PRODUCT
def test_the_committed_definitions_are_what_an_import_makes(product: str) -> None:
    directory = DEFINITIONS / "operations" / product
    committed = {f"operations/{product}/{path.name}": path.read_text(encoding="utf-8") for path in directory.iterdir()}
    assert committed == fresh()[product].files


@published
@pytest.mark.published
@OF_PRODUCT
def test_no_sentence_of_a_document_was_copied(product: str) -> None:
    for table in (*fresh()[product].operations.values(), *fresh()[product].schemas.values()):
        assert not {"title", "help", "description"} & set(table)
        assert all("help" not in param for param in table.get("params", ()))


# What the documents demand although no request can, or none should, do so; `operations/*.toml` corrects the bodies.
NO_ONE_OF = "is valid under each of"  # alternatives of which exactly one has to fit, and that always fit together
NOT_ALLOWED = "is a required property"  # and at the same time one that is not allowed
NO_OBJECT = "is not of type 'object'"  # a word in a query, a list of changes, any JSON value
DEPARTURES = {
    **dict.fromkeys(["createPage", "updatePage", "createBlogPost", "updateBlogPost"], NO_ONE_OF),
    **dict.fromkeys(["createFooterComment", "updateFooterComment"], NO_ONE_OF),
    **dict.fromkeys(["createInlineComment", "updateInlineComment"], NO_ONE_OF),
    **dict.fromkeys(["createCustomContent", "updateCustomContent"], NO_ONE_OF),
    **dict.fromkeys(["setDefaultValues", "evaluateJiraExpression", "evaluateJSISJiraExpression"], NO_ONE_OF),
    **dict.fromkeys(["submitBulkMove", "addSecurityLevelMembers"], NOT_ALLOWED),
    **dict.fromkeys(["addGadget", "updateGadget", "DynamicModulesResource.registerModules_post"], NOT_ALLOWED),
    **dict.fromkeys(["createAssociations", "removeAssociations"], NO_OBJECT),
    **dict.fromkeys(["bulkSetIssuesPropertiesList", "bulkSetIssuePropertiesByIssue"], NO_OBJECT),
    **dict.fromkeys(["updatePlan", "updateAtlassianTeam", "updatePlanOnlyTeam"], NO_OBJECT),
}
DEPARTING_QUERY = {"fields", "properties", "state", "type"}
# Typing mistakes of the document's patterns, which refuse every value that exists.
DEPARTING_PATTERN = "does not match '(att)?0-9+'"


def departs(id: str, problem: str) -> bool:
    """Whether a problem is one that is known to be the document's."""
    if problem.startswith("query"):
        return problem.split()[1].rstrip(":") in DEPARTING_QUERY and NO_OBJECT in problem
    known = DEPARTURES.get(id)
    alternatives = "Additional properties are not allowed" if known in (NO_ONE_OF, NOT_ALLOWED) else known
    return DEPARTING_PATTERN in problem or (known is not None and (known in problem or str(alternatives) in problem))


def requests(catalog: Catalog, id: str, table: dict[str, Any], upload: str) -> list[Request]:
    """One request with what is required, one with everything that is documented."""
    builder = Builder(catalog, FakeSite(), "suite")
    return [
        builder.build_request(id, _arguments(table, only), _body(catalog, table, only), _files(table, only, upload))
        for only in (True, False)
    ]


def _arguments(table: dict[str, Any], only: bool) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for param in table["params"]:
        if param.get("required") or not only:
            arguments[param["name"]] = _argument(param)
    for name, part in table.get("body", {}).get("parts", {}).items():
        if not part.get("file") and not (only and table["body"].get("optional")):
            arguments[name] = "true" if part.get("type") == "boolean" else "text"
    return arguments


def _argument(param: dict[str, Any]) -> Any:
    sample = parameter_sample(param)
    if param.get("type") != "array":
        return sample
    if "enum" in param:
        return [str(value) for value in param["enum"][:2]]
    return [sample, f"{sample}2"] if param.get("items", "string") in ("string", "integer") else [sample]


def _body(catalog: Catalog, table: dict[str, Any], only: bool) -> Any:
    body = table.get("body")
    if not body or "parts" in body or (only and body.get("optional")):
        return None
    if "schema" in body:
        return body_sample(catalog, body["schema"], required_only=only)
    return None if "json" not in body.get("media", "json") else {"any": "thing"}


def _files(table: dict[str, Any], only: bool, upload: str) -> list[str]:
    body = table.get("body", {})
    if "parts" in body:
        return [f"{name}={upload}" for name, part in body["parts"].items() if part.get("file")]
    return [upload] if "json" not in body.get("media", "json") else []


@pytest.mark.slow
@published
@pytest.mark.published
@OF_PRODUCT
def test_every_operation_builds_a_request_that_its_document_accepts(
    catalog: Catalog, product: str, tmp_path: Path
) -> None:
    file, server, count = PRODUCTS[product]
    document = OpenAPI(SPECS / file, server)
    upload = tmp_path / "sample.png"
    upload.write_bytes(b"\x89PNG")
    met: list[tuple[str, str]] = []
    documented = operations(catalog, product)
    for id, table in documented.items():
        for request in requests(catalog, id, table, str(upload)):
            met += [(id, problem) for problem in document.problems(request)]
    assert len(documented) == count
    assert [found for found in met if not departs(*found)] == []
    # A correction that no longer corrects anything is to be taken out.
    assert {id for id in DEPARTURES if id in documented} <= {id for id, _ in met}


def examples(document: OpenAPI) -> list[tuple[str, str, Any]]:
    """Method, path and value of every example of a JSON body, wherever the document gives it."""
    found: list[tuple[str, str, Any]] = []
    for path, method, operation in document.operations():
        for media, content in document.resolve(operation.get("requestBody", {})).get("content", {}).items():
            named = [document.resolve(each) for each in content.get("examples", {}).values()]
            given = [content, document.resolve(content.get("schema", {}))]
            values = [each["value"] for each in named if "value" in each]
            values += [each["example"] for each in given if "example" in each]
            found += [(method, document.server + path, _parsed(value)) for value in values if "json" in media]
    return found


def _parsed(value: Any) -> Any:
    """Some are written as the text of the JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


@published
@pytest.mark.published
@OF_PRODUCT
def test_every_example_of_a_document_is_accepted(catalog: Catalog, product: str) -> None:
    file, server, _ = PRODUCTS[product]
    ids = {table["http"]: id for id, table in operations(catalog, product).items()}
    with_safety = [(ids[f"{method} {path}"], value) for method, path, value in examples(OpenAPI(SPECS / file, server))]
    assert len(with_safety) >= {"jira": 200}.get(product, 0)
    refused: dict[str, str] = {}
    for id, value in with_safety:
        schema = catalog.operations.get(id).get("body", {}).get("schema")
        try:
            if schema:
                check_json(value, schema, catalog, id, "suite")
        except UsageError as error:
            refused[id] = error.message
    assert refused == {}


@published
@pytest.mark.published
def test_the_judge_itself_sees_what_is_wrong(catalog: Catalog) -> None:
    judge = OpenAPI(SPECS / "jira.json")
    builder = Builder(catalog, FakeSite(), "suite")
    good = builder.build_request("editIssue", {"issueIdOrKey": "DEMO-1", "notifyUsers": "true"}, {"fields": {}})
    assert judge.problems(good) == []
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"path": "/rest/api/3/isue/DEMO-1"}, "no PUT /rest/api/3/isue/DEMO-1"),
        ({"query": (("notify", "x"),)}, "query notify: not documented"),
        ({"query": (("notifyUsers", "x"),)}, "query notifyUsers: $: 'x' is not of type 'boolean'"),
        ({"body": None}, "body: missing"),
        ({"body": Json({"fields": []})}, "body: $.fields: [] is not of type 'object'"),
        ({"body": Json({}, "application/xml")}, "body: application/xml is not documented"),
    ]
    for change, problem in wrong:
        assert judge.problems(replace(good, **change)) == [problem]
