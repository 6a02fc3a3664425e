"""Signing in with OAuth 2.0: consent in the browser, then the site that the token is for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from ...errors import NotAllowed, UsageError
from ...sites.credentials.consent import returned_url
from ...sites.credentials.device import Pending
from ...sites.credentials.oauth import Authority
from ...urls import url_origin

if TYPE_CHECKING:
    from ...sites.credentials.record import CredentialRecord

_SLOWER = 5.0  # seconds added by `slow_down` (RFC 8628, section 3.5)


def consent(
    authority: Authority,
    scopes: list[str],
    *,
    port: int | None,
    browser: bool,
    say: Callable[[str], None],
    typed: TextIO,
) -> CredentialRecord:
    """The tokens a person agreed to; raises `NotAllowed`, `CallsheetError`."""
    redirect = authority.redirect(port)
    attempt = authority.start(redirect, scopes)
    return attempt.finish(returned_url(attempt.url, redirect, attempt.state, browser=browser, say=say, typed=typed))


def device_consent(
    authority: Authority, scopes: list[str], *, say: Callable[[str], None], sleep: Callable[[float], None]
) -> CredentialRecord:
    """The tokens a person agreed to on another device; raises `NotAllowed` when the code has ended before that."""
    code = authority.start_on_device(scopes)
    say(f"open {code.address} on any device and enter the code {code.user_code}")
    pause, left = code.pause, code.life
    while left > 0:
        sleep(pause)
        left -= pause
        try:
            return authority.poll(code)
        except Pending as pending:
            pause += _SLOWER if pending.slower else 0.0
    raise NotAllowed("nobody entered the code in time", hint="start the sign-in again")


def granted(authority: Authority, record: CredentialRecord, wanted: str) -> str | None:
    """The id of the site at the address `wanted` among those that the token reaches.

    None where the server lists no sites; `NotAllowed` when it is not among them.
    """
    sites = authority.sites(record["access_token"])
    for site in sites:
        with suppress(UsageError):  # an address that is none
            if url_origin(str(site.get("url"))) == url_origin(wanted):
                return str(site["id"])
    if not sites and not authority.lists_sites:
        return None
    reached = ", ".join(str(site.get("url")) for site in sites) or "no site"
    raise NotAllowed(
        f"the token does not reach {wanted}, only {reached}", hint="sign in again and choose that site in the browser"
    )
