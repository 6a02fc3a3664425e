"""Which projects and spaces a request names, wherever it names them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.request.build import Builder
from callsheet.client.request.gate import Gate
from callsheet.client.request.http_request import Body, Form, Json, Multipart, MultipartPart, Raw, Request
from callsheet.policy.policy import Policy
from callsheet.policy.policy_sources import from_text
from callsheet.sites.site import CatalogNames
from support.fakes import FakeSite

RULES = """
write = "deny"
[[rule]]
project = "SECRET"
decision = "deny"
[[rule]]
project = ["DEMO", "TEST"]
class = "write"
decision = "allow"
[[rule]]
space = "DOCS"
decision = "ask"
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    home = tmp_path_factory.mktemp("named") / "home"
    environ = {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(tmp_path_factory.getbasetemp() / "shared-cache")}
    catalog = open_catalog("suite", environ)
    yield catalog
    catalog.close()


@pytest.fixture(scope="module")
def gate(catalog: Catalog) -> Gate:
    return Gate(Policy([from_text(RULES, "here", CatalogNames(catalog, {}))]), catalog)


@pytest.fixture(scope="module")
def builder(catalog: Catalog) -> Builder:
    return Builder(catalog, FakeSite(), "suite")


def raw(builder: Builder, method: str, path: str, body: Any = None) -> Request:
    content: Body | None = body if isinstance(body, Form | Json | Multipart | Raw | None) else Json(body)
    return builder.build_raw_request(method, path, body=content)


