"""A person's consent to one call: sealed to its exact arguments, once, and for a short time.

The newer era of the protocol has no way back to the client during a call. The server answers with a question and a
state, and the client calls again with both. What the client sends back is its word alone, so the state is sealed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .untrusted import clean

CONFIRM = "confirm"
_SECONDS = 600.0
_SHOWN = 600  # characters of the arguments that a person is shown


class Seals:
    """The questions that were asked and not yet answered. Nothing is kept of them but which were used."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def seal(self, tool: str, arguments: Mapping[str, Any], questions: frozenset[str]) -> str:
        body = json.dumps([secrets.token_hex(12), self._clock() + _SECONDS, sorted(questions)]).encode()
        return f"{_encoded(body)}.{_encoded(self._mark(body, tool, arguments))}"

    def opened(self, state: str, tool: str, arguments: Mapping[str, Any]) -> frozenset[str] | None:
        """The questions of a state that was sealed for this call and not used yet; None for every other one."""
        try:
            body, mark = (base64.urlsafe_b64decode(part) for part in state.split("."))
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(mark, self._mark(body, tool, arguments)):
            return None
        number, ends, questions = json.loads(body)
        with self._lock:
            now = self._clock()
            self._used = {each: end for each, end in self._used.items() if end > now}
            if ends < now or number in self._used:
                return None
            self._used[number] = ends
        return frozenset(questions)

    def _mark(self, body: bytes, tool: str, arguments: Mapping[str, Any]) -> bytes:
        call = json.dumps([tool, arguments], sort_keys=True, default=str).encode()
        return hmac.new(self._key, hashlib.sha256(body).digest() + hashlib.sha256(call).digest(), "sha256").digest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def message(program: str, question: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """What a person is asked, with what exactly would be called."""
    shown = clean(json.dumps(arguments, ensure_ascii=False))
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} ..."
    return f"{program}: {clean(question)}\n\n{tool} {shown}"


FORM: dict[str, Any] = {
    "type": "object",
    "properties": {CONFIRM: {"type": "boolean", "title": "Yes, do it", "default": False}},
    "required": [CONFIRM],
}


def agrees(action: str, content: Mapping[str, Any] | None) -> bool:
    return action == "accept" and content is not None and content.get(CONFIRM) is True
