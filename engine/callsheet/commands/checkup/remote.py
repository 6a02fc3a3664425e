"""Checks of the site: reaching it, its clock, its certificate, what each product lets one do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime

from ...client.listed import list_in_answer
from ...errors import CallsheetError, NetworkError, TLSFailed
from ...language.merge import on_deployment
from ...language.template import to_text
from ...sites.credentials.oauth import UnauthenticatedClient
from ...sites.credentials.schemes import consent_of, takes_secret
from ...sites.site import Site
from ..context import Context
from ..signin.verify import Asker
from .local import Row, failed_row

_SKEW_WARNS = 60
_SKEW_FAILS = 300


def site_chosen(context: Context) -> Iterator[Row]:
    site = context.site()
    routes = dict.fromkeys(site.base_url(service) for service in services_with_address(context, site))
    read_only = ", read-only" if site.read_only else ""
    yield Row("site", "ok", f"{site.name} ({site.deployment}{read_only}): {', '.join(routes)}")


def services_with_address(context: Context, site: Site) -> list[str]:
    """The services that the site has an address for."""
    return [service for service in context.catalog.ids("service") if site.access(service).get("base_url")]


def check_credential(context: Context) -> Iterator[Row]:
    site = context.site()
    seen: set[tuple[str, str, str]] = set()
    for service in services_with_address(context, site):
        key = (site.place_of_secret(service), site.method(service), site.access(service)["base_url"])
        if key in seen:
            continue
        seen.add(key)
        try:
            site.headers(service)
        except CallsheetError as error:
            yield failed_row("credential", error)
        else:
            needed = takes_secret(context.catalog.get("auth", site.method(service)))
            place = f"from {site.place_of_secret(service)}" if needed else "no credential needed"
            yield Row("credential", "ok", f"{site.method(service)}, {place}")


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
        yield _tls(site, address)
        yield _clock(reply.headers.get("date"))


def _tls(site: Site, address: str) -> Row:
    if address.startswith("http:"):
        return Row("TLS", "ok", "not used: the address is on this machine")
    return Row("TLS", "ok", f"certificate trusted by {site.ca_bundle or 'the usual authorities'}")


def _clock(date: str | None) -> Row:
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
            yield from _facts(context, asker, {result.product for result in results if result.error is None})


def _facts(context: Context, asker: Asker, open_products: set[str]) -> Iterator[Row]:
    deployment = context.site().deployment
    for id, product in context.catalog.all("product").items():
        if id not in open_products:
            continue
        for fact in on_deployment(product, deployment).get("facts", ()):
            name = f"{fact['name']}: {id}"
            try:
                yield Row(name, "ok", asker.ask(fact))
            except CallsheetError as error:
                yield failed_row(name, error, "warn")


def check_scopes(context: Context) -> Iterator[Row]:
    """What the token may do, where the authorization server tells."""
    from ...sites.credentials.oauth import Authority

    site = context.site()
    for service in services_with_address(context, site)[:1]:
        consent = consent_of(context.catalog.get("auth", site.method(service)))
        access = site.access(service)
        if consent is None or "sites" not in consent or not access.get("client_id"):
            continue
        header = site.headers(service).get("Authorization", "")
        web = UnauthenticatedClient(site, context.environ)
        authority = Authority(consent, access["client_id"], "", web, reads_only=True)
        for reached in authority.sites(header.partition(" ")[2]):
            if reached.get("id") == access.get("cloud_id"):
                granted = " ".join(map(to_text, list_in_answer(reached.get("scopes") or [])))
                yield Row("scopes", "ok", granted or "not reported")
