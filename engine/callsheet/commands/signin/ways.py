"""Which ways of signing in a site offers: those of one service, or those that no service keeps for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, did_you_mean
from ...sites.credentials.schemes import scheme_named
from ...sites.site import first_services

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog

_OF_CONSENT = ("client-id", "client-secret", "scopes", "no-browser", "port")
_OF_A_TOKEN = ("token", "token-stdin")


def ways_of(catalog: Catalog, service: str | None) -> list[str]:
    """Ids of auth definitions, the usual way first where the service says so."""
    services = first_services(catalog)
    service = next(iter(services)) if service is None and len(services) == 1 else service
    own = services[service].get("auth") if service in services else None
    if own:
        return list(own)
    claimed = {way for each in services.values() for way in each.get("auth", ())}
    return [id for id in catalog.ids("auth") if id not in claimed]


def usual_way(catalog: Catalog, deployment: str, service: str | None, *, with_user: bool) -> str:
    """The way that is meant where nobody says one; `with_user`: an address or user name was given."""
    ways = ways_of(catalog, service)
    if with_user:
        named = [id for id in ways if scheme_named(catalog.get("auth", id)["scheme"]).takes_user]
        if named:
            return named[0]
    usual: str = catalog.get("deployment", deployment)["method"]
    return usual if usual in ways else ways[0]


def check_way(catalog: Catalog, service: str | None, method: str) -> None:
    """Raises `UsageError` for a way that the service does not take."""
    ways = ways_of(catalog, service)
    if method not in ways:
        whose = f" to {service}" if service else ""
        near = did_you_mean(method, ways)
        raise UsageError(f"--method: {method!r} is not a way to sign in{whose}{near} (one of: {', '.join(ways)})")


def check_options(catalog: Catalog, method: str, given: Callable[[str], Any]) -> None:
    """Raises `UsageError` for an option of sign-in that the method has no use for; `given` gives its value."""
    options = (*_OF_CONSENT, *_OF_A_TOKEN, "email")
    unused = (name for name in options if given(name) not in (None, False, ()) and not _takes(name, catalog, method))
    if (wrong := next(unused, None)) is None:
        return
    takes = [id for id in catalog.ids("auth") if _takes(wrong, catalog, id)]
    hint = f"it goes with --method {' or '.join(takes)}" if takes else None
    raise UsageError(f"--{wrong} cannot be used with --method {method}", hint=hint)


def _takes(option: str, catalog: Catalog, method: str) -> bool:
    how = scheme_named(catalog.get("auth", method)["scheme"])
    if option in _OF_CONSENT:
        return how.by_consent
    return how.takes_user if option == "email" else how.takes_secret and not how.by_consent
