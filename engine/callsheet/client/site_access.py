"""What building and sending requests asks of a site."""

from __future__ import annotations

from typing import Protocol

from ..policy.policy import Policy


class NetworkSettings(Protocol):
    """How hosts are reached from here, and what may be sent."""

    @property
    def policy(self) -> Policy: ...
    @property
    def ca_bundle(self) -> str | None: ...
    @property
    def client_cert(self) -> str | tuple[str, str] | None: ...
    @property
    def proxy(self) -> str | None: ...
    @property
    def timeout(self) -> float | None: ...


class SenderSite(NetworkSettings, Protocol):
    """What sending asks; `secrets` is what must never be shown.

    `known_as` are its own addresses, also where requests go through a gateway, and names of other sites that are there.
    `headers` and `query` hold the credential of a service, and `base_url` is where that may go: no other origin.
    """

    @property
    def name(self) -> str: ...
    @property
    def known_as(self) -> frozenset[str]: ...
    @property
    def rps(self) -> float | None: ...
    @property
    def deployment(self) -> str: ...
    def base_url(self, service: str) -> str: ...
    def headers(self, service: str) -> dict[str, str]: ...
    def query(self, service: str) -> tuple[tuple[str, str], ...]: ...
    def secrets(self) -> list[str]: ...


class RequestSite(Protocol):
    """What building a request asks."""

    @property
    def deployment(self) -> str: ...
    def base_url(self, service: str) -> str: ...
