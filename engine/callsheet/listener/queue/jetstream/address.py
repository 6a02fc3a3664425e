"""Where a queue is: `nats://HOST[:PORT][,HOST[:PORT]...]/STREAM`, or `tls://` likewise."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ....errors import UsageError

_FORM = "SCHEME://HOST[:PORT]/STREAM"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?\Z")


class QueueAddress(NamedTuple):
    servers: tuple[str, ...]
    stream: str

    @property
    def scheme(self) -> str:
        return self.servers[0].partition("://")[0]

    def __str__(self) -> str:
        return f"{self.scheme}://{','.join(server.partition('://')[2] for server in self.servers)}/{self.stream}"


def parse_queue(url: str, schemes: Iterable[str], prefix: str) -> QueueAddress:
    """`prefix` is how our variables begin. Raises `UsageError` without repeating what might be a credential."""
    scheme, colon, rest = url.partition("://")
    hosts, slash, stream = rest.partition("/")
    if "@" in rest:
        raise UsageError(
            "--queue: credentials in the address would be seen by everyone on this machine",
            hint=f"put USER:PASSWORD or a token into {prefix}_QUEUE_CREDENTIALS",
        )
    if not colon or scheme not in schemes:
        raise UsageError(
            f"--queue: {url!r} is not an address of a queue", hint=f"like {_FORM.replace('SCHEME', min(schemes))}"
        )
    if not slash or not _NAME.match(stream):
        raise UsageError(
            f"--queue: {url!r} names no stream",
            hint=f"like {_FORM.replace('SCHEME', scheme)}; letters, digits, - and _",
        )
    for host in hosts.split(","):
        found = _HOST.match(host)
        if found is None or int(found[1] or 1) > 65535:
            raise UsageError(f"--queue: {host!r} is not a host")
    return QueueAddress(tuple(f"{scheme}://{host}" for host in hosts.split(",")), stream)
