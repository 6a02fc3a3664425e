"""The site a command talks to: its addresses, how one is known there, its defaults and its policy."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

from ..catalog.catalog import Catalog
from ..errors import CallsheetError, UsageError
from ..language.merge import deployment_variants
from ..language.safety import by_method, class_for_policies
from ..language.template import fill_template
from ..policy.policy import Policy, PolicySource
from ..policy.policy_sources import DocumentedRequest, load_policy, of_site
from ..urls import base_url, url_origin
from .credentials.secrets import (
    Credential,
    Secret,
    Secrets,
    absolute_path,
    access_to,
    account_of_secret,
    consent_of,
    scheme_named,
    takes_secret,
)
from .profiles.choose import ChosenSite, Variables, choose_site, rate_options, read_profiles

if TYPE_CHECKING:
    from ..language.shape.access import ConsentAuth
    from ..language.shape.rest import ServiceDefinition
    from .credentials import CredentialRecord
    from .profiles.validate import Access, SiteProfile


# The policy that holds where a site is in use.


VARIABLE = "POLICY"


class CatalogNames:
    """What the rules of a policy may mention, out of the definitions."""

    def __init__(self, catalog: Catalog, environ: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._environ = environ
        self._requests: list[DocumentedRequest] = []

    @property
    def program(self) -> str:
        return self._catalog.program

    def operation_id(self, name: str) -> str | None:
        found = self._catalog.operations.find(name)
        return self._catalog.canonical_id("operation", name) if found is not None else None

    def operations(self) -> Collection[str]:
        return self._catalog.operations.ids()

    def requests(self) -> list[DocumentedRequest]:
        if not self._requests:
            self._requests = [*self._all_requests()]
        return self._requests

    def _all_requests(self) -> Iterator[DocumentedRequest]:
        for id, operation in self._catalog.operations.all().items():
            for table in (operation, *deployment_variants(operation).values()):
                method, _, path = str(table["http"]).partition(" ")
                for safety in {class_for_policies(table), *([by_method(method)] if operation.get("own") else [])}:
                    yield DocumentedRequest(id, method, path, safety)
        for http, safety, id in self._catalog.shipped_paths():
            method, _, path = http.partition(" ")
            yield DocumentedRequest(id, method, path, safety)

    def kinds(self) -> Mapping[str, Collection[str]]:
        return {
            id: [each["pattern"], *filter(None, [each.get("query_pattern")])]
            for id, each in self._catalog.containers.all().items()
        }

    def programs(self) -> Collection[str]:
        from ..language.load import program_names

        return program_names(self._environ)


def policy_here(
    catalog: Catalog,
    variables: Variables,
    environ: Mapping[str, str],
    *,
    sites: Mapping[str, Mapping[str, Any]] = {},
    restrictions: Iterable[PolicySource] = (),
    warn: Callable[[str], None] = lambda _: None,
) -> Policy:
    """What machine, `sites` (settings by name), environment and `restrictions` of whoever runs this say together.

    Raises `UsageError` or `NotAllowed` where it cannot be known what is forbidden.
    """
    names = CatalogNames(catalog, environ)
    own = [source for name, settings in sites.items() for source in of_site(name, settings, names)]
    return load_policy(variables.name(VARIABLE), environ, names, own=[*own, *restrictions], warn=warn)


# The site a command talks to: its addresses, how one is known there, and its defaults.


class Site:
    """One site, unchangeable. A secret is looked up when its service is first asked for and never shown by `repr`."""

    __slots__ = (
        "_accesses",
        "_catalog",
        "_credential_keys",
        "_credentials",
        "_environ",
        "_names",
        "_secrets",
        "_services",
        "_settings",
        "deployment",
        "name",
        "policy",
    )

    def __init__(
        self,
        choice: ChosenSite,
        catalog: Catalog,
        variables: Variables,
        environ: Mapping[str, str],
        *,
        restrictions: Sequence[PolicySource] = (),
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`restrictions` are rules of whoever runs this; `warn` is told of a policy that is ignored."""
        self.name = choice.name
        self._names = frozenset(choice.ruled_by)
        ruling = {**choice.ruled_by, choice.name: choice.settings}
        self.policy = policy_here(catalog, variables, environ, sites=ruling, restrictions=restrictions, warn=warn)
        self._catalog = catalog
        self._environ = environ
        self._services: list[str] | None = None
        self._accesses: dict[str, SiteProfile] = {}
        self._credentials: dict[tuple[str, ...], Credential | CallsheetError] = {}
        self._credential_keys: dict[str, tuple[str, ...]] = {}
        self.deployment: str = choice.settings.get("deployment") or catalog.deployments.ids()[0]
        self._settings = self._with_methods(choice.settings)
        self._secrets = Secrets(
            choice.name, self._settings, variables, environ, program=catalog.program, token=choice.token
        )

    def __repr__(self) -> str:
        return f"Site({self.name!r})"

    def base_url(self, service: str) -> str:
        """Where a service's paths start: scheme, host and context path, no slash at the end.

        Raises `UsageError` when the site has no address for the service.
        """
        access = self.access_to(service)
        if access.get("cloud_id"):
            known = self._catalog.services.find(service)
            if known and "gateway" in known:
                return _gateway_url(known["gateway"], str(access["cloud_id"]))
        return self.address(service)

    def address(self, service: str) -> str:
        """The service's own address, as people open it in a browser."""
        address = self.access_to(service).get("base_url")
        if not address:
            raise UsageError(
                f"site {self.name!r} has no address for {service}",
                hint=f"config set sites.{self.name}.services.{service}.base_url {self._hint_for(service)}",
            )
        return above_products(self._catalog, address) if urlsplit(address).path else str(address)

    def _hint_for(self, service: str) -> str:
        """Only ever suggested: credentials go where a person said that they go."""
        known = self._catalog.services.find(service)
        return known.get("base_url", "URL") if known else "URL"

    def headers(self, service: str) -> dict[str, str]:
        """Headers that hold the credential, if any do; raises `NotAllowed` without a credential."""
        return dict(self._credential_of(service).headers)

    def query(self, service: str) -> tuple[tuple[str, str], ...]:
        """Pairs of the query that hold the credential, if any do; raises as `headers`."""
        return self._credential_of(service).query

    def body(self, service: str) -> tuple[tuple[str, str], ...]:
        """Members of a body that hold the credential, if any do; raises as `headers`."""
        return self._credential_of(service).body

    def secrets(self) -> list[str]:
        """Texts that must not be shown: of every credential the site has."""
        found: list[str] = []
        if self._services is None:
            self._services = self._catalog.services.ids()
        for service in self._services:
            with contextlib.suppress(CallsheetError):
                found.extend(self._credential_of(service).secrets)
        return list(dict.fromkeys(found))

    def access_to(self, service: str) -> SiteProfile:
        """Address, method and places of credentials as they hold for one service; not to be changed."""
        if service not in self._accesses:  # every request asks several times
            self._accesses[service] = self._at_own_server(service) or access_to(self._settings, service)
        return self._accesses[service]

    def _at_own_server(self, service: str) -> SiteProfile | None:
        """The access to a further server of another service; None for any other service.

        A site that is elsewhere than the other service is documented, as a test server is, has all of it there.
        """
        known = self._catalog.services.find(service)
        if known is None or "beside" not in known:
            return None
        first = self.access_to(known["beside"])
        usual = self._catalog.services.get(known["beside"]).get("base_url")
        address = self._settings.get("services", {}).get(service, {}).get("base_url")
        if not address and usual and url_origin(usual) == url_origin(first.get("base_url", usual)):
            address = known["base_url"]
        return {**first, "base_url": address} if address else first

    def hosts_of(self, service: str) -> list[str]:
        """The origins that see the service's credential: where requests go, and where an access token is renewed."""
        known = self._catalog.services.find(service)
        if known is not None and "beside" in known:
            return []  # those of the service that it is beside have all that see its credential
        consent: Mapping[str, Any] = consent_of(self._catalog.auth_methods.get(self.method_of(service))) or {}
        servers = [url_origin(consent[key]) for key in ("token", "sites") if key in consent]
        further = [
            url_origin(self.base_url(id))
            for id, table in self._catalog.services.all().items()
            if table.get("beside") == service and table.get("credential")
        ]
        return [url_origin(self.base_url(service)), *further, *servers]

    def place_of_secret(self, service: str) -> str:
        """Where the service's secret comes from: a variable, a file, a store, or nowhere yet."""
        return self._secrets.place_of_secret(service)

    def method_of(self, service: str) -> str:
        """The id of the auth definition in use."""
        return str(self.access_to(service)["method"])

    def _with_methods(self, settings: SiteProfile) -> SiteProfile:
        """The settings with the method of the site and of each service said, so that they can be compared."""
        usual = str(self._catalog.deployments.get(self.deployment)["method"])
        named = next(
            (id for id, auth in self._catalog.auth_methods.all().items() if scheme_named(auth["scheme"]).takes_user),
            usual,
        )

        def method(access: Access) -> str:
            return access.get("method") or (named if access.get("email") else usual)

        known: SiteProfile = {**settings, "method": method(settings)}
        services: dict[str, Access] = {}
        for name, own in settings.get("services", {}).items():
            together: SiteProfile = {**settings, **own}
            services[name] = {**own, "method": method(together)}
        for name, service in self._catalog.services.all().items():
            ways = service.get("auth")
            own = settings.get("services", {}).get(name, {})
            if ways and services.get(name, known)["method"] not in ways and not self._is_open(own.get("method", "")):
                services[name] = {**services.get(name, {}), "method": ways[0]}
        return {**known, "services": services} if services else known

    def _is_open(self, method: str) -> bool:
        """Whether it is a method with nothing to show, which suits every service that asks for nothing."""
        auth = self._catalog.auth_methods.find(method)
        return auth is not None and not takes_secret(auth)

    def _credential_of(self, service: str) -> Credential:
        """Looked up once, and again when it ends. A failure is remembered: it would only cost the same time again."""
        known = self._catalog.services.find(service)
        if known is not None and "beside" in known:
            is_same = url_origin(self.base_url(service)) == url_origin(self.base_url(known["beside"]))
            return self._credential_of(known["beside"]) if is_same or known.get("credential") else Credential({}, ())
        if service not in self._credential_keys:
            self._credential_keys[service] = self._credential_key(service)
        key = self._credential_keys[service]
        found = self._credentials.get(key)
        if found is None or (isinstance(found, Credential) and found.expires_at < time()):
            try:
                self._credentials[key] = self._load_credential(service)
            except CallsheetError as error:
                self._credentials[key] = error
            found = self._credentials[key]
        if isinstance(found, CallsheetError):
            raise found
        return found

    def _credential_key(self, service: str) -> tuple[str, ...]:
        """Equal for services that share a credential."""
        access = self.access_to(service)
        home = url_origin(access.get("base_url", ""))
        return account_of_secret(self.name, self._settings, service), home, access["method"], access.get("email", "")

    def _load_credential(self, service: str) -> Credential:
        auth = self._catalog.auth_methods.get(self.method_of(service))
        access = self.access_to(service)

        def renew(record: CredentialRecord) -> CredentialRecord:
            from .credentials.oauth import Authority, UnauthenticatedClient

            web = UnauthenticatedClient(self, self._environ, home=self.address(service))
            authority = Authority(
                cast("ConsentAuth", auth)["oauth"], access.get("client_id", ""), record.get("client_secret", ""), web
            )
            return authority.renew_token(record, access.get("scopes", ()))

        def find() -> Secret:
            return self._secrets.find_secret(service, self.hosts_of(service), renew)

        return scheme_named(auth["scheme"]).present(auth, access, find)

    @property
    def ca_bundle(self) -> str | None:
        return self._absolute_path("ca_bundle")

    @property
    def client_cert(self) -> str | tuple[str, str] | None:
        """A PEM file with certificate and key, or the two files."""
        certificate, key = self._absolute_path("client_cert"), self._absolute_path("client_key")
        return (certificate, key) if certificate and key else certificate

    @property
    def proxy(self) -> str | None:
        return self._settings.get("proxy")

    @property
    def rps(self) -> float | None:
        return self._settings.get("rps")

    @property
    def timeout(self) -> float | None:
        return self._settings.get("timeout")

    @property
    def addresses(self) -> frozenset[str]:
        """The origins of its services, as people know them."""
        found = [self.access_to(service).get("base_url") for service in self._catalog.services.ids()]
        return frozenset(url_origin(str(address)) for address in found if address)

    @property
    def known_as(self) -> frozenset[str]:
        """What rules of a policy may call it: its addresses, and the names of other sites that are there."""
        return self.addresses | self._names

    @property
    def identity_key(self) -> list[Any]:
        """What tells this site, and who one is there, from others; nothing of it is secret."""
        keys = ("base_url", "method", "email", "client_id", "cloud_id")
        services = {each: self.access_to(each) for each in self._catalog.services.ids()}
        known = {each: [table.get(key) for key in keys] for each, table in services.items()}
        return [self.name, self.deployment, known]

    @property
    def read_only(self) -> bool:
        """Whether nothing may be changed here, whoever forbids it."""
        return self.policy.denies_changes() is not None

    @property
    def output(self) -> str | None:
        return self._settings.get("output")

    def default_of(self, key: str) -> Any:
        """What stands in for a parameter that was not given."""
        return self._settings.get(key)

    @property
    def mirror(self) -> str | None:
        """The file of a mirror that agents may ask."""
        return self._absolute_path("mirror")

    def _absolute_path(self, key: Literal["ca_bundle", "client_cert", "client_key", "mirror"]) -> str | None:
        path = self._settings.get(key)
        return absolute_path(path, self._environ, self._catalog.program) if path else None


