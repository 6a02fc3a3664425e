"""Telling another program of each change, as the simulated service would: one event after the other, never waiting."""

from __future__ import annotations

import queue
import threading
from typing import Any

_MOST = 1000
_TIMEOUT = 5.0


class Webhooks:
    """Events are sent in the order of the changes by a thread of their own; one that cannot be sent is let go."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.failed = 0
        self._waiting: queue.Queue[Any] = queue.Queue(_MOST)
        threading.Thread(target=self._send_all, daemon=True).start()

    def send(self, event: Any) -> None:
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self.failed += 1

    def _send_all(self) -> None:
        import httpx

        with httpx.Client(timeout=_TIMEOUT, trust_env=False) as client:
            while True:
                event = self._waiting.get()
                try:
                    client.post(self.url, json=event)
                except (httpx.HTTPError, httpx.InvalidURL):
                    self.failed += 1