COMMENT, LINK = "/rest/api/3/issue/DEMO-1/comment", "/rest/api/3/issueLink"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("method", "path", "body", "project"),
    [
        ("PUT", "/rest/api/3/issue/DEMO-1", {}, {"DEMO"}),
        ("PUT", "/rest/api/2/issue/demo-1", {}, {"demo"}),
        ("PUT", "/rest/api/3/issue/10001", {}, None),
        ("PUT", "/gate/x/rest/api/3/project/DEMO", {}, {"DEMO"}),
        ("POST", "/rest/api/3/issue/%44EMO-1/comment", {}, None),  # not every server reads it so
        ("POST", "/rest/api/3/issue", {"fields": {"project": {"key": "DEMO"}, "summary": "COVID-19"}}, {"DEMO"}),
        ("POST", "/rest/api/3/issue", {"fields": {"project": {"id": "10000"}}}, None),
        ("POST", "/rest/api/3/issue", {"fields": {"project": {"key": "A"}, "parent": {"key": "B-2"}}}, {"A", "B"}),
        ("POST", "/rest/api/3/issue/bulk", {"issueUpdates": [{"fields": {"project": {"key": "B"}}}]}, {"B"}),
        ("POST", LINK, {"inwardIssue": {"key": "A-1"}, "outwardIssue": {"key": "B-1"}}, {"A", "B"}),
        ("POST", LINK, {"inwardIssue": {"key": "A-1"}, "outwardIssue": {"id": "7"}}, None),
        ("POST", "/rest/agile/1.0/sprint/3/issue", {"issues": ["A-1", "B-2"]}, {"A", "B"}),
        ("POST", "/rest/agile/1.0/sprint/3/issue", {"issues": ["A-1", "10007"]}, None),
        ("POST", "/rest/api/3/bulk/issues/move", {"targetToSourcesMapping": {"B,10001": {}}}, None),
        (
            "POST",
            COMMENT,
            Raw(b'{"issueKey": "SECRET-1"}', "text/plain"),
            {"DEMO", "SECRET"},
        ),
        ("POST", COMMENT, Raw(b"issueKey=SECRET-1", FORM), {"DEMO", "SECRET"}),
        ("POST", COMMENT, Form((("project", "X"),)), {"DEMO", "X"}),
        ("POST", "/rest/api/3/issue/DEMO-1/attachments", Multipart((MultipartPart("issueKey", "X-1"),)), {"DEMO", "X"}),
        ("GET", "/rest/api/3/component?projectIdsOrKeys=A,B", None, {"A", "B"}),
        ("PUT", "/rest/api/3/version/10001", {"name": "1.0"}, None),
        ("PUT", "/rest/api/3/version/10001", {"name": "1.0", "project": "DEMO"}, None),
        ("GET", "/rest/api/3/search/jql?project=DEMO", None, None),
        ("GET", "/rest/api/3/attachment/content/7", None, None),
        ("GET", "/rest/api/3/myself", None, set()),
        ("GET", "/rest/api/3/field", None, set()),
        ("GET", "/rest/api/3/search/jql", None, None),
        ("GET", "/rest/api/3/search/jql?jql=project%20%3D%20DEMO%20AND%20status%3DOpen", None, {"DEMO"}),
        ("GET", "/rest/api/3/search/jql?jql=project%3DDEMO&jql=text~x", None, None),
        ("POST", "/rest/api/3/search/jql", {"jql": "Project in (A, 'B') order by key"}, {"A", "B"}),
        ("POST", "/rest/api/3/search/jql", {"jql": "project = A OR x = y"}, None),
        ("GET", "/rest/agile/1.0/board/3/issue", None, None),
        ("POST", "/unknown/DEMO-1", {}, {"unknown", "DEMO"}),
        # A query where the service does not look at it, or in other words than certain ones, restricts nothing.
        ("GET", "/rest/api/3/attachment/content/7?jql=project%3DDEMO", None, None),
        ("PUT", "/rest/api/3/version/10001?jql=project%3DDEMO", {"name": "1.0"}, None),
        ("POST", "/rest/api/2/search?jql=project%3DDEMO", {}, None),
        ("GET", "/rest/api/3/search/jql?_method=POST&jql=project%3DDEMO", None, None),
        ("GET", "/rest/api/3/search/jql", {"jql": "project = DEMO"}, None),
        ("POST", "/rest/api/3/search/jql", {"jql": "project = Website"}, None),
        ("POST", "/rest/api/3/search/jql", {"jql": r'project = "\u0053ECRET"'}, None),
        ("POST", "/rest/api/3/search/jql", {"jql": "parent = DEMO-1"}, None),
        ("POST", COMMENT, Raw(b'{"project": "SECRET", "project": "DEMO"}', "application/json"), {"DEMO", "SECRET"}),
        ("GET", "/rest/software/1.0/board/3/issue", None, None),
        ("GET", "/rest/software/1.0/board/3/issue?jql=project%3DDEMO", None, {"DEMO"}),
        ("PUT", "/rest/api/3/issue/properties/x", {"value": 1}, None),
        ("POST", "/rest/api/3/webhook", {"webhooks": [{"jqlFilter": "project = SECRET"}]}, {"SECRET"}),
    ],
)
def test_a_project_is_found(
    builder: Builder, method: str, path: str, body: Any, project: set[str] | None, gate: Gate
) -> None:
    facts = gate.facts_of(raw(builder, method, path, body))
    assert facts.named is not None
    named = facts.named["project"]
    assert named.unclear == (project is None)
    assert project is None or named.names == project


@pytest.mark.parametrize(
    ("path", "space"),
    [
        ("/wiki/api/v2/pages/5", None),
        ("/wiki/api/v2/spaces/98306", None),
        ("/wiki/rest/api/search?cql=space%3DDOCS%20AND%20text~x", {"DOCS"}),
        ("/wiki/rest/api/search?cql=text~x", None),
        ("/wiki/rest/api/space/DOCS", {"DOCS"}),
        ("/wiki/rest/api/user/current", set()),
    ],
)
def test_a_space_is_found(builder: Builder, path: str, space: set[str] | None, gate: Gate) -> None:
    facts = gate.facts_of(raw(builder, "GET", path))
    assert facts.named is not None
    assert facts.named["space"].unclear == (space is None)
    assert space is None or facts.named["space"].names == space


