"""The lines of a verbose run, and the notes on waits; nothing secret is in them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import httpx

from ...durations import in_words
from .redact import Redactor
from .redirect import Hop


class VerboseLog:
    def __init__(
        self,
        redactor: Redactor,
        log: Callable[[str], None] | None,
        note: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._redactor = redactor
        self._log = log
        self._note = note
        self._clock = clock
        self._started = threading.local()

    def on_send(self, hop: Hop) -> None:
        self._started.at = self._clock()
        if self._log:
            self._log(f"> {hop.method} {self._redactor.url(hop.url)}")
            for name, text in hop.headers.items():
                self._log(f">   {name}: {self._redactor.header(name, text)}")

    def on_response(self, response: httpx.Response) -> None:
        if not self._log:
            return
        seconds = self._clock() - self._started.at
        self._log(f"< {response.status_code} {response.reason_phrase} after {seconds:.3f} s")
        for name, text in response.headers.items():
            self._log(f"<   {name}: {self._redactor.header(name, text)}")

    def on_wait(self, seconds: float, why: str) -> None:
        self._note(self._redactor.text(f"waiting {in_words(seconds)}: {why}"))
