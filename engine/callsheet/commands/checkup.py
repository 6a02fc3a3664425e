"""Checks of a site and of this machine, and the rows in which a check-up is shown."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

from ..client.listed import list_in_answer
from ..errors import CallsheetError, NetworkError, TLSFailed, count_of
from ..files import changeable_by_others, is_shared_with_others
from ..language.layers import files_of
from ..language.merge import on_deployment
from ..language.template import to_text
from ..paths import cache_directory, own_definitions_folder, settings_directory
from ..sites.credentials.oauth import Authority, UnauthenticatedClient
from ..sites.credentials.secrets import FILE, chosen_name, consent_of, open_store, takes_secret
from ..sites.profiles.choose import Variables, profiles_path, read_profiles
from ..sites.site import Site
from .context import Context
from .obtain_credential import Asker

# One line of a check-up.


Status = Literal["ok", "warn", "fail", "skip"]


class Row(NamedTuple):
    """`remedy` says what to do, and is empty where nothing has to be done."""

    check: str
    status: Status
    detail: str
    remedy: str = ""


Check = Callable[[], Iterator[Row]]


def guarded_rows(name: str, check: Check) -> Iterator[Row]:
    """The rows of a check; a failure of the check itself is one of them."""
    try:
        yield from check()
    except CallsheetError as error:
        yield failed_row(name, error)
    except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
        yield Row(name, "fail", f"unexpected: {type(error).__name__}: {error}", "report this as a bug")


def failed_row(name: str, error: CallsheetError, status: Status = "fail") -> Row:
    detail = "; ".join([error.message, *error.details[:3]])
    return Row(name, status, detail, error.hint or "see the message")


# Checks that send nothing: files, rights, definitions, the key store.


def check_configuration(context: Context) -> Iterator[Row]:
    path = profiles_path(context.environ, context.program)
    if not os.path.exists(path):
        yield Row("configuration", "ok", f"no {path}: only options and environment variables are used")
        return
    found = read_profiles(context.catalog, context.environ)
    sites = ", ".join(found.get("sites", {})) or "none"
    yield Row("configuration", "ok", f"{path}; sites: {sites}; active: {found.get('site', 'none')}")


def check_permissions(context: Context) -> Iterator[Row]:
    """Secrets that others can read, and files by which others could lead requests elsewhere."""
    directory = settings_directory(context.environ, context.program)
    aliases_path = os.path.join(directory, "aliases.toml")
    problems = 0
    for path in [os.path.join(directory, "credentials.enc"), *_password_files(context)]:
        if os.path.exists(path) and is_shared_with_others(os.stat(path)):
            problems += 1
            yield Row("permissions", "fail", f"{path} can be read by others", f"chmod 600 {path}")
    obeyed = (
        profiles_path(context.environ, context.program),
        aliases_path,
        own_definitions_folder(context.environ, context.program),
    )
    for doubt in dict.fromkeys(filter(None, map(changeable_by_others, obeyed))):
        problems += 1
        yield Row("permissions", "fail", str(doubt), doubt.remedy)
    cache = changeable_by_others(cache_directory(context.environ))
    if cache is not None:
        problems += 1
        yield Row("permissions", "warn", f"{cache}, so what is kept there is not used", cache.remedy)
    if not problems:
        there = os.path.exists(directory)
        yield Row("permissions", "ok", f"{directory} {'can be changed only by you' if there else 'does not exist yet'}")


def _password_files(context: Context) -> list[str]:
    variables = Variables(context.definition["prefix"], context.environ)
    file = variables.get("KEYRING_PASSWORD_FILE")
    return [file] if file else []


def check_definition_files(context: Context) -> Iterator[Row]:
    if context.broken is not None:
        yield failed_row("definitions", context.broken)._replace(
            remedy=context.broken.hint or "fix the file, or move it away"
        )
        return
    files = sum(len(files_of(layer)) for layer in context.layers)
    kinds = context.catalog.count_by_kind()
    ((offered,),) = context.catalog.query_rows("SELECT count(*) FROM operation")
    yield Row(
        "definitions", "ok", f"{sum(kinds.values())} in {count_of(files, 'file')}, {count_of(offered, 'operation')}"
    )


def check_catalog(context: Context) -> Iterator[Row]:
    path = context.catalog.path
    if os.path.exists(path):
        yield Row("catalog", "ok", path)
    else:
        remedy = f"make {os.path.dirname(path)} writable, or name another directory in CALLSHEET_CACHE"
        yield Row("catalog", "warn", "compiled again at every start, because it cannot be written", remedy)


def key_store(context: Context) -> Iterator[Row]:
    """The store in use; not having one only matters where a site keeps its credential there."""
    from ..sites.credentials.keychain import Keychain

    variables = Variables(context.definition["prefix"], context.environ)
    store = open_store(chosen_name(variables), variables, context.environ, context.program)
    if isinstance(store, Keychain):
        yield Row("key store", "ok", store.check())
    else:
        store.get("")
        yield Row("key store", "ok", f"encrypted file in {settings_directory(context.environ, context.program)}")


def needs_store(context: Context) -> bool:
    return any(
        place in (FILE, "keyring")
        for site in read_profiles(context.catalog, context.environ).get("sites", {}).values()
        for place in [site.get("store"), *(access.get("store") for access in site.get("services", {}).values())]
    )


# Checks of the site: reaching it, its clock, its certificate, what each product lets one do.


_SKEW_WARNS = 60
_SKEW_FAILS = 300


def site_chosen(context: Context) -> Iterator[Row]:
    site = context.site()
    routes = dict.fromkeys(site.base_url(service) for service in services_with_address(context, site))
    read_only = ", read-only" if site.read_only else ""
    yield Row("site", "ok", f"{site.name} ({site.deployment}{read_only}): {', '.join(routes)}")


def services_with_address(context: Context, site: Site) -> list[str]:
    """The services that the site has an address for."""
    return [service for service in context.catalog.services.ids() if site.access_to(service).get("base_url")]


def check_credential(context: Context) -> Iterator[Row]:
    site = context.site()
    seen: set[tuple[str, str, str]] = set()
    for service in services_with_address(context, site):
        key = (site.place_of_secret(service), site.method_of(service), site.access_to(service)["base_url"])
        if key in seen:
            continue
        seen.add(key)
        try:
            site.headers(service)
        except CallsheetError as error:
            yield failed_row("credential", error)
        else:
            needed = takes_secret(context.catalog.auth_methods.get(site.method_of(service)))
            place = f"from {site.place_of_secret(service)}" if needed else "no credential needed"
            yield Row("credential", "ok", f"{site.method_of(service)}, {place}")


def check_connection(context: Context) -> Iterator[Row]:
    """One request without a credential to each address: network, TLS and clock in one go."""
    site = context.site()
    for address in dict.fromkeys(site.base_url(service) for service in services_with_address(context, site)):
        web = UnauthenticatedClient(site, context.environ, home=address)
        started = time.monotonic()
        try:
            reply = web.get(f"{address}/")
        except NetworkError as error:
            yield failed_row("TLS" if isinstance(error, TLSFailed) else "connection", error)
            continue
        took = (time.monotonic() - started) * 1000
        yield Row("connection", "ok", f"{address} answers ({reply.status}, {took:.0f} ms)")
        yield _certificate_row(site, address)
        yield _clock_row(reply.headers.get("date"))


def _certificate_row(site: Site, address: str) -> Row:
    if address.startswith("http:"):
        return Row("TLS", "ok", "not used: the address is on this machine")
    return Row("TLS", "ok", f"certificate trusted by {site.ca_bundle or 'the usual authorities'}")


def _clock_row(date: str | None) -> Row:
    try:
        skew = abs(parsedate_to_datetime(date or "").timestamp() - time.time())
    except (ValueError, OverflowError):
        return Row("clock", "skip", "the site sends no usable Date header")
    text = f"{skew:.0f} s apart from the site's"
    if skew > _SKEW_WARNS:
        return Row("clock", "fail" if skew > _SKEW_FAILS else "warn", text, "set this machine's clock")
    return Row("clock", "ok", text)


def check_products(context: Context) -> Iterator[Row]:
    """What each product lets one do, and facts about the installation.

    A product that is not there only fails where none is: few sites have all of them.
    """
    site = context.site()
    services = set(services_with_address(context, site))
    with closing(Asker(context.catalog, site, context.program, context.environ)) as asker:
        results = list(asker.probe_all(services))
        some = any(result.error is None for result in results)
        for result in results:
            name = f"access: {result.product}"
            if result.error is None:
                yield Row(name, "ok", f"{result.title}: {result.answer}")
            else:
                yield failed_row(name, result.error, "warn" if some else "fail")
        if some:
            yield from _product_rows(context, asker, {result.product for result in results if result.error is None})


def _product_rows(context: Context, asker: Asker, open_products: set[str]) -> Iterator[Row]:
    deployment = context.site().deployment
    for id, product in context.catalog.products.all().items():
        if id not in open_products:
            continue
        for fact in on_deployment(product, deployment).get("facts", ()):
            name = f"{fact['name']}: {id}"
            try:
                yield Row(name, "ok", asker.ask_question(fact))
            except CallsheetError as error:
                yield failed_row(name, error, "warn")


def check_scopes(context: Context) -> Iterator[Row]:
    """What the token may do, where the authorization server tells."""
    site = context.site()
    for service in services_with_address(context, site)[:1]:
        consent = consent_of(context.catalog.auth_methods.get(site.method_of(service)))
        access = site.access_to(service)
        if consent is None or "sites" not in consent or not access.get("client_id"):
            continue
        header = site.headers(service).get("Authorization", "")
        web = UnauthenticatedClient(site, context.environ)
        authority = Authority(consent, access["client_id"], "", web, reads_only=True)
        for reached in authority.reachable_sites(header.partition(" ")[2]):
            if reached.get("id") == access.get("cloud_id"):
                granted = " ".join(map(to_text, list_in_answer(reached.get("scopes") or [])))
                yield Row("scopes", "ok", granted or "not reported")
