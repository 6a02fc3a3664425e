"""Secrets: where they are kept and how they are presented."""

from __future__ import annotations

from typing import TypedDict


class CredentialRecord(TypedDict, total=False):
    """Either a `token` that a person gave, or what an authorization server granted."""

    token: str
    access_token: str
    refresh_token: str
    expires_at: float  # seconds since 1970
    grant: str  # of an app that was granted access itself: it is asked again, there is no refresh token
    client_secret: str
    origin: str  # the host that it was given for
    hosts: list[str]  # further hosts that see it: the gateway's, the authorization server's
    secret: str  # of no site: one of `secret set`
