"""Requests that sign-in makes by itself: a site's way out, but never its credential unless it is given here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from ...errors import UsageError
from ...urls import base_url_problem, url_origin

if TYPE_CHECKING:
    from ...client.http.reply import Reply
    from ...client.site_access import NetworkSettings


class WithoutCredential:
    """A host without a credential; `hidden` are texts that must not be shown all the same."""

    name = ""
    known_as: frozenset[str] = frozenset()
    deployment = ""
    rps = None

    def __init__(self, network: NetworkSettings, root: str, hidden: Sequence[str], *, known: bool) -> None:
        """`known`: the host is the site's own, so that it is shown the client certificate."""
        self._root = root
        self.policy = network.policy
        self.ca_bundle = network.ca_bundle
        self.client_cert = network.client_cert if known else None
        self.proxy = network.proxy
        self.timeout = network.timeout
        self._hidden = [text for text in hidden if text]

    def base_url(self, service: str) -> str:
        del service
        return self._root

    def headers(self, service: str) -> dict[str, str]:
        del service
        return {}

    def query(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return ()

    def body(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return ()

    def secrets(self) -> list[str]:
        return self._hidden


class UnauthenticatedClient:
    """Sends single requests. Network failures raise `NetworkError`; any status comes back as it is."""

    def __init__(self, network: NetworkSettings, environ: Mapping[str, str] = os.environ, *, home: str = "") -> None:
        """`home` is the address of the site that the client certificate is for; no other host is shown it."""
        self._network = network
        self._environ = environ
        self._home = home

    def get(self, url: str, *, bearer: str = "") -> Reply:
        headers = (("Authorization", f"Bearer {bearer}"),) if bearer else ()
        return self._send("GET", url, None, headers, [bearer])

    def post(self, url: str, form: str, hidden: Sequence[str], *, authorization: str = "") -> Reply:
        """`form` is an encoded form; `hidden` are the secrets in it; `authorization` is a header's value."""
        from ...client.request.model import Form

        headers = (("Authorization", authorization),) if authorization else ()
        hidden = [*hidden, authorization.partition(" ")[2]]
        return self._send("POST", url, Form(tuple(parse_qsl(form, keep_blank_values=True))), headers, hidden)

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
        known = bool(self._home) and url_origin(self._home) == url_origin(root)
        host = WithoutCredential(self._network, root, hidden, known=known)
        with Client(host, None, environ=self._environ) as client:
            return client.exchange(Request(method, root, parts.path, query, headers, body))