def marked(internal: Any = True) -> list[dict[str, Any]]:
    return [{"key": "sd.public.comment", "value": {"internal": internal}}]


TRANSITION, DESK = "/rest/api/3/issue/HELP-1/transitions", "/rest/servicedeskapi/request/HELP-1"
LINKED: dict[str, Any] = {"inwardIssue": {"key": "A-1"}, "outwardIssue": {"key": "HELP-1"}}


@pytest.mark.parametrize(
    ("method", "path", "body", "seen_by"),
    [
        ("POST", COMMENT, {"body": "x"}, {"customers"}),
        ("POST", "/rest/api/2/issue/DEMO-1/comment", {"body": "x"}, {"customers"}),
        ("POST", COMMENT, {"body": "x", "properties": marked()}, {"agents"}),
        ("POST", COMMENT, {"body": "x", "properties": marked(internal="true")}, {"customers"}),
        ("POST", COMMENT, {"body": "x", "properties": marked(internal=False)}, {"customers"}),
        ("POST", COMMENT, {"body": "x", "properties": [*marked(), *marked(internal=False)]}, {"customers"}),
        ("POST", COMMENT, {"body": "x", "properties": marked()[0]}, {"customers"}),
        ("POST", COMMENT, {"body": "x", "properties": [{"key": "other", "value": {"internal": True}}]}, {"customers"}),
        ("POST", COMMENT, Raw(b'{"properties": []}', "application/json"), None),
        ("POST", COMMENT, Form((("body", "x"),)), None),
        ("POST", COMMENT, None, None),
        ("PUT", f"{COMMENT}/7", {"body": "x"}, {"customers"}),
        ("PUT", f"{COMMENT}/7", {"body": "x", "properties": marked()}, {"agents"}),
        ("DELETE", f"{COMMENT}/7", None, set()),
        ("GET", COMMENT, None, set()),
        ("GET", f"{COMMENT}?_method=POST", None, None),
        ("POST", TRANSITION, {"transition": {"id": "1"}}, set()),
        ("POST", TRANSITION, {"update": {"comment": [{"add": {"body": "x"}}]}}, {"customers"}),
        ("POST", TRANSITION, {"update": {"comment": [{"add": {"body": "x", "properties": marked()}}]}}, {"agents"}),
        (
            "POST",
            TRANSITION,
            {"update": {"comment": [{"add": {"properties": marked()}}, {"add": {"body": "x"}}]}},
            {"customers"},
        ),
        ("POST", TRANSITION, {"update": {"comment": {"add": {"body": "x"}}}}, None),
        ("PUT", "/rest/api/3/issue/HELP-1", {"update": {"comment": [{"add": {"body": "x"}}]}}, {"customers"}),
        ("PUT", "/rest/api/3/issue/HELP-1", {"fields": {"summary": "x"}}, set()),
        ("POST", "/rest/api/3/issue", {"update": {"comment": [{"add": {"body": "x"}}]}}, {"customers"}),
        (
            "POST",
            "/rest/api/3/issue/bulk",
            {"issueUpdates": [{"fields": {}}, {"update": {"comment": [{"add": {"body": "x"}}]}}]},
            {"customers"},
        ),
        ("POST", "/rest/api/3/issue/bulk", {"issueUpdates": [{"fields": {}}]}, set()),
        ("POST", LINK, LINKED, set()),
        ("POST", LINK, {**LINKED, "comment": {"body": "x"}}, {"customers"}),
        ("POST", LINK, {**LINKED, "comment": {"body": "x", "properties": marked()}}, {"agents"}),
        ("POST", f"{DESK}/comment", {"body": "x"}, {"customers"}),
        ("POST", f"{DESK}/comment", {"body": "x", "public": True}, {"customers"}),
        ("POST", f"{DESK}/comment", {"body": "x", "public": False}, {"agents"}),
        ("POST", f"{DESK}/comment", {"body": "x", "public": "false"}, {"customers"}),
        ("POST", f"{DESK}/attachment", {"temporaryAttachmentIds": ["1"], "public": False}, {"agents"}),
        ("POST", f"{DESK}/transition", {"id": "1"}, set()),
        ("POST", f"{DESK}/transition", {"id": "1", "additionalComment": {"body": "x"}}, {"customers"}),
    ],
)
def test_who_sees_a_comment_is_found(
    builder: Builder, method: str, path: str, body: Any, seen_by: set[str] | None, gate: Gate
) -> None:
    facts = gate.facts_of(raw(builder, method, path, body))
    assert facts.named is not None
    named = facts.named["seen_by"]
    assert named.unclear == (seen_by is None)
    assert seen_by is None or named.names == seen_by


