"""A mistake on each line that says so; a checker of types refuses these lines and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callsheet_suite import Suite


def mistakes(suite: Suite) -> None:
    suite.isues.list()  # a mistake: a group that there is not
    suite.issues.lst()  # a mistake: a command that there is not
    suite.issues.list(projct="DEMO")  # a mistake: an option that there is not
    suite.issues.list(max="many")  # a mistake: a text for a number
    suite.issues.list(mine="yes")  # a mistake: a text for a flag
    suite.servicedesks.queue_issues("HELP")  # a mistake: an option is missing
    suite.users.me().flat()  # a mistake: one thing is no list
    suite.boards.list(type="kanbann")  # a mistake: not one of the words
    suite.op.getIsue(issueIdOrKey="DEMO-1")  # a mistake: an operation that there is not
    suite.op.getIssue()  # a mistake: a parameter is missing
    suite.op.getIssue(issueIdOrKey="DEMO-1", updateHistory="no")  # a mistake: a text for a boolean
    suite.op.createIssue(body={"feilds": {}})  # a mistake: a member that a body has not
    suite.op.linkIssues(body={"inwardIssue": {"key": "DEMO-1"}})  # a mistake: members of a body are missing
    suite.op.getIssue.pages(issueIdOrKey="DEMO-1")  # a mistake: an operation without pages
    suite.resource("pge")  # a mistake: a resource that there is not
    suite.issues.edit.planned("DEMO-1", sumary="Sweep")  # a mistake: an option that there is not
