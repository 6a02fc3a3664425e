"""Telling another program of each change, as the simulated service would: signed, and again where it did not work."""

from __future__ import annotations

import heapq
import hmac
import itertools
import queue
import threading
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..durations import duration_seconds
from .rendering import compile_render, condition_holds, without_null

if TYPE_CHECKING:
    import httpx

    from ..language.shape.sandbox import WebhookDefinition

_MOST = 1000
_TIMEOUT = 20.0
_USUAL_WAIT = "1s"


class _Delivery(NamedTuple):
    """When it is due, what is sent, and how often it was tried before; `number` keeps the order of equals."""

    due: float
    number: int
    id: str
    body: bytes
    rules: WebhookDefinition
    tries: int


class Webhooks:
    """Events are sent by a thread of their own, so that no answer waits for them; too many at once are let go.

    `secret` signs them where the product signs. Each further try comes after twice the wait of the one before.
    """

    def __init__(self, url: str, secret: str | None = None) -> None:
        self.url = url
        self.secret = secret
        self.failed = 0  # events that were given up
        self._numbers = itertools.count()
        self._new: queue.Queue[_Delivery] = queue.Queue(_MOST)
        self._later: list[_Delivery] = []
        threading.Thread(target=self._send_all, daemon=True).start()

    def send(self, event: Any, rules: WebhookDefinition) -> None:
        body = msgspec.json.encode(event)
        try:
            self._new.put_nowait(_Delivery(0.0, next(self._numbers), str(uuid.uuid4()), body, rules, 0))
        except queue.Full:
            self.failed += 1

    def _send_all(self) -> None:
        import httpx

        with httpx.Client(timeout=_TIMEOUT, trust_env=False) as client:
            while True:
                delivery = self._next()
                if self._is_done(client, delivery):
                    continue
                tries = delivery.tries + 1
                if tries > delivery.rules.get("retries", 0):
                    self.failed += 1
                    continue
                wait = duration_seconds(delivery.rules.get("wait", _USUAL_WAIT)) * 2 ** (tries - 1)
                heapq.heappush(self._later, delivery._replace(due=time.monotonic() + wait, tries=tries))

    def _next(self) -> _Delivery:
        """A new one, or one that is due again."""
        while True:
            rest = self._later[0].due - time.monotonic() if self._later else None
            if rest is not None and rest <= 0:
                return heapq.heappop(self._later)
            try:
                return self._new.get(timeout=rest)
            except queue.Empty:
                continue

    def _is_done(self, client: httpx.Client, delivery: _Delivery) -> bool:
        """Whether it arrived, or is not to be tried again."""
        import httpx

        try:
            status: int | None = client.post(
                self.url, content=delivery.body, headers=self._headers(delivery)
            ).status_code
        except (httpx.HTTPError, httpx.InvalidURL):
            status = None
        if status is not None and status < 400:
            return True
        again = condition_holds(delivery.rules.get("again", "`false`"), {"status": status})
        self.failed += not again
        return not again

    def _headers(self, delivery: _Delivery) -> dict[str, str]:
        told: Mapping[str, Any] = {"id": delivery.id, "retry": delivery.tries or None}
        own = without_null(compile_render(delivery.rules.get("headers", {}))(told))
        headers = {"Content-Type": "application/json", **{name: str(value) for name, value in own.items()}}
        signature = delivery.rules.get("signature")
        if signature and self.secret:
            made = hmac.new(self.secret.encode(), delivery.body, signature["algorithm"]).hexdigest()
            headers[signature["header"]] = signature.get("prefix", "") + made
        return headers
