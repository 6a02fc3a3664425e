"""The gate: a person's yes is for one operation of a run, a no for every request, and a redirect is a request anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.client.request.gate import ApprovalRequest, Gate
from callsheet.client.request.http_request import Request
from callsheet.errors import NotAllowed
from callsheet.policy.policy import Policy, PolicySource, class_rules, read_only

ASKS = Policy([PolicySource("mine", class_rules({"write": "ask"}))])
MAKE = Request("POST", "https://a.example", "/things", operation="makeThing", safety="write")


def asking(answer: bool | None) -> tuple[Gate, list[str]]:
    asked: list[str] = []

    def ask(question: ApprovalRequest) -> bool | None:
        asked.append(question.request.path)
        return answer

    return Gate(ASKS, ask=ask), asked


def test_a_yes_is_for_one_operation_of_a_run() -> None:
    gate, asked = asking(answer=True)
    for path in ("/things", "/things", "/others", "/things"):
        gate.check_policy(replace(MAKE, path=path))
    assert asked == ["/things", "/others"]


@pytest.mark.parametrize("answer", [False, None])
def test_a_no_is_asked_again_and_never_becomes_a_yes(answer: bool | None) -> None:
    gate, asked = asking(answer)
    for _ in range(2):
        with pytest.raises(NotAllowed):
            gate.check_policy(MAKE)
    assert len(asked) == 2


def test_where_a_redirect_leads_is_no_operation_that_only_reads(tmp_path: Path, cache: Path) -> None:
    """A search is a POST that reads. Sent on, it is a POST of which nothing is known."""
    catalog = open_catalog("suite", {"CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)})
    try:
        gate = Gate(Policy([read_only("mine")]), catalog)
        posts: Callable[[str], bool] = lambda id: catalog.operations.get(id)["http"].startswith("POST ")  # noqa: E731
        search = next(
            id for id, table in catalog.operations.all().items() if table.get("safety") == "read" and posts(id)
        )
        path = catalog.operations.get(search)["http"].partition(" ")[2]
        request = Request("POST", "https://a.example", path, operation=search, safety="read")
        gate.check_policy(request)
        with pytest.raises(NotAllowed):
            gate.check_hop(request, "POST", "https://a.example/undocumented")
    finally:
        catalog.close()
