"""`auth`: signing in again, out, and seeing how one is known."""

from __future__ import annotations

import pytest

from support.canary import CANARY
from support.fakesite import EMAIL, PAT, TOKEN, FakeSite, pair
from support.shell import Shell


@pytest.fixture
def work(shell: Shell, site: FakeSite) -> Shell:
    done = shell("init", "--name", "work", "--base-url", site.url, "--email", EMAIL, SUITE_TOKEN=TOKEN)
    assert done.code == 0, done.err
    return shell


@pytest.mark.slow
def test_a_new_token_replaces_the_old_one(work: Shell, site: FakeSite) -> None:
    fresh = f"{CANARY}-fresh"
    site.site_accepts = {pair(EMAIL, fresh)}
    assert work("op", "call", "getCurrentUser").code == 3
    assert work("auth", "login", "--token-stdin", stdin=fresh).code == 0
    assert work("op", "call", "getCurrentUser").code == 0


def test_a_wrong_token_leaves_the_old_one(work: Shell) -> None:
    done = work("auth", "login", "--token-stdin", stdin="wrong")
    assert done.code == 3
    assert "the credential was refused" in done.err
    assert work("op", "call", "getCurrentUser").code == 0


def test_logout_forgets(work: Shell, site: FakeSite) -> None:
    assert work("auth", "logout").code == 0
    assert "store" not in work.profiles
    site.requests.clear()
    done = work("op", "call", "getCurrentUser")
    assert (done.code, site.requests) == (3, [])
    assert "hint: sign in: suite auth login --site work" in done.err
    assert work("auth", "logout").code == 0


@pytest.mark.parametrize("word", ["status", "whoami"])
def test_status_names_place_and_person(work: Shell, site: FakeSite, word: str) -> None:
    rows = {row["product"]: row for row in work("auth", word, "-o", "json").json()}
    assert rows["jira"]["answer"] == "Robin Sample"
    assert rows["jira"]["credential"] == "encrypted file"
    assert rows["jira"]["base_url"] == site.url
    assert rows["jira"]["error"] is None


def test_status_fails_where_nobody_is_let_in(work: Shell, site: FakeSite) -> None:
    site.site_accepts.clear()
    done = work("auth", "status")
    assert done.code == 3
    assert "401: who are you?" in done.err
    assert "no" in done.out


def test_status_asks_only_what_the_site_has_an_address_for(shell: Shell, site: FakeSite) -> None:
    site.deployment, site.site_accepts = "datacenter", {f"Bearer {PAT}"}
    shell.write_profiles(f'[sites.dc]\ndeployment = "datacenter"\nservices.jira.base_url = "{site.url}"\n')
    assert shell("auth", "login", "--site", "dc", "--token-stdin", stdin=PAT).code == 0
    services = {row["base_url"] for row in shell("auth", "status", "--site", "dc", "-o", "json").json()}
    assert services == {site.url}


def test_a_site_with_several_addresses_asks_which(shell: Shell, site: FakeSite) -> None:
    site.deployment, site.site_accepts = "datacenter", {f"Bearer {PAT}"}
    shell.write_profiles(
        '[sites.dc]\ndeployment = "datacenter"\n'
        f'services.jira.base_url = "{site.url}"\nservices.confluence.base_url = "{site.url}"\n'
    )
    done = shell("auth", "login", "--site", "dc", "--token-stdin", stdin=PAT)
    assert done.code == 2
    assert "say which with --service jira|confluence" in done.err
    assert shell("auth", "login", "--site", "dc", "--service", "jira", "--token-stdin", stdin=PAT).code == 0
    assert 'services.jira.store = "file"' in shell.profiles
    assert shell("op", "call", "getCurrentUser", "--site", "dc").code == 0
    assert "did you mean 'jira'" in shell("auth", "login", "--site", "dc", "--service", "jra", SUITE_TOKEN=PAT).err


def test_login_without_a_site_says_how_to_get_one(shell: Shell) -> None:
    done = shell("auth", "login")
    assert done.code == 2
    assert "suite init adds one" in done.err


def test_a_dry_run_shows_no_credential_and_changes_nothing(work: Shell, site: FakeSite) -> None:
    site.requests.clear()
    before = work.profiles
    done = work("auth", "login", "--token-stdin", "--dry-run", stdin=f"{CANARY}-new")
    assert (done.code, site.requests, work.profiles) == (0, [], before)
    shown = work("op", "call", "getCurrentUser", "--dry-run")
    assert "curl" in shown.out
    assert site.requests == []


def test_verbose_hides_the_credential(work: Shell) -> None:
    done = work("op", "call", "getCurrentUser", "-v")
    assert "getCurrentUser" in done.err or "/rest/api/3/myself" in done.err
