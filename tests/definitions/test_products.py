"""The built-in products: how their errors read, and where their operations are on data center."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.http.failure import texts_in
from callsheet.client.request.build import Builder
from callsheet.errors import UsageError
from callsheet.language.template import evaluate
from support.cases import nobody
from support.fakes import FakeSite


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    opened = open_catalog("suite", nobody(tmp_path_factory))
    yield opened
    opened.close()


PRODUCTS = ("jira", "agile", "jsm", "confluence", "confluence-v1")
GATEWAY = {"code": 401, "message": "Unauthorized; scope does not match"}
OAUTH = {"error": "invalid_grant", "error_description": "the token is unknown"}
MISSING = {"message": "null for uri: http://h/rest/x", "status-code": 404, "sub-code": 0}
BODIES: list[tuple[str, Any, list[str]]] = [
    ("jira", {"errorMessages": ["Issue does not exist"], "errors": {}}, ["Issue does not exist"]),
    (
        "jira",
        {
            "errorMessages": ["No"],
            "errors": {"summary": "is required", "priority": "is unknown"},
            "warningMessages": ["w"],
        },
        ["No", "summary: is required", "priority: is unknown", "w"],
    ),
    (
        "jira",
        {
            "issues": [],
            "errors": [
                {
                    "status": 400,
                    "failedElementNumber": 1,
                    "elementErrors": {"errorMessages": [], "errors": {"summary": "is required"}},
                }
            ],
        },
        ["summary: is required"],
    ),
    (
        "agile",
        {"errorMessages": [], "errors": {"rapidViewId": "The board is unknown"}},
        ["rapidViewId: The board is unknown"],
    ),
    ("agile", {"errors": [{"message": "one"}, {"message": "two"}]}, ["one", "two"]),
    (
        "jsm",
        {"errorMessage": "The request type is unknown", "i18nErrorMessage": {"i18nKey": "sd.x", "parameters": []}},
        ["The request type is unknown"],
    ),
    ("jsm", {"errorMessage": None, "i18nErrorMessage": {"i18nKey": "sd.x", "parameters": []}}, ["sd.x"]),
    (
        "confluence",
        {"errors": [{"status": 404, "code": "NOT_FOUND", "title": "Not Found", "detail": None}]},
        ["Not Found"],
    ),
    (
        "confluence",
        {"errors": [{"status": 400, "code": "X", "title": "Wrong parameter", "detail": "space-id is a number"}]},
        ["Wrong parameter", "space-id is a number"],
    ),
    (
        "confluence-v1",
        {
            "statusCode": 400,
            "message": "The page cannot be saved",
            "data": {
                "errors": [
                    {"message": {"key": "title.long", "args": [], "translation": "The title is too long"}},
                    {"message": {"key": "k", "args": []}},
                ]
            },
        },
        ["The page cannot be saved", "The title is too long", "k"],
    ),
    *((product, GATEWAY, [GATEWAY["message"]]) for product in PRODUCTS),
    *((product, OAUTH, [OAUTH["error_description"]]) for product in PRODUCTS),
    *((product, MISSING, [MISSING["message"]]) for product in PRODUCTS),
]


@pytest.mark.parametrize(("product", "body", "texts"), BODIES)
def test_every_error_body_becomes_its_messages(catalog: Catalog, product: str, body: Any, texts: list[str]) -> None:
    assert texts_in(evaluate(catalog.products.get(product)["errors"], body)) == texts


SOFTWARE = "/rest/agile/1.0"
ON_DATACENTER = [
    ("getIssue", {"issueIdOrKey": "DEMO-1"}, None, "GET /rest/api/2/issue/DEMO-1"),
    ("searchAndReconsileIssuesUsingJql", {"jql": "x", "startAt": "50"}, None, "GET /rest/api/2/search"),
    ("searchAndReconsileIssuesUsingJqlPost", {}, {"jql": "x", "startAt": 50}, "POST /rest/api/2/search"),
    ("searchProjects", {}, None, "GET /rest/api/2/project"),
    ("createIssue", {}, {"fields": {}}, "POST /rest/api/2/issue"),
    ("assignIssue", {"issueIdOrKey": "DEMO-1"}, {"name": "robin"}, "PUT /rest/api/2/issue/DEMO-1/assignee"),
    ("findUsers", {"username": "robin"}, None, "GET /rest/api/2/user/search"),
    ("getIssuesForBoardJSIS", {"boardId": "1", "startAt": "0"}, None, f"GET {SOFTWARE}/board/1/issue"),
    ("getIssuesForSprintJSIS", {"sprintId": "1"}, None, f"GET {SOFTWARE}/sprint/1/issue"),
    ("getAllSprints", {"boardId": "1", "state": "active,future"}, None, f"GET {SOFTWARE}/board/1/sprint"),
    ("getQueues", {"serviceDeskId": "1"}, None, "GET /rest/servicedeskapi/servicedesk/1/queue"),
    ("searchByCQL", {"cql": "type=page", "start": "25"}, None, "GET /rest/api/search"),
    ("searchContentByCQL", {"cql": "type=page", "start": "25"}, None, "GET /rest/api/content/search"),
]


@pytest.mark.parametrize(("id", "arguments", "body", "line"), ON_DATACENTER, ids=[case[0] for case in ON_DATACENTER])
def test_where_an_operation_is_on_data_center(
    catalog: Catalog, id: str, arguments: dict[str, Any], body: Any, line: str
) -> None:
    request = Builder(catalog, FakeSite(deployment="datacenter"), "suite").build_request(id, arguments, body)
    assert f"{request.method} {request.path}" == line


@pytest.mark.parametrize(
    ("id", "reason"),
    [
        ("countIssues", "cloud sites only"),
        ("getPages", "the operations of confluence-v1 do the same there"),
        ("submitBulkDelete", "deleteIssue one by one"),
        ("submitBuilds", "cloud sites only"),
    ],
)
def test_what_data_center_does_not_have_fails_here(catalog: Catalog, id: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Builder(catalog, FakeSite(deployment="datacenter"), "suite").build_request(id, {})


def test_account_ids_are_no_parameter_there(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match='getUser has no parameter "accountId"'):
        Builder(catalog, FakeSite(deployment="datacenter"), "suite").build_request("getUser", {"accountId": "x"})


def test_what_only_reads_is_marked_so(catalog: Catalog) -> None:
    read = {id for id, table in catalog.operations.all().items() if table.get("safety") == "read"}
    assert {"searchAndReconsileIssuesUsingJqlPost", "bulkFetchIssues", "countIssues", "checkAccessByEmail"} <= read
    methods = {catalog.operations.get(id)["http"].partition(" ")[0] for id in read}
    assert methods == {"POST"}


DESK = "jira/service-desk/rest"


@pytest.mark.parametrize(
    ("id", "page"),
    [
        ("getIssue", "jira/platform/rest/v3/api-group-issues/#api-rest-api-3-issue-issueidorkey-get"),
        ("createSprint", "jira/software/rest/api-group-sprint/#api-rest-agile-1-0-sprint-post"),
        ("getPages", "confluence/rest/v2/api-group-page/"),
        ("viewArticle", f"{DESK}/api-group-other/#api-rest-servicedeskapi-knowledgebase-article-view-pageid-get"),
    ],
)
def test_every_operation_links_to_the_vendors_page(catalog: Catalog, id: str, page: str) -> None:
    assert catalog.operations.get(id)["documentation"] == f"https://developer.atlassian.com/cloud/{page}"
