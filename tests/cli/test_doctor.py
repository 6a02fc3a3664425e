"""`doctor`: every check has a failure that it finds, with a remedy, and never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.canary import CANARY
from support.fakesite import EMAIL, TOKEN, FakeSite
from support.shell import Shell

Rows = dict[str, dict[str, Any]]


@pytest.fixture
def work(shell: Shell, site: FakeSite) -> Shell:
    done = shell("init", "--name", "work", "--base-url", site.url, "--email", EMAIL, SUITE_TOKEN=TOKEN)
    assert done.code == 0, done.err
    return shell


def checked(shell: Shell, **variables: str) -> tuple[int, Rows]:
    done = shell("doctor", "--json", **variables)
    rows = {row["check"]: row for row in done.json()}
    assert all(row["remedy"] for row in rows.values() if row["status"] in ("fail", "warn")), rows
    return done.code, rows


def test_all_is_well(work: Shell) -> None:
    code, rows = checked(work)
    assert code == 0, rows
    assert {row["status"] for row in rows.values()} <= {"ok"}, rows
    assert rows["access: jira"]["detail"] == "Jira platform: Robin Sample"
    assert rows["licenses: jira"]["detail"] == "jira-software PAID"
    assert rows["server: jira"]["detail"] == "Cloud, 1001.0.0"
    expected = {"configuration", "permissions", "definitions", "catalog", "key store", "site", "credential"}
    assert expected | {"connection", "TLS", "clock"} <= set(rows)


def test_the_table_has_the_same_rows(work: Shell) -> None:
    lines = work("doctor").out.splitlines()
    assert lines[0].split() == ["CHECK", "STATUS", "DETAIL", "REMEDY"]
    assert sum(line.startswith("access: ") for line in lines) == 5


def broken_profiles(shell: Shell, site: FakeSite) -> None:
    shell.write_profiles("sites = 1")


def shared_credentials(shell: Shell, site: FakeSite) -> None:
    (shell.home / "credentials.enc").chmod(0o644)


def shared_profiles(shell: Shell, site: FakeSite) -> None:
    (shell.home / "profiles.toml").chmod(0o666)


def damaged_credentials(shell: Shell, site: FakeSite) -> None:
    (shell.home / "credentials.enc").write_text("{}")


def refused(shell: Shell, site: FakeSite) -> None:
    site.site_accepts.clear()


def wrong_clock(shell: Shell, site: FakeSite) -> None:
    site.headers = {"Date": "Thu, 01 Jan 2015 00:00:00 GMT"}


def unreachable(shell: Shell, site: FakeSite) -> None:
    shell("config", "set", "base_url", "http://127.0.0.1:9")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("break_it", "check", "detail"),
    [
        (broken_profiles, "configuration", "sites: expected a table"),
        (broken_profiles, "site", "1 problem in"),
        (shared_credentials, "permissions", "credentials.enc can be read by others"),
        (shared_credentials, "key store", "can be read by others"),
        (shared_profiles, "permissions", "profiles.toml can be changed by others"),
        (damaged_credentials, "key store", "changed or damaged"),
        (damaged_credentials, "credential", "changed or damaged"),
        (refused, "access: jira", "401: who are you?"),
        (wrong_clock, "clock", "s apart from the site's"),
        (unreachable, "connection", "cannot connect to 127.0.0.1"),
        (unreachable, "credential", "was given for"),
    ],
)
def test_each_failure_is_found(
    work: Shell, site: FakeSite, break_it: Callable[[Shell, FakeSite], None], check: str, detail: str
) -> None:
    break_it(work, site)
    code, rows = checked(work)
    assert code == 1
    assert rows[check]["status"] == "fail"
    assert detail in rows[check]["detail"]


def test_a_wrong_password_is_named(work: Shell) -> None:
    code, rows = checked(work, SUITE_KEYRING_PASSWORD=f"{CANARY}-wrong")
    assert (code, rows["key store"]["remedy"]) == (1, "check SUITE_KEYRING_PASSWORD")


def test_a_product_that_is_not_there_is_only_a_warning(work: Shell, site: FakeSite) -> None:
    site.closed = {"/rest/servicedeskapi/servicedesk": 403}
    code, rows = checked(work)
    assert (code, rows["access: jsm"]["status"]) == (0, "warn")


def test_no_site_at_all(shell: Shell) -> None:
    code, rows = checked(shell)
    assert code == 1
    assert rows["site"]["status"] == "fail"
    assert rows["access"]["status"] == "skip"


def test_the_environment_alone_needs_no_store(shell: Shell, site: FakeSite) -> None:
    code, rows = checked(
        shell,
        SUITE_BASE_URL=site.url,
        SUITE_EMAIL=EMAIL,
        SUITE_TOKEN=TOKEN,
        SUITE_KEYRING_PASSWORD="",
        SUITE_KEYRING_BACKEND="file",
    )
    assert code == 0, rows
    assert rows["key store"]["status"] == "warn"
    assert rows["credential"]["detail"] == "basic, from SUITE_TOKEN"


def test_a_dry_run_sends_nothing(work: Shell, site: FakeSite) -> None:
    site.requests.clear()
    rows = {row["check"]: row for row in work("doctor", "--json", "--dry-run").json()}
    assert rows["access"]["status"] == "skip"
    assert site.requests == []


def test_a_check_that_breaks_is_a_row(work: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setitem(__import__("callsheet.cli.builtin.doctor", fromlist=["SITE"]).SITE, "scopes", broken)
    code, rows = checked(work)
    assert (code, rows["scopes"]["detail"]) == (1, "unexpected: RuntimeError: boom")
    assert json.dumps(rows)


@pytest.mark.slow
def test_broken_definitions_are_a_row_and_stop_everything_else(work: Shell) -> None:
    own = work.home / "definitions" / "suite"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text("[command.mine]\nhlp = 1\n")
    code, rows = checked(work)
    assert code == 1
    assert rows["definitions"]["status"] == "fail"
    assert 'mine.toml:2: command "mine": hlp: unknown key' in rows["definitions"]["detail"]
    assert work("config", "path").code == 0
    for words, code in ((("users", "me"), 2), (("mine",), 2), (("--help",), 0), (("definitions", "check"), 2)):
        done = work(*words)
        assert (done.code, "mine.toml:2:" in done.err) == (code, True), words
