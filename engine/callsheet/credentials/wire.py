"""Requests that sign-in makes by itself: a site's way out, but never its credential unless it is given here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from ..address import base_url_problem
from ..errors import UsageError

if TYPE_CHECKING:
    from ..http.reply import Reply


class Way(Protocol):
    """How hosts are reached from here."""

    @property
    def ca_bundle(self) -> str | None: ...
    @property
    def client_cert(self) -> str | tuple[str, str] | None: ...
    @property
    def proxy(self) -> str | None: ...
    @property
    def timeout(self) -> float | None: ...


class Bare:
    """A site without a credential; `hidden` are texts that must not be shown all the same."""

    deployment = ""
    rps = None

    def __init__(self, way: Way, hidden: Sequence[str]) -> None:
        self.ca_bundle = way.ca_bundle
        self.client_cert = way.client_cert
        self.proxy = way.proxy
        self.timeout = way.timeout
        self._hidden = [text for text in hidden if text]

    def headers(self, service: str) -> dict[str, str]:
        del service
        return {}

    def secrets(self) -> list[str]:
        return self._hidden


class Wire:
    """Sends single requests. Network failures raise `NetworkError`; any status comes back as it is."""

    def __init__(self, way: Way, environ: Mapping[str, str] = os.environ) -> None:
        self._way = way
        self._environ = environ

    def get(self, url: str, *, bearer: str = "") -> Reply:
        headers = (("Authorization", f"Bearer {bearer}"),) if bearer else ()
        return self._send("GET", url, None, headers, [bearer])

    def post(self, url: str, form: str, hidden: Sequence[str]) -> Reply:
        """`form` is an encoded form; `hidden` are the secrets in it."""
        from ..request.model import Form

        return self._send("POST", url, Form(tuple(parse_qsl(form, keep_blank_values=True))), (), hidden)

    def _send(
        self, method: str, url: str, body: Any, headers: tuple[tuple[str, str], ...], hidden: Sequence[str]
    ) -> Reply:
        from ..http.client import Client
        from ..request.model import Request

        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}"
        problem = base_url_problem(root)
        if problem:
            raise UsageError(problem)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        with Client(Bare(self._way, hidden), _NOTHING, environ=self._environ) as client:
            return client.exchange(Request(method, root, parts.path, query, headers, body))


class _Nothing:
    """No definitions: what is asked here belongs to no product."""

    def find(self, kind: str, id: str) -> dict[str, Any] | None:
        del kind, id
        return None


_NOTHING = _Nothing()
