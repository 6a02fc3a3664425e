"""What a checker of types accepts, with the stubs of the program."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import callsheet

if TYPE_CHECKING:
    from callsheet_suite import JiraIssueUpdateDetails, Suite


def show(*values: object) -> None:
    """Whatever a script does with what it got."""


def report(suite: Suite) -> list[str]:
    rows = suite.issues.list(project="DEMO", status=["In Review", "Done"], max=50)
    names = [str(row["key"]) for row in rows.flat("key")]
    for issue in suite.issues.mine():
        suite.issues.transition(issue["key"], "Done", comment="**Shipped**")
        suite.issues.assign([issue["key"], "DEMO-2"], to="me")
    suite.issues.edit("DEMO-1", due=date(2027, 1, 2), set={"Story points": 3}, label=["a", "b"])
    suite.issues.attach("DEMO-1", Path("notes.txt"), "other.txt")
    suite.issues.delete("DEMO-1", yes=True)
    show(suite.users.me()["displayName"], suite.pages.get("DOC/Refunds", as_="markdown"))
    suite.pages.labels.add("DOC/Refunds", "stage")
    return names


def operations(suite: Suite) -> None:
    body: JiraIssueUpdateDetails = {"fields": {"summary": "Sweep"}}
    show(suite.op.createIssue(body=body)["key"], suite.op.getIssue(issueIdOrKey="DEMO-1", expand="names"))
    for page in suite.op.searchProjects.pages(maxResults=50, query="DEMO"):
        show(len(page), page[0]["key"])
    for project in suite.op.searchProjects.all(200, query="DEMO"):
        show(project["key"])
    content: bytes = suite.op.getAttachmentContent(id="10001")
    show(content, suite.op["datacenter.getIssue"](issueIdOrKey="DEMO-1"))


def things(suite: Suite) -> str:
    for planned in suite.issues.edit.planned("DEMO-1", summary="Sweep"):
        show(planned.method, planned.url, planned.curl)
    return suite.resource("page").get("DOC/Refunds").body_markdown


def main() -> None:
    suite: Suite
    with callsheet.open("suite", site="work") as suite:
        try:
            report(suite)
        except callsheet.NotFound as error:
            show(error.status, error.request, error.hint)