def test_a_rule_forbids_comments_that_customers_see(builder: Builder, catalog: Catalog) -> None:
    text = '[[rule]]\nproject = "HELP"\nseen_by = "customers"\ndecision = "deny"\n'
    gate = Gate(Policy([from_text(text, "here", CatalogNames(catalog, {}))]), catalog)
    help_desk = COMMENT.replace("DEMO", "HELP")
    assert gate.judge_request(raw(builder, "POST", help_desk, {"body": "x"})).decision == "deny"
    assert (
        gate.judge_request(raw(builder, "POST", help_desk, {"body": "x", "properties": marked()})).decision == "allow"
    )
    assert gate.judge_request(raw(builder, "POST", COMMENT, {"body": "x"})).decision == "allow"
    assert gate.judge_request(raw(builder, "GET", help_desk)).decision == "allow"


def test_an_operation_names_them_too(builder: Builder, gate: Gate) -> None:
    assert gate.judge_request(builder.build_request("getSpaceSettings", {"spaceKey": "docs"})).decision == "ask"
    assert gate.judge_request(builder.build_request("getIssue", {"issueIdOrKey": "SECRET-1"})).decision == "deny"
    assert (
        gate.judge_request(builder.build_request("getIssue", {"issueIdOrKey": "10001"})).decision == "deny"
    )  # it may be one of them
    assert gate.judge_request(builder.build_request("getIssue", {"issueIdOrKey": "OTHER-1"})).decision == "allow"


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("PUT", "/rest/api/3/issue/DEMO-1", {}, True),
        ("PUT", "/rest/api/3/issue/OTHER-1", {}, False),
        ("PUT", "/rest/api/3/issue/10001", {}, False),
        ("PUT", "/rest/api/3/version/10001", {}, False),
        ("POST", LINK, {"inwardIssue": {"key": "DEMO-1"}, "outwardIssue": {"key": "TEST-1"}}, True),
        (
            "POST",
            LINK,
            {"inwardIssue": {"key": "DEMO-1"}, "outwardIssue": {"key": "SECRET-1"}},
            False,
        ),
        ("GET", "/rest/api/3/myself", None, True),
        ("DELETE", "/rest/api/3/issue/DEMO-1", None, True),
    ],
)
def test_a_fence_around_projects(
    builder: Builder, method: str, path: str, body: Any, allowed: bool, gate: Gate
) -> None:
    assert (gate.judge_request(raw(builder, method, path, body)).decision == "allow") == allowed


def test_what_no_operation_has_can_be_left_out(builder: Builder, catalog: Catalog) -> None:
    text = 'write = "deny"\n[[rule]]\noperation = "*"\nclass = "write"\ndecision = "allow"\n'
    gate = Gate(Policy([from_text(text, "here", CatalogNames(catalog, {}))]), catalog)
    paths = {COMMENT: "allow", "/gateway/api/graphql": "deny", "/rest/api/3/issue/DEMO-1/undocumented": "deny"}
    assert {path: gate.judge_request(raw(builder, "POST", path, {})).decision for path in paths} == paths
