"""Saving a sign-in that worked: the credential first, then the profile that points to it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from ...errors import CallsheetError, NotAllowed
from ...sites.credentials.schemes import takes_secret
from ...sites.credentials.stores import FILE, KEYRING, Store, chosen_name, open_store
from ...sites.profiles.choose import Variables
from ...sites.profiles.edit import edit_profiles, put_setting, put_site
from .request import SignInRequest, candidate_site

if TYPE_CHECKING:
    from ...sites.credentials.record import CredentialRecord
    from ...sites.profiles.validate import SiteProfile
    from ..context import Context
    from .answers import Answers


def ready_store(context: Context, answers: Answers, wanted: SignInRequest) -> str | None:
    """Before a secret is asked for: whether it can be kept. Raises `CallsheetError` where it cannot.

    Where a person can be asked and there is no key store, they choose the password of an encrypted file; that is
    returned.
    """
    if not takes_secret(context.catalog.get("auth", wanted.method)):
        return None
    name = chosen_name(answers.variables)
    try:
        open_store(name, answers.variables, context.environ, context.program).check()
    except CallsheetError as error:
        if name != KEYRING or isinstance(error, NotAllowed) or not answers.interactive:
            raise
        context.say(f"{error.message}: the credential can go into an encrypted file instead")
        return _new_password(context) or _refused(error)
    return None


def _refused(error: CallsheetError) -> NoReturn:
    raise error


def _new_password(context: Context) -> str:
    """A password that was typed twice, and that an encrypted file which is there already takes; empty for none."""
    while password := context.ask("Password for the encrypted file (empty: do not keep it)", default="", hidden=True):
        if password != context.ask("The same password again", hidden=True):
            context.say("the two are not the same; try again, or press Ctrl-C")
            continue
        try:
            variables, environ = _with_password(context, password)
            open_store(FILE, variables, environ, context.program).check()
        except NotAllowed as error:
            context.say(f"{error.message}; try again, or press Ctrl-C")
            continue
        return password
    return ""


def _with_password(context: Context, password: str | None) -> tuple[Variables, Mapping[str, str]]:
    prefix = context.definition["prefix"]
    if password is None:
        return Variables(prefix, context.environ), context.environ
    environ = {**context.environ, f"{prefix}_KEYRING_PASSWORD": password}
    return Variables(prefix, environ), environ


def save_sign_in(
    context: Context,
    wanted: SignInRequest,
    record: CredentialRecord | None,
    extra: SiteProfile,
    password: str | None = None,
) -> str | None:
    """Returns the store's name; without a `record` there is only a profile. `extra` are further keys of the site.

    `password` is that of the encrypted file, where a person chose one.
    When the profile cannot be written the credential is taken back, so that nothing is left behind.
    """
    if record is None:
        _write(context, wanted, None, extra)
        return None
    variables, environ = _with_password(context, password)
    store = open_store(chosen_name(variables), variables, environ, context.program)
    previous = store.get(wanted.account)
    others = other_hosts(context, wanted)
    bound: CredentialRecord = {**record, "origin": wanted.origin}
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
    site = candidate_site(wanted, "", {}, context.catalog, context.environ)
    hosts = {host for service in context.catalog.ids("service") for host in site.hosts(service)}
    return sorted(hosts - {wanted.origin})


def _restore(store: Store, account: str, previous: CredentialRecord | None) -> None:
    if previous is None:
        store.delete(account)
    else:
        store.put(account, previous)


def _write(context: Context, wanted: SignInRequest, store: str | None, extra: SiteProfile) -> None:
    secret = takes_secret(context.catalog.get("auth", wanted.method))
    with edit_profiles(context.catalog, context.environ) as document:
        put_site(document, wanted.name, {**wanted.profile(store, secret=secret), **extra})
        put_setting(document, ("site",), wanted.name)