def _gateway_url(gateway: str, cloud_id: str) -> str:
    """The gateway's address for one site; raises `UsageError`.

    The id is what a site told at sign-in, so it is one segment of the path and has no say in the host.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", cloud_id):
        raise UsageError(f"cloud_id: {cloud_id[:100]!r} is not an id: letters, digits, - and _ only")
    found = base_url(str(fill_template(gateway, {"cloudId": cloud_id})), "gateway")
    if url_origin(found) != url_origin(base_url(str(fill_template(gateway, {"cloudId": "x"})), "gateway")):
        raise UsageError(f"gateway {gateway}: the id of a site must not stand in the host's name")
    return found


def above_products(catalog: Catalog, address: str) -> str:
    """An address without the path that requests to a product have anyway: people know the two as one."""
    bases = [product["base"].rstrip("/") for product in catalog.products.all().values() if "base" in product]
    ends = [base for base in bases if base and address.endswith(base)]
    return address.removesuffix(max(ends, key=len, default=""))


def first_services(catalog: Catalog) -> dict[str, ServiceDefinition]:
    """Those that one signs in to: without further servers of others."""
    return {id: table for id, table in catalog.services.all().items() if "beside" not in table}


def usual_address(catalog: Catalog) -> str:
    """Where the program's only service is, as far as its definitions tell."""
    known = [table.get("base_url", "") for table in first_services(catalog).values()]
    return known[0] if len(known) == 1 else ""


def current_site(
    program: str,
    options: Mapping[str, Any],
    environ: Mapping[str, str],
    catalog: Catalog,
    *,
    restrictions: Sequence[PolicySource] = (),
    warn: Callable[[str], None] = lambda _: None,
) -> Site:
    """The site that options, environment and profiles file choose, in this order; raises `UsageError`.

    `restrictions` are rules of whoever runs this; `warn` is told of a policy that is ignored.
    """
    variables = Variables(catalog.programs.get(program)["prefix"], environ)

    def public(method: str) -> bool:
        auth = catalog.auth_methods.find(method)  # an unknown one is an error later, when it is used
        return auth is not None and not takes_secret(auth)

    choice = choose_site(
        options, variables, lambda: read_profiles(catalog, environ), public, lambda: usual_address(catalog)
    )
    choice.settings.update(rate_options(options))
    return Site(choice, catalog, variables, environ, restrictions=restrictions, warn=warn)
