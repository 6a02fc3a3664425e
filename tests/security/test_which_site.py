"""Every way of naming a site, an address and a token: the token goes to its own host, and `read_only` stays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.request.build import Builder
from callsheet.client.request.gate import Gate
from callsheet.errors import CallsheetError, NotAllowed, UsageError
from callsheet.sites.site import Site, current_site
from callsheet.urls import url_origin
from support.canary import TOKEN
from support.cases import nobody
from support.fakes import FakeSite

PROFILES = """
site = "ro"

[sites.ro]
base_url = "https://ro.example.org/jira"
email = "stored@example.org"
token_env = "RO_TOKEN"
read_only = true

[sites.other]
base_url = "https://other.example.org"
email = "other@example.org"
token_env = "OTHER_TOKEN"
read_only = true

[sites.two]
base_url = "https://two.example.org"
email = "two@example.org"
token_env = "TWO_TOKEN"
read_only = true
services.confluence.base_url = "https://wiki.example.org"
"""
STORED = {"RO_TOKEN": "ro-secret", "OTHER_TOKEN": "other-secret", "TWO_TOKEN": "two-secret"}
HOSTS = {
    "ro-secret": "https://ro.example.org:443",
    "other-secret": "https://other.example.org:443",
    "two-secret": "https://two.example.org:443",
}
SITES = ["", "ro", "other", "two"]
ADDRESSES = ["", "https://ro.example.org/elsewhere", "https://other.example.org", "https://evil.example.org"]
TOKENS = ["", TOKEN]
METHODS = ["", "pat", "none"]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    with closing(open_catalog("suite", nobody(tmp_path_factory))) as catalog:
        yield catalog


def expected_host(variables: dict[str, str], options: dict[str, Any], active: bool) -> str | None:
    """Where the environment's token was given for: its address, else the site in use, else the option."""
    named = variables["SUITE_SITE"] or ("ro" if active else "")
    if variables["SUITE_BASE_URL"]:
        return url_origin(variables["SUITE_BASE_URL"])
    if named:
        return HOSTS[f"{named}-secret"]
    return url_origin(options["base-url"]) if options.get("base-url") else None


def sent(site: Site) -> dict[str, str]:
    """Origin → what is presented there."""
    found: dict[str, str] = {}
    for service in ("jira", "confluence"):
        try:
            found[url_origin(site.base_url(service))] = " ".join(site.headers(service).values())
        except NotAllowed:
            continue
    return found


def presented(site: Site, secret: str) -> list[str]:
    """The origins that are shown a secret, as it is or in a pair."""
    return [host for host, header in sent(site).items() if secret in header or secret in decoded(header)]


def decoded(header: str) -> str:
    import base64

    scheme, _, rest = header.partition(" ")
    return base64.b64decode(rest).decode() if scheme == "Basic" else header


@pytest.mark.slow
@pytest.mark.parametrize("active", [True, False])
def test_every_combination(active: bool, tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "profiles.toml").write_text(PROFILES if active else PROFILES.replace('site = "ro"', "", 1))
    tried = accepted = 0
    names = ("SUITE_SITE", "SUITE_BASE_URL", "SUITE_TOKEN", "SUITE_METHOD")
    for given in itertools.product(SITES, ADDRESSES, TOKENS, METHODS, SITES, ADDRESSES):
        variables = dict(zip(names, given[:4], strict=True))
        options = {"site": given[4] or None, "base-url": given[5] or None}
        environ = {"CALLSHEET_HOME": str(tmp_path), "SUITE_EMAIL": "env@example.org", **STORED, **variables}
        tried += 1
        try:
            site = current_site("suite", options, environ, catalog)
        except CallsheetError:
            continue
        accepted += 1
        for secret, host in HOSTS.items():
            assert presented(site, secret) in ([], [host]), given
        assert set(presented(site, TOKEN)) <= {expected_host(variables, options, active)}, given
        if given[4]:
            assert presented(site, TOKEN) == [], given
        if given[4] or given[0]:
            assert site.read_only, given
    assert tried == 4 * 4 * 2 * 3 * 4 * 4
    assert accepted > 300


def test_a_read_only_site_stays_read_only_under_another_path(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "profiles.toml").write_text(PROFILES)
    environ = {
        "CALLSHEET_HOME": str(tmp_path),
        "SUITE_SITE": "ro",
        "SUITE_TOKEN": TOKEN,
        "SUITE_EMAIL": "e@example.org",
    }
    site = current_site("suite", {"base-url": "https://ro.example.org/other"}, environ, catalog)
    assert (site.read_only, site.base_url("jira")) == (True, "https://ro.example.org/other")
    assert decoded(site.headers("jira")["Authorization"]) == f"e@example.org:{TOKEN}"


