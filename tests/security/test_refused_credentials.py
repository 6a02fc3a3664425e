"""A credential that the site refused is neither kept nor mistaken for one that works."""

from __future__ import annotations

from contextlib import closing

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.errors import NotAllowed
from callsheet.sites.site import current_site
from support.fakesite import ANSWERS, CANARY, EMAIL, SCOPED, TOKEN, FakeSite, pair
from support.server import exchange, reply, serve
from support.shell import Shell
from support.shop import DEFINITIONS, shop

LISTS = {"/rest/agile/1.0/board", "/rest/servicedeskapi/servicedesk", "/wiki/api/v2/spaces"}
INIT = ("init", "--name", "work", "--token-stdin", "--email", EMAIL)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_list_that_answers_everybody_proves_nothing(status: int, shell: Shell, site: FakeSite) -> None:
    site.public = LISTS
    if status != 401:
        site.closed = {"/rest/api/3/myself": status, "/wiki/rest/api/user/current": status}
    done = shell(*INIT, "--base-url", site.url, stdin=f"{CANARY}-wrong")
    assert done.code != 0
    assert shell.profiles == ""
    shell.check()


def test_who_answers_as_to_a_stranger_knows_nobody(
    shell: Shell, site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    anonymous = {"type": "anonymous", "displayName": "Anonymous"}
    monkeypatch.setitem(ANSWERS, "/wiki/rest/api/user/current", anonymous)
    site.public = {*LISTS, "/wiki/rest/api/user/current"}
    done = shell(*INIT, "--base-url", site.url, stdin=f"{CANARY}-wrong")
    assert done.code == 3, done.err
    assert "the credential was refused" in done.err
    assert shell.profiles == ""


def test_a_new_sign_in_does_not_replace_a_credential_that_works(shell: Shell, site: FakeSite) -> None:
    assert shell(*INIT, "--base-url", site.url, stdin=TOKEN).code == 0
    site.public = LISTS
    assert shell("auth", "login", "--token-stdin", stdin=f"{CANARY}-wrong").code == 3
    assert shell("op", "call", "getCurrentUser").code == 0


def test_status_does_not_count_lists_either(shell: Shell, site: FakeSite) -> None:
    assert shell(*INIT, "--base-url", site.url, stdin=TOKEN).code == 0
    site.public, site.site_accepts = LISTS, set()
    assert shell("auth", "status").code == 3


def test_a_scoped_token_is_still_recognised_where_lists_are_public(shell: Shell, site: FakeSite) -> None:
    site.public = LISTS
    done = shell(*INIT, "--base-url", site.url, stdin=SCOPED)
    assert done.code == 0, done.err
    assert 'cloud_id = "cloud-1"' in shell.profiles


@pytest.mark.parametrize(
    "headers",
    [{"X-Seraph-LoginReason": "AUTHENTICATED_FAILED"}, {"x-seraph-loginreason": "OUT, AUTHENTICATION_DENIED"}],
)
def test_an_expired_token_is_no_empty_list(headers: dict[str, str], shell: Shell, site: FakeSite) -> None:
    assert shell(*INIT, "--base-url", site.url, stdin=TOKEN).code == 0
    site.public, site.site_accepts, site.headers = LISTS, set(), headers
    done = shell("op", "call", "getAllBoards", "-o", "json")
    assert (done.code, done.out) == (3, "")
    assert "the credential was not accepted (X-Seraph-LoginReason: A" in done.err
    assert "check the e-mail address and the API token" in done.err


def test_the_header_of_a_login_that_worked_is_no_failure(shell: Shell, site: FakeSite) -> None:
    site.headers = {"X-Seraph-LoginReason": "OUT, OK", "X-AUSERNAME": "robin"}
    assert shell(*INIT, "--base-url", site.url, stdin=TOKEN).code == 0


def test_nobody_is_refused_who_showed_nothing(shell: Shell, site: FakeSite) -> None:
    site.public, site.headers = {*LISTS, "/rest/api/3/myself"}, {"X-AUSERNAME": "anonymous"}
    assert shell("init", "--name", "open", "--base-url", site.url, "--method", "none").code == 0
    assert shell("op", "call", "getAllBoards").code == 0


REFUSING = DEFINITIONS.replace('title = "Shop"', 'title = "Shop"\nrefused = { X-Login = ["NO"] }', 1)


def test_a_change_that_was_answered_as_to_a_stranger_says_so() -> None:
    with shop([exchange("POST", "/api/3/item", reply(json={}, headers={"X-Login": "no"}))], text=REFUSING) as here:
        error = here.fail("makeItem", body={})
    assert error.exit_code == 3
    assert error.details == ("the site answered as if nobody had signed in, and may have been carried out",)


def test_a_download_is_refused_too() -> None:
    answer = reply(body=b"login page", headers={"X-Login": "NO"})
    told = r"credential was not accepted \(X-Login: NO\)"
    with (
        shop([exchange("GET", "/api/3/item/1/picture", answer)], text=REFUSING) as here,
        pytest.raises(NotAllowed, match=told),
        here.client.stream(here.build("getPicture", {"id": "1"})),
    ):
        pass


def test_another_hosts_header_says_nothing() -> None:
    with serve([exchange("GET", "/x", reply(json={"a": 1}, headers={"X-Login": "NO"}))]) as other:
        moved = reply(302, headers={"Location": f"{other.url}/x"})
        with shop([exchange("GET", "/api/3/item/1", moved)], text=REFUSING) as here:
            assert here.send("getItem", {"id": "1"}).json() == {"a": 1}


SHARED = """
site = "work"
[sites.work]
base_url = "{url}"
method = "basic"
email = "{email}"
token_env = "WORK_TOKEN"
[sites.work.services.confluence]
base_url = "{url}"
method = "none"
"""


@pytest.mark.parametrize("first", ["getCurrentUser", "getSpaces"])
def test_a_service_without_a_credential_on_a_shared_host_sends_none(first: str, shell: Shell, site: FakeSite) -> None:
    """In one process, in either order."""
    shell.write_profiles(SHARED.format(url=site.url, email=EMAIL))
    environ = {**shell.environ, "WORK_TOKEN": TOKEN}
    order = ["jira", "confluence"] if first == "getCurrentUser" else ["confluence", "jira"]
    with closing(open_catalog("suite", environ)) as catalog:
        chosen = current_site("suite", {}, environ, catalog)
        found = {service: chosen.headers(service) for service in order}
    assert found == {"jira": {"Authorization": pair(EMAIL, TOKEN)}, "confluence": {}}


def test_a_service_is_set_up_without_a_credential(shell: Shell, site: FakeSite) -> None:
    assert shell(*INIT, "--base-url", site.url, stdin=TOKEN).code == 0
    site.public = {*LISTS, "/wiki/rest/api/user/current"}
    done = shell("init", "--name", "work", "--base-url", site.url, "--service", "confluence", "--method", "none")
    assert done.code == 0, done.err
    site.requests.clear()
    assert shell("op", "call", "getSpaces").code == 0
    assert "authorization" not in site.requests[-1].headers
    assert shell("op", "call", "getCurrentUser").code == 0
    assert site.requests[-1].headers["authorization"] == pair(EMAIL, TOKEN)
    rows = {row["check"]: row for row in shell("doctor", "--json").json()}
    assert rows["credential"]["status"] == "ok"


def test_a_method_of_its_own_is_a_credential_of_its_own(shell: Shell, site: FakeSite) -> None:
    """An API token is never presented as a personal access token."""
    text = SHARED.replace('method = "none"', 'method = "pat"')
    shell.write_profiles(text.format(url=site.url, email=EMAIL))
    done = shell("op", "call", "getSpaces", WORK_TOKEN=TOKEN)
    assert done.code == 3
    assert "no credential for site 'work/confluence'" in done.err
    assert site.requests == []


@pytest.mark.slow
def test_no_definition_leads_a_stored_credential_to_another_gateway(shell: Shell, site: FakeSite) -> None:
    assert shell(*INIT, "--base-url", site.url, stdin=SCOPED).code == 0
    assert shell("op", "call", "getCurrentUser").code == 0
    evil = shell.given / "evil"
    evil.mkdir()
    (evil / "evil.toml").write_text('[service.jira]\ngateway = "https://evil.example/{cloudId}"\n')
    site.requests.clear()
    done = shell("op", "call", "getCurrentUser", SUITE_DEFINITIONS=f"{shell.environ['SUITE_DEFINITIONS']}:{evil}")
    assert (done.code, site.requests) == (3, [])
    assert "was given for" in done.err
    assert "not for https://evil.example:443" in done.err


@pytest.mark.parametrize("cloud_id", ["../../x", "a/b", "a?b", "evil.example", "@evil", ""])
def test_an_id_that_a_site_tells_is_one_segment(cloud_id: str, shell: Shell, site: FakeSite) -> None:
    done = shell(
        "op",
        "call",
        "getCurrentUser",
        "--dry-run",
        SUITE_BASE_URL="https://site.example.org",
        SUITE_EMAIL=EMAIL,
        SUITE_TOKEN=TOKEN,
        SUITE_CLOUD_ID=cloud_id,
    )
    assert done.code == (2 if cloud_id else 0), done.err
    assert "evil" not in done.out
    assert site.requests == []
