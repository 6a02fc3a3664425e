"""Which site a command talks to, and that no credential meets a host it was not given for."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from time import time
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.catalog.records import Records
from callsheet.errors import CallsheetError, NotAllowed, UsageError
from callsheet.sites.credentials.secrets import Secret
from callsheet.sites.profiles.choose import ChosenSite, Variables
from callsheet.sites.site import Site, current_site
from support.canary import TOKEN
from support.cases import nobody

PROFILES = """
site = "work"

[sites.work]
base_url = "https://work.example.org/"
email = "me@example.org"
token_env = "WORK_TOKEN"
rps = 5
ca_bundle = "ca.pem"
read_only = true

[sites.dc]
deployment = "datacenter"
base_url = "https://dc.example.org/jira"
token_env = "DC_TOKEN"

[sites.dc.services.confluence]
base_url = "https://wiki.example.org/confluence"
token_env = "WIKI_TOKEN"

[sites.half]
deployment = "datacenter"
base_url = "https://dc.example.org/jira"
token_env = "DC_TOKEN"
services.confluence.base_url = "https://elsewhere.example.org"
"""
VARIABLES = {"WORK_TOKEN": "work-secret", "DC_TOKEN": "dc-secret", "WIKI_TOKEN": "wiki-secret"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "profiles.toml").write_text(PROFILES)
    return home


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    yield catalog
    catalog.close()


class At:
    def __init__(self, home: Path, catalog: Catalog) -> None:
        self.home = home
        self.catalog = catalog

    def __call__(self, options: dict[str, Any] | None = None, **variables: str) -> Site:
        environ = {"CALLSHEET_HOME": str(self.home), **VARIABLES, **variables}
        return current_site("suite", options or {}, environ, self.catalog)


@pytest.fixture
def at(home: Path, catalog: Catalog) -> At:
    return At(home, catalog)


def basic(pair: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


ENVIRONMENT = {"SUITE_BASE_URL": "https://env.example.org", "SUITE_EMAIL": "e@example.org", "SUITE_TOKEN": TOKEN}


def test_the_environment_alone_is_enough(at: At, home: Path) -> None:
    (home / "profiles.toml").unlink()
    site = at(**ENVIRONMENT)
    assert (site.name, site.deployment, site.base_url("jira")) == ("environment", "cloud", "https://env.example.org")
    assert site.headers("jira") == basic(f"e@example.org:{TOKEN}")
    assert TOKEN in site.secrets()
    assert TOKEN not in repr(site)


def test_a_file_that_cannot_be_read_may_forbid_something_there(at: At, home: Path) -> None:
    (home / "profiles.toml").write_text("broken = = ")
    with pytest.raises(UsageError, match="not TOML"):
        at(**ENVIRONMENT)


def test_a_profile_is_used_with_its_settings(at: At, home: Path) -> None:
    site = at()
    assert (site.name, site.base_url("jira")) == ("work", "https://work.example.org")
    assert site.headers("confluence") == basic("me@example.org:work-secret")
    assert (site.rps, site.read_only, site.timeout) == (5, True, None)
    assert site.ca_bundle == str(home / "ca.pem")


def test_an_explicit_site_takes_nothing_from_the_environment(at: At) -> None:
    site = at({"site": "work"}, **ENVIRONMENT, SUITE_METHOD="pat", SUITE_DEPLOYMENT="datacenter", SUITE_SITE="dc")
    assert site.base_url("jira") == "https://work.example.org"
    assert site.headers("jira") == basic("me@example.org:work-secret")


def test_a_site_named_by_the_environment_beats_the_active_one(at: At) -> None:
    assert at(SUITE_SITE="dc").headers("jira") == {"Authorization": "Bearer dc-secret"}


def test_the_environments_token_beats_the_profiles(at: At) -> None:
    site = at(SUITE_TOKEN=TOKEN, SUITE_EMAIL="e@example.org")
    assert site.headers("jira") == basic(f"e@example.org:{TOKEN}")


def test_services_have_hosts_and_credentials_of_their_own(at: At) -> None:
    site = at({"site": "dc"})
    assert site.base_url("jira") == "https://dc.example.org/jira"
    assert site.base_url("confluence") == "https://wiki.example.org/confluence"
    assert site.headers("jira") == {"Authorization": "Bearer dc-secret"}
    assert site.headers("confluence") == {"Authorization": "Bearer wiki-secret"}


def test_a_service_on_another_host_does_not_get_the_sites_credential(at: At) -> None:
    with pytest.raises(NotAllowed, match="no credential for site 'half/confluence'"):
        at({"site": "half"}).headers("confluence")
    with pytest.raises(NotAllowed, match="no credential for site 'half/confluence'"):
        at(SUITE_SITE="half", SUITE_TOKEN=TOKEN).headers("confluence")


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ({"site": "work", "base-url": "https://evil.example.org"}, {}),
        ({"site": "work", "base-url": "https://work.example.org:8443"}, {}),
        ({"base-url": "https://evil.example.org"}, {}),
        ({"base-url": "https://evil.example.org"}, ENVIRONMENT),
        ({"site": "dc", "base-url": "https://dc.example.org/jira"}, {}),
        ({}, {"SUITE_SITE": "work", "SUITE_BASE_URL": "https://evil.example.org"}),
    ],
)
def test_a_credential_never_goes_to_another_host(at: At, options: dict[str, Any], variables: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="is not the host of"):
        at(options, **variables)


def test_an_address_from_the_environment_without_a_token_has_no_credential(at: At) -> None:
    site = at(SUITE_BASE_URL="https://env.example.org")
    with pytest.raises(NotAllowed) as caught:
        site.headers("jira")
    assert caught.value.hint == "set SUITE_EMAIL and SUITE_TOKEN"


def test_another_path_of_the_same_host_is_allowed(at: At) -> None:
    site = at({"base-url": "https://WORK.example.org:443/tracker/"})
    assert site.base_url("jira") == "https://WORK.example.org:443/tracker"
    assert site.headers("jira") == basic("me@example.org:work-secret")


@pytest.mark.parametrize(
    ("variables", "error", "message"),
    [
        ({"SUITE_BASE_URL": "http://env.example.org"}, UsageError, "http is only for this machine"),
        ({"SUITE_BASE_URL": "http://0.0.0.0:1"}, UsageError, "http is only for this machine"),
        ({"SUITE_BASE_URL": "env.example.org"}, UsageError, r"not an http\(s\) URL"),
        ({"SUITE_BASE_URL": "https://u:p@env.example.org"}, UsageError, "must not hold a user name"),
        ({"SUITE_BASE_URL": "https://env.example.org/?a=b"}, UsageError, "has a query"),
        ({"SUITE_DEPLOYMENT": "clod"}, UsageError, "unknown deployment 'clod', did you mean 'cloud'"),
        ({"SUITE_METHOD": "basc"}, UsageError, "unknown auth 'basc', did you mean 'basic'"),
        ({"SUITE_EMAIL": ""}, NotAllowed, "e-mail"),
        ({"SUITE_TOKEN": "two\nlines"}, NotAllowed, "line break"),
        ({"SUITE_METHOD": "pat", "SUITE_TOKEN": "sécret"}, NotAllowed, "characters that are not allowed in a token"),
        ({"SUITE_BASE_URL": "", "SUITE_SITE": "wrk"}, UsageError, "unknown site 'wrk', did you mean 'work'"),
    ],
)
def test_bad_variables_are_named(at: At, variables: dict[str, str], error: type[CallsheetError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        at(**{**ENVIRONMENT, **variables}).headers("jira")
    assert TOKEN not in f"{caught.value.message} {caught.value.hint}"


def test_http_to_this_machine_is_allowed(at: At) -> None:
    for host in ("127.0.0.1:8080", "localhost", "[::1]:9"):
        assert at(**{**ENVIRONMENT, "SUITE_BASE_URL": f"http://{host}"}).base_url("jira") == f"http://{host}"


def test_no_site_is_said_with_what_to_do(at: At, home: Path) -> None:
    (home / "profiles.toml").unlink()
    with pytest.raises(UsageError, match="no site selected") as caught:
        at()
    assert "SUITE_BASE_URL and SUITE_EMAIL and SUITE_TOKEN" in str(caught.value.hint)


def test_the_gateway_takes_over_where_a_cloud_id_is_known(at: At) -> None:
    site = at(**ENVIRONMENT, SUITE_CLOUD_ID="abc-1")
    gateways = {id: service.get("gateway") for id, service in at.catalog.services.all().items()}
    for service, gateway in gateways.items():
        expected = gateway.replace("{cloudId}", "abc-1") if gateway else "https://env.example.org"
        assert site.base_url(service) == expected
    assert site.address("jira") == "https://env.example.org"


def test_a_token_file_that_others_can_read_is_refused(at: At, home: Path) -> None:
    token = home / "token"
    token.write_text("file-secret\n")
    token.chmod(0o644)
    (home / "profiles.toml").write_text('[sites.w]\nbase_url="https://w.org"\nemail="a"\ntoken_file="token"\n')
    with pytest.raises(NotAllowed, match="can be read by others") as caught:
        at({"site": "w"}).headers("jira")
    assert caught.value.hint == f"chmod 600 {token}"
    token.chmod(0o600)
    assert at({"site": "w"}).headers("jira") == basic("a:file-secret")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[sites.w]\nbase_url='https://w.org'\ntoken='x'\n", ":3: sites.w.token: a credential does not belong"),
        ("[sites.w]\nbas_url='https://w.org'\n", ":2: sites.w.bas_url: unknown key, did you mean 'base_url'"),
        ("[sites.w]\nemail='a'\n", ":1: sites.w: base_url is missing"),
        ("[sites.w]\nbase_url='http://w.org'\n", ":2: sites.w.base_url: 'http://w.org' would send"),
        ("[sites.w]\nbase_url='https://w.org'\nrps=-1\n", ":3: sites.w.rps: expected more than 0"),
        (
            "[sites.w]\nbase_url='https://w.org'\noutput='xml'\n",
            ":3: sites.w.output: unknown output format 'xml' (one of: table, ",
        ),
        (
            "[sites.w]\nbase_url='https://w.org'\nread_only='no'\n",
            ":3: sites.w.read_only: expected true or false",
        ),
        (
            "[sites.w]\nbase_url='https://w.org'\nproxy='http://u:p@x'\n",
            ":3: sites.w.proxy: a URL must not hold a user name",
        ),
        ("[sites.w]\nbase_url='https://w.org'\nmethod='basik'\n", ":3: sites.w.method: no method 'basik' (one of: "),
        ("site='v'\n[sites.w]\nbase_url='https://w.org'\n", ":1: site: no site 'v'"),
        ("[sites.'a b']\nbase_url='https://w.org'\n", ":1: sites.a b"),
        ("[site.w]\n", ":1: site: expected a text"),
    ],
)
def test_a_broken_profiles_file_is_refused_with_line_and_key(at: At, home: Path, text: str, problem: str) -> None:
    (home / "profiles.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        at({"site": "w"})
    assert any(f"{home / 'profiles.toml'}{problem}" in line for line in caught.value.details), caught.value.details


def test_a_profiles_file_that_is_no_toml_is_refused(at: At, home: Path) -> None:
    (home / "profiles.toml").write_text("a = = b")
    with pytest.raises(UsageError, match=r"profiles\.toml: not TOML: .*line 1"):
        at()
    (home / "profiles.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(UsageError, match="not UTF-8"):
        at()


def test_the_checked_result_is_kept_until_the_file_changes(at: At, home: Path) -> None:
    at()
    (kept,) = (home / "cache").glob("profiles-*.json")
    changed = json.loads(kept.read_text())
    changed["profiles"]["sites"]["work"]["base_url"] = "https://from-the-cache.example.org"
    kept.write_text(json.dumps(changed))
    assert at().base_url("jira") == "https://from-the-cache.example.org"
    (home / "profiles.toml").write_text(PROFILES + "\n# edited\n")
    assert at().base_url("jira") == "https://work.example.org"
    kept.write_text("{ damaged")
    assert at().base_url("jira") == "https://work.example.org"
    assert os.stat(kept).st_mode & 0o077 == 0


class Definitions(Records):
    """The first method of a site presents no name, whatever the order of the shipped ones is."""

    program = "suite"

    tables: ClassVar[dict[str, dict[str, Any]]] = {
        "deployment": {"here": {"method": "open"}},
        "auth": {"open": {"scheme": "none"}, "key": {"scheme": "bearer"}, "pair": {"scheme": "basic"}},
        "service": {"items": {}, "other": {"base_url": "https://other.example"}},
    }

    def records_of_kind(self, kind: str) -> dict[str, Any]:
        return self.tables[kind]

    def ids(self, kind: str, prefix: str = "") -> list[str]:
        return list(self.tables[kind])

    def record(self, kind: str, id: str) -> Any:
        return self.tables[kind].get(id)


def shop(settings: dict[str, Any], token: str = "t", **environ: str) -> Site:
    environ = {"SHOP_TOKEN": token, **environ}
    choice = ChosenSite("shop", settings, token=bool(token))
    return Site(choice, Definitions(), Variables("SHOP", environ), environ)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "method", "header"),
    [
        ({}, "open", {}),
        ({"email": "me"}, "pair", basic("me:t")),
        ({"email": "me", "method": "key"}, "key", {"Authorization": "Bearer t"}),
    ],
)
def test_the_usual_method_and_the_one_with_a_name_are_found_in_the_definitions(
    settings: dict[str, Any], method: str, header: dict[str, str]
) -> None:
    site = shop({"base_url": "https://shop.example", **settings})
    assert (site.method_of("items"), site.deployment, site.headers("items")) == (method, "here", header)
    assert site.secrets() == (
        [] if method == "open" else ["t"] if method == "key" else [header["Authorization"][6:], "t"]
    )


def test_each_service_has_its_own_method_and_what_is_missing_is_named() -> None:
    services = {"other": {"base_url": "https://other.example", "email": "you", "token_env": "OTHER"}}
    site = shop({"method": "key", "base_url": "https://shop.example", "services": services}, OTHER="o")
    assert (site.method_of("items"), site.method_of("other")) == ("key", "key")
    services["other"]["method"] = "pair"
    site = shop({"method": "key", "base_url": "https://shop.example", "services": services}, OTHER="o")
    assert (site.headers("items"), site.headers("other")) == ({"Authorization": "Bearer t"}, basic("you:o"))
    assert site.hosts_of("other") == ["https://other.example:443"]
    with pytest.raises(UsageError, match="site 'shop' has no address for items") as caught:
        shop({"services": services}).base_url("items")
    assert caught.value.hint == "config set sites.shop.services.items.base_url URL"
    with pytest.raises(UsageError) as caught:
        shop({}).base_url("other")
    assert caught.value.hint == "config set sites.shop.services.other.base_url https://other.example"


def test_a_failed_look_up_is_remembered_and_an_ended_credential_is_not() -> None:
    asked: list[str] = []
    site = shop({"method": "key", "base_url": "https://shop.example"})
    endings = [time() + 100, 0.0, time() + 100]

    def find(service: str, *_: Any) -> Secret:
        asked.append(service)
        if service == "other":
            raise NotAllowed("no")
        return Secret(f"t{len(asked)}", "here", endings[len(asked) - 1])

    site._secrets = SimpleNamespace(find_secret=find)  # type: ignore[assignment]
    assert [site.headers("items")["Authorization"] for _ in range(3)] == ["Bearer t1"] * 3
    again = shop({"method": "key", "base_url": "https://shop.example"})
    again._secrets = site._secrets
    assert [again.headers("items")["Authorization"] for _ in range(3)] == ["Bearer t2", "Bearer t3", "Bearer t3"]
    services = {"other": {"base_url": "https://other.example"}}
    alone = shop({"method": "key", "base_url": "https://shop.example", "services": services})
    alone._secrets = site._secrets
    for _ in range(2):
        with pytest.raises(NotAllowed):
            alone.headers("other")
    assert asked == ["items", "items", "items", "other"]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"client_cert": "/c.pem"}, "/c.pem"),
        ({"client_cert": "/c.pem", "client_key": "/k.pem"}, ("/c.pem", "/k.pem")),
        ({"client_key": "/k.pem"}, None),
        ({}, None),
    ],
)
def test_a_client_certificate_may_have_its_key_beside_it(settings: dict[str, Any], found: Any) -> None:
    assert shop(settings).client_cert == found