def test_an_address_without_a_token_changes_no_stored_identity(tmp_path: Path, catalog: Catalog) -> None:
    """A stored token is never sent under a name, or by a method, of the environment."""
    (tmp_path / "profiles.toml").write_text(PROFILES)
    others = {"SUITE_EMAIL": "env@example.org", "SUITE_METHOD": "pat", "SUITE_CLOUD_ID": "abc"}
    for options in ({}, {"base-url": "https://ro.example.org/jira"}):
        for given in ({}, {"SUITE_SITE": "ro"}):
            environ = {"CALLSHEET_HOME": str(tmp_path), **STORED, **others, **given}
            site = current_site("suite", options, environ, catalog)
            assert sent(site) == {"https://ro.example.org:443": site.headers("jira")["Authorization"]}
            assert decoded(site.headers("jira")["Authorization"]) == "stored@example.org:ro-secret"


RULED = """
[sites.careful]
base_url = "https://ro.example.org"
policy = "destroy=deny"

[sites.free]
base_url = "https://free.example.org"

[sites.parts]
base_url = "https://parts.example.org"
read_only = true
services.confluence.base_url = "https://wiki.example.org"

[sites.behind]
base_url = "https://behind.example.org"
cloud_id = "11223344-a1b2"
policy = "destroy=deny"
"""


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("by", ["SUITE_BASE_URL", "base-url"])
@pytest.mark.parametrize(
    ("address", "decision"),
    [
        ("https://ro.example.org", "deny"),
        ("https://RO.example.org:443/jira", "deny"),
        ("https://parts.example.org/x", "deny"),
        ("https://wiki.example.org", "deny"),
        ("https://api.atlassian.com/ex/jira/11223344-a1b2", "deny"),
        ("https://api.atlassian.com/ex/jira/other", "allow"),
        ("https://free.example.org", "allow"),
        ("https://ro.example.org:8443", "allow"),
    ],
)
def test_the_policy_of_a_site_holds_for_its_origin_wherever_the_address_comes_from(
    address: str, decision: str, by: str, token: str, tmp_path: Path, catalog: Catalog
) -> None:
    (tmp_path / "profiles.toml").write_text(RULED)
    variables = {"SUITE_BASE_URL": address} if by == "SUITE_BASE_URL" else {}
    environ = {"CALLSHEET_HOME": str(tmp_path), "SUITE_TOKEN": token, "SUITE_EMAIL": "e@example.org", **variables}
    site = current_site("suite", {} if variables else {"base-url": address}, environ, catalog)
    gate = Gate(site.policy, catalog, site=site.name, known_as=site.known_as)
    deleting = Builder(catalog, FakeSite(), "suite").build_request("deleteIssue", {"issueIdOrKey": "DEMO-1"})
    assert gate.judge_request(deleting).decision == decision


def test_a_rule_finds_a_site_by_its_name_wherever_the_address_comes_from(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "profiles.toml").write_text(RULED)
    rule = '[[rule]]\nsite = "free"\nclass = "destroy"\ndecision = "deny"\n'
    deleting = Builder(catalog, FakeSite(), "suite").build_request("deleteIssue", {"issueIdOrKey": "DEMO-1"})
    for address, decision in (("https://free.example.org/x", "deny"), ("https://other.example.org", "allow")):
        environ = {
            "CALLSHEET_HOME": str(tmp_path),
            "SUITE_BASE_URL": address,
            "SUITE_TOKEN": TOKEN,
            "SUITE_POLICY": rule,
        }
        site = current_site("suite", {}, environ, catalog)
        gate = Gate(site.policy, catalog, site=site.name, known_as=site.known_as)
        assert gate.judge_request(deleting).decision == decision


def test_a_site_that_is_named_is_ruled_by_itself_alone(tmp_path: Path, catalog: Catalog) -> None:
    """Who has two sites at one address, one to read and one to change things, says which."""
    (tmp_path / "profiles.toml").write_text(RULED + '[sites.admin]\nbase_url = "https://ro.example.org"\n')
    site = current_site("suite", {"site": "admin"}, {"CALLSHEET_HOME": str(tmp_path)}, catalog)
    assert not site.policy


@pytest.mark.parametrize("name", ["site", "base-url"])
def test_an_empty_option_is_not_the_site_in_use(name: str, tmp_path: Path, catalog: Catalog) -> None:
    """As a variable of a shell that is not set makes it."""
    (tmp_path / "profiles.toml").write_text(PROFILES)
    with pytest.raises(UsageError, match=f"--{name} is empty"):
        current_site("suite", {name: ""}, {"CALLSHEET_HOME": str(tmp_path), **STORED}, catalog)
