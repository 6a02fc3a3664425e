"""Requests that sign-in makes by itself: a site's way out, but never its credential unless it is given here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from ...errors import UsageError
from ...urls import base_url_problem

if TYPE_CHECKING:
    from ...client.http.reply import Reply
    from ...client.site_access import NetworkSettings


class WithoutCredential:
    """A site without a credential; `hidden` are texts that must not be shown all the same."""

    deployment = ""
    rps = None

    def __init__(self, network: NetworkSettings, hidden: Sequence[str]) -> None:
        self.ca_bundle = network.ca_bundle
        self.client_cert = network.client_cert
        self.proxy = network.proxy
        self.timeout = network.timeout
        self._hidden = [text for text in hidden if text]

    def headers(self, service: str) -> dict[str, str]:
        del service
        return {}

    def secrets(self) -> list[str]:
        return self._hidden


class UnauthenticatedClient:
    """Sends single requests. Network failures raise `NetworkError`; any status comes back as it is."""

    def __init__(self, network: NetworkSettings, environ: Mapping[str, str] = os.environ) -> None:
        self._network = network
        self._environ = environ

    def get(self, url: str, *, bearer: str = "") -> Reply:
        headers = (("Authorization", f"Bearer {bearer}"),) if bearer else ()
        return self._send("GET", url, None, headers, [bearer])

    def post(self, url: str, form: str, hidden: Sequence[str]) -> Reply:
        """`form` is an encoded form; `hidden` are the secrets in it."""
        from ...client.request.model import Form

        return self._send("POST", url, Form(tuple(parse_qsl(form, keep_blank_values=True))), (), hidden)

    def _send(
        self, method: str, url: str, body: Any, headers: tuple[tuple[str, str], ...], hidden: Sequence[str]
    ) -> Reply:
        from ...client.http.client import Client
        from ...client.request.model import Request

        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}"
        problem = base_url_problem(root)
        if problem:
            raise UsageError(problem)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        with Client(WithoutCredential(self._network, hidden), None, environ=self._environ) as client:
            return client.exchange(Request(method, root, parts.path, query, headers, body))
