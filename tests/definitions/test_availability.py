"""Nothing that the programs do asks a deployment for what it does not have, or sends what it would ignore."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.request.operation_call import Call, call_of
from callsheet.errors import UsageError
from callsheet.language.merge import on_deployment
from callsheet.language.source_file import PARTS
from support.cases import nobody
from support.places import SHARED

LISTED = SHARED / "reference" / "datacenter-endpoints.json"
# What a table can have where it needs no deployment to have it: without the call things are done one by one, or a
# table shows ids.
SPARED = ("bulk", "fetch")
# A resource can do less where a deployment lacks the operation (`Things.can`); those that are there are looked at.
VERBS = ("list", "read", "create", "update", "delete", "content", "order")
KINDS = ("command", "lookup", "resource", "product", "address", "operation")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    opened = open_catalog("suite", nobody(tmp_path_factory))
    yield opened
    opened.close()


def never(condition: str, deployment: str) -> bool:
    """Whether a condition whose parts must all be true asks for another deployment."""
    if "||" in re.sub(r"\([^()]*\)", "", condition):
        return False
    parts = {part.strip() for part in condition.split("&&")}
    others = (part.rpartition("== ")[2].strip("'") for part in parts if part.startswith("site.deployment == "))
    return f"site.deployment != '{deployment}'" in parts or any(other != deployment for other in others)


def calls(catalog: Catalog, table: Any, deployment: str, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every table with a `call` that may be reached on the deployment, and where it stands."""
    if isinstance(table, list):
        for place, part in enumerate(table):
            yield from calls(catalog, part, deployment, f"{at}.{place}")
    if not isinstance(table, dict) or never(str(table.get("when", "")), deployment):
        return
    if isinstance(table.get("call"), str):
        yield at, table
    for key, part in table.items():
        if key == "snapshot" and isinstance(part, str):
            kept = on_deployment(catalog.snapshots.get(part), deployment)
            yield from calls(catalog, kept, deployment, f"{at}.{part}")
        elif key not in SPARED and key != "on":
            yield from calls(catalog, part, deployment, f"{at}.{key}")


def reached(catalog: Catalog, deployment: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in KINDS:
        for id, table in catalog.records_of_kind(kind).items():
            here = on_deployment(
                {key: table[key] for key in table if kind != "resource" or key not in PARTS}, deployment
            )
            product = catalog.products.get(table["product"]) if kind == "operation" else {}
            if here.get("unavailable") or on_deployment(product, deployment).get("unavailable"):
                continue
            lacks = [verb for verb in VERBS if kind == "resource" and not _has(catalog, here.get(verb), deployment)]
            asking = {key: part for key, part in here.items() if key not in lacks}
            yield from calls(catalog, asking, deployment, f"{kind} {id}")


def _has(catalog: Catalog, call: Any, deployment: str) -> bool:
    if not isinstance(call, dict) or "call" not in call:
        return False
    try:
        call_of(catalog, catalog.canonical_id("operation", call["call"]), deployment)
    except UsageError:
        return False
    return True


def ignored(call: Call, step: dict[str, Any], deployment: str) -> Iterator[str]:
    """Arguments that the operation does not take there, but for those that are left out there."""
    parts = call.operation.get("body", {}).get("parts", {})
    for name, value in step.get("args", {}).items():
        condition = str(value).strip("{}").partition("|| `null`")[0]
        if name not in call.known_names and name not in parts and not never(condition, deployment):
            yield name


@pytest.mark.parametrize("deployment", ["cloud", "datacenter"])
def test_nothing_asks_a_deployment_for_what_it_does_not_have(catalog: Catalog, deployment: str) -> None:
    wrong, count = [], 0
    for at, step in reached(catalog, deployment):
        count += 1
        try:
            call = call_of(catalog, catalog.canonical_id("operation", step["call"]), deployment)
        except UsageError as error:
            if at.startswith("resource "):  # a verb whose operation is not there is no verb of the resource there
                continue
            wrong.append(f"{at}: {error}")
        else:
            wrong += [f"{at}: {step['call']} ignores {name}" for name in ignored(call, step, deployment)]
    assert wrong == []
    assert count > 200


# What a data center has although the list does not say so.
FOUND = {
    "getAuditRecords": "in the vendor's reference of 9.12, as deprecated",
    "getGroup": "in the vendor's reference of 9.12, as deprecated",
    "findUsersWithAllPermissions": "in the vendor's reference of 9.12, as deprecated",
    "deleteVersion": "in the vendor's reference of 9.12",
    "getAttachmentContent": "the address that the answers give, outside the API",
}
# Parameters that do no harm, or that the vendor's older references describe.
TAKEN = {
    "expand": "described in the text of the references, not as a parameter",
    "startAt": "of searches for people; worklogs come whole and say so",
    "maxResults": "worklogs come whole and say so",
}


def parts(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


@pytest.mark.published
@pytest.mark.skipif(not LISTED.exists(), reason="the list of endpoints is not here")
def test_the_tracker_of_a_data_center_is_as_it_is_listed(catalog: Catalog) -> None:
    listed = {(method, path): set(query) for method, path, query in json.loads(LISTED.read_text(encoding="utf-8"))}
    unknown, gone, unheard = [], [], []
    for id, operation in catalog.operations.all().items():
        if operation["product"] not in ("jira", "agile"):
            continue
        method, _, path = operation["http"].partition(" ")
        try:
            call = call_of(catalog, id, "datacenter")
        except UsageError:
            if (method, parts(path.replace("/rest/api/3/", "/rest/api/2/"))) in listed:
                gone.append(id)
            continue
        query = listed.get((call.method, parts(call.path)))
        if query is None:
            unknown.append(id)
        else:
            asked = {param["name"] for param in call.params if param.get("in", "query") == "query"}
            unheard += [f"{id} {name}" for name in sorted(asked - query - TAKEN.keys())]
    assert sorted(unknown) == sorted(FOUND)
    assert gone == ["archiveIssuesAsync"], "which has its method and path there, and does what archiveIssues does"
    assert unheard == []


def test_what_does_the_same_there_is_there(catalog: Catalog) -> None:
    """The operations that a reason names can be called where it is given."""
    wrong = []
    for id, operation in catalog.operations.all().items():
        for deployment, here in operation.get("on", {}).items():
            for word in re.findall(r"[\w.-]+", re.sub(r"`[^`]*`", "", here.get("unavailable", ""))):
                if catalog.operations.find(word) is None:
                    continue
                try:
                    call_of(catalog, catalog.canonical_id("operation", word), deployment)
                except UsageError as error:
                    wrong.append(f"{id}: {error}")
    assert wrong == []
