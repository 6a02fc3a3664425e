"""The order of a project's versions, as they are moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from callsheet.sandbox.simulated_site import SandboxSite
from support.simulated import ask, problems, site


@pytest.fixture
def here(request: pytest.FixtureRequest) -> Iterator[SandboxSite]:
    with closing(site(request.param)) as found:
        yield found


@pytest.mark.parametrize(("here", "base"), [("cloud", "/rest/api/3"), ("datacenter", "/rest/api/2")], indirect=["here"])
def test_versions_move_in_their_project(here: SandboxSite, base: str) -> None:
    made = ask(here, f"POST {base}/version", {"projectId": 10000, "name": "2.0"}).body["id"]

    def names() -> list[str]:
        return [version["name"] for version in ask(here, f"GET {base}/project/DEMO/versions").body]

    def moved(**body: str) -> list[str]:
        request = f"POST {base}/version/{made}/move"
        told = ask(here, request, body)
        assert (told.status, problems(request, told)) == (200, [])
        return names()

    assert names() == ["1.0", "1.1", "2.0"]
    assert moved(position="First") == ["2.0", "1.0", "1.1"]
    assert moved(position="Earlier") == ["2.0", "1.0", "1.1"]
    assert moved(position="Later") == ["1.0", "2.0", "1.1"]
    assert moved(position="Last") == ["1.0", "1.1", "2.0"]
    assert moved(position="Later") == ["1.0", "1.1", "2.0"]
    assert moved(after="http://127.0.0.1:8800/rest/api/3/version/10030") == ["1.0", "2.0", "1.1"]
    assert moved(after=f"http://127.0.0.1:8800/rest/api/3/version/{made}") == ["1.0", "2.0", "1.1"]
