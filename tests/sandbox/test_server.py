"""A simulated site on a socket: used by the program, and misbehaving where it is told to."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from callsheet.errors import UsageError
from callsheet.sandbox.sandbox_server import Server
from callsheet.sandbox.simulated_site import Faults, SandboxRequest, parse_fault
from support.simulated import PLAIN, TOKEN, ask, serving, site
from support.waiting import PATIENCE


def test_files_are_uploaded_and_come_back_byte_for_byte() -> None:
    content = bytes(range(256)) * 40 + b"\r\n--x\r\n\r"
    with serving() as url, httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client:
        sent = client.post("/rest/api/3/issue/DEMO-2/attachments", files={"file": ("a b.bin", content)})
        assert sent.status_code == 200
        (attachment,) = sent.json()
        assert (attachment["filename"], attachment["size"]) == ("a b.bin", len(content))
        assert client.get(f"/rest/api/3/attachment/content/{attachment['id']}").content == content


def test_pages_follow_one_another() -> None:
    with serving() as url, httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client:
        keys: list[str] = []
        token: str | None = None
        while True:
            asked = {
                "jql": "project = DEMO order by key",
                "maxResults": "4",
                **({"nextPageToken": token} if token else {}),
            }
            page = client.get("/rest/api/3/search/jql", params=asked).json()
            keys += [issue["key"] for issue in page["issues"]]
            token = page.get("nextPageToken")
            if page["isLast"]:
                break
        assert keys == [f"DEMO-{number}" for number in range(1, 11)]
        assert token is None


def test_a_data_center_speaks_its_own_paths_and_names() -> None:
    with (
        serving(deployment="datacenter") as url,
        httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client,
    ):
        me = client.get("/rest/api/2/myself").json()
        assert (me["name"], me.get("accountId")) == ("robin", None)
        issue = client.get("/rest/api/2/issue/DEMO-2").json()
        assert issue["fields"]["description"] == "Guests type their address and pay."
        assert client.get("/rest/api/3/myself").status_code == 404


def test_who_asks_is_who_the_request_says() -> None:
    with (
        serving() as url,
        httpx.Client(
            base_url=url, verify=PLAIN, trust_env=False, auth=("kim@example.org", "x"), timeout=PATIENCE
        ) as client,
    ):
        assert client.get("/rest/api/3/myself").json()["displayName"] == "Kim Example"


def test_only_who_knows_the_token_stops_it() -> None:
    with serving() as url, httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client:
        assert client.post("/.sandbox/stop").status_code == 404
        for token in ("wrong", "\xe9"):
            headers = {b"X-Sandbox-Token": token.encode("latin-1")}
            assert client.post("/.sandbox/stop", headers=headers).status_code == 404
        assert client.get("/rest/api/3/myself").status_code == 200


def test_a_reset_brings_everything_back() -> None:
    with serving() as url, httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client:
        assert client.delete("/rest/api/3/issue/DEMO-1").status_code == 204
        assert client.post("/.sandbox/reset", headers={"X-Sandbox-Token": TOKEN}).status_code == 200
        assert client.get("/rest/api/3/issue/DEMO-1").status_code == 200


def test_what_nobody_thought_of_is_answered_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = site()
    monkeypatch.setattr(simulated.actions, "_answer_of", lambda *_: 1 / 0)
    told = ask(simulated, "DELETE /rest/api/3/issue/DEMO-1")
    monkeypatch.undo()
    assert (told.status, ask(simulated, "GET /rest/api/3/issue/DEMO-1").status) == (500, 200)
    assert "ZeroDivisionError" in told.body["errorMessages"][0]
    simulated.close()


def test_a_data_center_keeps_earlier_versions() -> None:
    simulated = site("datacenter")
    change = {"version": {"number": 2}, "title": "Refunds", "type": "page", "body": {"storage": {"value": "<p>2</p>"}}}
    assert ask(simulated, "PUT /rest/api/content/98402", change).status == 200
    old = ask(simulated, "GET /rest/api/content/98402?version=1&status=historical").body
    assert (old["version"]["number"], "three" in old["body"]["storage"]["value"]) == (1, True)
    assert ask(simulated, "PUT /rest/api/content/98402", change).status == 409
    listed = ask(simulated, "GET /rest/api/content?spaceKey=TEAM").body["results"]
    assert {each["space"]["key"] for each in listed} == {"TEAM"}
    simulated.close()


def test_rubbish_gets_an_answer() -> None:
    simulated = site()
    headers = {"content-type": "application/json"}
    bodies = [b"{", b'{"a": ' * 5000, b"\xff\xfe", b"[1, 2]", b'"x"', b"null"]
    answers = [simulated.answer_request(SandboxRequest("POST", "/rest/api/3/issue", headers, body)) for body in bodies]
    assert [answer.status for answer in answers] == [400] * len(bodies)
    simulated.close()


@pytest.mark.slow
def test_faults_are_real() -> None:
    with (
        serving(Faults([parse_fault("503")])) as url,
        httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client,
    ):
        told = client.get("/rest/api/3/myself")
        assert (told.status_code, told.headers["retry-after"]) == (503, "1")
    with (
        serving(Faults([parse_fault("break")])) as url,
        httpx.stream("GET", f"{url}/rest/api/3/issue/DEMO-2", verify=PLAIN, trust_env=False, timeout=PATIENCE) as told,
    ):
        assert told.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
            told.read()
    with (
        serving(Faults([parse_fault("html")])) as url,
        httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client,
    ):
        told = client.get("/rest/api/3/myself")
        assert (told.status_code, told.headers["content-type"]) == (502, "text/html")


def test_a_slow_answer_comes_in_drops_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callsheet.sandbox.sandbox_server._SLOW_PAUSE", 0.002)
    with (
        serving(Faults([parse_fault("slow")])) as url,
        httpx.Client(base_url=url, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client,
    ):
        with client.stream("GET", "/rest/api/3/issue/DEMO-2") as told:
            pieces = list(told.iter_raw())
        assert len(pieces) > 5
        assert json.loads(b"".join(pieces))["key"] == "DEMO-2"


RESET, REFILL = "x-ratelimit-reset", "x-ratelimit-fillrate"
LIMITS = {
    ("cloud", "/rest/api/3/myself"): (RESET, "jira-burst-based"),
    ("cloud", "/rest/agile/1.0/board"): (RESET, "jira-burst-based"),
    ("cloud", "/rest/servicedeskapi/servicedesk"): (RESET, "jira-burst-based"),
    ("cloud", "/wiki/api/v2/spaces"): (RESET, "confluence-burst-based"),
    ("datacenter", "/rest/api/2/myself"): (REFILL, None),
    ("datacenter", "/rest/api/content"): (REFILL, None),
}


@pytest.mark.parametrize(("deployment", "path"), LIMITS)
def test_each_family_says_in_its_own_way_that_there_were_too_many(deployment: str, path: str) -> None:
    simulated = site(deployment)
    answer = Server(simulated, Faults([], rate_limit=1), TOKEN).answer_request
    asked = SandboxRequest("GET", path, {}, b"")
    assert answer(asked).status == 200
    told = answer(asked)
    headers = {name.lower(): value for name, value in told.headers}
    named, reason = LIMITS[deployment, path]
    assert (told.status, named in headers, headers.get("ratelimit-reason")) == (429, True, reason)
    assert int(headers["retry-after"]) > 0
    assert isinstance(told.body, bytes) is (deployment == "datacenter")
    simulated.close()


@pytest.mark.parametrize(("deployment", "path"), list(LIMITS)[3:5])
def test_a_429_that_was_asked_for_says_the_same(deployment: str, path: str) -> None:
    named, reason = LIMITS[deployment, path]
    with serving(Faults([parse_fault("429")]), deployment) as url:
        told = httpx.get(f"{url}{path}", verify=PLAIN, trust_env=False, timeout=PATIENCE)
    assert (told.status_code, named in told.headers, told.headers.get("ratelimit-reason")) == (429, True, reason)
    assert told.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("99", "expected a status from 400 to 599"),
        ("503:2", "the rate is a number from 0 to 1"),
        ("503:x", "the rate is a number"),
        ("braek", "did you mean 'break'?"),
    ],
)
def test_a_wrong_fault_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_fault(text)
    assert message in str(caught.value)


@pytest.fixture(scope="module")
def read() -> Iterator[str]:
    """The address of a site that is only read."""
    with serving() as url:
        yield url


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Host", "localhost:80.evil.example", 421),
        ("Host", "127.0.0.1:1@evil.example", 421),
        ("Host", "", 421),
        ("Host", "LOCALHOST", 200),
        ("Host", "[::1]:80", 200),
        ("Origin", "https://evil.example", 403),
        ("Origin", "http://localhost.evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:3000", 200),
    ],
)
def test_it_answers_no_other_name_and_no_page_of_others(header: str, value: str, status: int, read: str) -> None:
    """A page of anybody can make a browser ask this machine under a name that leads here."""
    with httpx.Client(base_url=read, verify=PLAIN, trust_env=False, timeout=PATIENCE) as client:
        answer = client.get("/rest/api/3/issue/DEMO-1", headers={header: value})
        assert answer.status_code == status
        assert ("DEMO-1" in answer.text) == (status == 200)
