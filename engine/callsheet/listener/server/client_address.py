"""Who sent a request, where proxies stand between."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import UsageError
from ..telemetry.log import field

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ClientAddresses:
    """`trusted` proxies are believed about whom they speak for. Raises `UsageError` for what is not a valid address."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self.all = "*" in trusted
        self.networks = [_parse_network(text) for text in trusted if text != "*"]

    def name(self, scope: Mapping[str, Any]) -> str:
        client = scope["client"]
        address: str = client[0] if client else "unix"
        if not self.all and not self.networks:
            return address
        return field(self._forwarded_for(address, scope["headers"]))

    def _forwarded_for(self, address: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """From the right: the first address that is not a trusted proxy's own."""
        forwarded = ",".join(value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for")
        chain = [part.strip() for part in forwarded.split(",") if part.strip()]
        while chain and self._is_trusted(address):
            address = chain.pop()
        return address

    def _is_trusted(self, address: str) -> bool:
        if self.all or address == "unix":
            return True
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self.networks)


def _parse_network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise UsageError(f"--trust-proxy: {text!r} is not an address or network", hint="example: 10.0.0.0/8") from None
