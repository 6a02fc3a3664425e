"""Saving a sign-in that worked: the credential first, then the profile that points to it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ...errors import CallsheetError
from ...sites.credentials.schemes import takes_secret
from ...sites.credentials.stores import Store, chosen_name, open_store
from ...sites.profiles.choose import Variables
from ...sites.profiles.edit import editing, put, put_site
from .request import SignInRequest, candidate

if TYPE_CHECKING:
    from ...sites.credentials.record import Record
    from ...sites.profiles.model import SiteProfile
    from ..context import Context


def save_sign_in(context: Context, wanted: SignInRequest, record: Record | None, extra: SiteProfile) -> str | None:
    """Returns the store's name; without a `record` there is only a profile. `extra` are further keys of the site.

    When the profile cannot be written the credential is taken back, so that nothing is left behind.
    """
    if record is None:
        _write(context, wanted, None, extra)
        return None
    variables = Variables(context.definition["prefix"], context.environ)
    store = open_store(chosen_name(variables), variables, context.environ, context.program)
    previous = store.get(wanted.account)
    others = other_hosts(context, wanted)
    bound: Record = {**record, "origin": wanted.origin}
    if others:
        bound["hosts"] = others
    store.put(wanted.account, bound)
    try:
        _write(context, wanted, store.name, extra)
    except BaseException:
        with contextlib.suppress(CallsheetError):
            _restore(store, wanted.account, previous)
        raise
    return store.name


def other_hosts(context: Context, wanted: SignInRequest) -> list[str]:
    """The origins besides the site's own that this sign-in was made with; no others will get the credential."""
    site = candidate(wanted, "", {}, context.catalog, context.environ)
    hosts = {host for service in context.catalog.ids("service") for host in site.hosts(service)}
    return sorted(hosts - {wanted.origin})


def _restore(store: Store, account: str, previous: Record | None) -> None:
    if previous is None:
        store.delete(account)
    else:
        store.put(account, previous)


def _write(context: Context, wanted: SignInRequest, store: str | None, extra: SiteProfile) -> None:
    secret = takes_secret(context.catalog.get("auth", wanted.method))
    with editing(context.catalog, context.environ) as document:
        put_site(document, wanted.name, {**wanted.profile(store, secret=secret), **extra})
        put(document, ("site",), wanted.name)
