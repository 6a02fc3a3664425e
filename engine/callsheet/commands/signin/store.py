"""Saving a sign-in that worked: the credential first, then the profile that points to it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError
from ...sites.credentials.stores import Store, chosen_name, open_store
from ...sites.profiles.choose import Variables
from ...sites.profiles.edit import editing, put, put_site
from .request import SignInRequest

if TYPE_CHECKING:
    from ..context import Context


def keep(
    context: Context, wanted: SignInRequest, record: Mapping[str, Any] | None, extra: Mapping[str, Any]
) -> str | None:
    """Returns the store's name; without a `record` there is only a profile. `extra` are further keys of the site.

    When the profile cannot be written the credential is taken back, so that nothing is left behind.
    """
    if record is None:
        _write(context, wanted, None, extra)
        return None
    variables = Variables(context.definition["prefix"], context.environ)
    store = open_store(chosen_name(variables), variables, context.environ)
    before = store.get(wanted.account)
    store.put(wanted.account, {**record, "origin": wanted.origin})
    try:
        _write(context, wanted, store.name, extra)
    except BaseException:
        with contextlib.suppress(CallsheetError):
            _restore(store, wanted.account, before)
        raise
    return store.name


def _restore(store: Store, account: str, before: dict[str, Any] | None) -> None:
    if before is None:
        store.delete(account)
    else:
        store.put(account, before)


def _write(context: Context, wanted: SignInRequest, store: str | None, extra: Mapping[str, Any]) -> None:
    with editing(context.catalog, context.environ) as document:
        put_site(document, wanted.name, {**wanted.profile(store), **extra})
        put(document, ("site",), wanted.name)
