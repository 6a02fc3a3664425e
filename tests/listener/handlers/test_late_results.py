"""A run that cannot be ended and succeeds after its time: the next attempt takes its result."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.canary import TOKEN
from support.listening import event, listening
from support.server import exchange, reply, serve

# An inbox repeats what failed without the usual pause.
SOON = "from callsheet.listener.handlers.target import RetrySchedule; RetrySchedule.delay_after = lambda *_: 0.2"
ROUTES = """
[route.low]
[[route.low.do]]
handler = "command"
program = "suite"
timeout = "1s"
run     = "op call"
params  = { id = "createIssue", data = { fields = { summary = "Low grade" } } }
"""


@pytest.mark.slow
@pytest.mark.parametrize("inbox", [["--inbox", "inbox.db"], []], ids=["inbox", "no inbox"])
def test_an_issue_is_opened_once_however_long_the_site_takes(tmp_path: Path, inbox: list[str]) -> None:
    created = exchange("POST", "/rest/api/3/issue", reply(201, json={"key": "EDU-1"}, delay=2.5), repeat=None)
    with serve([created], verify=False, trusted=True) as server:
        site = {"SUITE_BASE_URL": server.url, "SUITE_EMAIL": "r@example.org", "SUITE_TOKEN": TOKEN}
        with listening(tmp_path, "--log", *inbox, routes=ROUTES, environ=site, patch=SOON) as listener:
            statuses = [listener.post(event()).status]
            while statuses[-1] == 500 and len(statuses) < 60:  # as a sender repeats
                statuses.append(listener.post(event()).status)
            assert statuses[-1] == 200
            listener.logged("EDU-1")
            assert "no result after 1 s" in listener.err
        assert len(server.requests) == 1
