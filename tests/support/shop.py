"""A small invented API, and one line to send to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from callsheet.client.http.http_client import Client
from callsheet.client.http.reply import Reply
from callsheet.client.http.retry import RetryPolicy
from callsheet.client.request.build import Builder
from callsheet.errors import CallsheetError

from .fakes import Definitions, FakeClock, FakeSite
from .server import Exchange, Server, serve

DEFINITIONS = """
[service.shop]
title = "Shop"
trace = "X-Trace"
denied = "X-Denied"

[service.shop.quota]
limit = "X-Limit"
remaining = "X-Left"
reset = "X-Reset"
near_limit = "X-Near"
refill = "X-Fill"
interval = "X-Interval"
reason = "X-Reason"
stop = ["hourly"]

[product.items]
title = "Items"
service = "shop"
base = "/api/3"
errors = "[errorMessages, errors, message]"
failed = "ok == `false`"
hints = { 403 = "ask the shopkeeper" }
headers = { X-Client = "suite" }
on.datacenter = { base = "/api/2" }

[operation.getItem]
product = "items"
http = "GET /api/3/item/{id}"
params = [{ name = "fields", type = "array" }, { name = "token" }]

[operation.makeItem]
product = "items"
http = "POST /api/3/item"
body = {}

[operation.findItems]
product = "items"
http = "POST /api/3/find"
safety = "read"
body = {}

[operation.putItem]
product = "items"
http = "PUT /api/3/item/{id}"
body = { optional = true }

[operation.dropItem]
product = "items"
http = "DELETE /api/3/item/{id}"
reply = "none"

[operation.getPicture]
product = "items"
http = "GET /api/3/item/{id}/picture"
reply = "binary"

[operation.putPicture]
product = "items"
http = "PUT /api/3/item/{id}/picture"
body = { media = "image/*" }

[operation.attach]
product = "items"
http = "POST /api/3/item/{id}/files"
headers = { X-Check = "no" }
body = { media = "multipart/form-data", parts = { file = { file = true, many = true, required = true }, comment = {} } }
"""


@dataclass
class Shop:
    """A client of a scripted server, with a clock that only waiting moves."""

    server: Server
    site: FakeSite
    definitions: Definitions
    client: Client
    clock: FakeClock
    log: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def build(self, operation: str, arguments: dict[str, Any] | None = None, body: Any = None, **rest: Any) -> Any:
        return Builder(self.definitions, self.site, "suite").build_request(operation, arguments or {}, body, **rest)

    def send(self, operation: str, arguments: dict[str, Any] | None = None, body: Any = None, **rest: Any) -> Reply:
        return self.client.send(self.build(operation, arguments, body, **rest))

    def fail(self, operation: str, arguments: dict[str, Any] | None = None, body: Any = None, **rest: Any) -> Any:
        """The error of a call that has to fail."""
        try:
            reply = self.send(operation, arguments, body, **rest)
            reply.json()
        except CallsheetError as error:
            return error
        raise AssertionError(f"{operation} did not fail")


@contextmanager
def shop(
    exchanges: Iterable[Exchange] = (),
    *,
    text: str = DEFINITIONS,
    verify: bool = True,
    context: Any = None,
    kind: type[FakeSite] = FakeSite,
    **site: Any,
) -> Iterator[Shop]:
    definitions = Definitions(text)
    clock = FakeClock()
    log: list[str] = []
    notes: list[str] = []
    with serve(exchanges, verify=verify, context=context, trusted=True) as server:
        here = kind(**{"root": server.url, **site})
        policy = RetryPolicy(chance=lambda _low, _high: 1.0)
        client = Client(
            here,
            definitions,
            environ={},
            policy=policy,
            log=log.append,
            note=notes.append,
            sleep=clock.sleep,
            clock=clock,
        )
        with client:
            yield Shop(server, here, definitions, client, clock, log, notes)
