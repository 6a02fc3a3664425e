"""How much of an answer is said at once, and the handles by which the rest of it can be read."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from ..errors import UsageError
from ..jsontext import dump_json
from .render import rendered

SIZE = 16 << 10  # bytes of an answer, unless it is said otherwise
_LEAST = 200  # bytes that are left of a text that is cut
_KEPT = 64  # answers whose rest is kept
_KEPT_SIZE = 64 << 20  # bytes of them together


class Cut(NamedTuple):
    """What is said now, and the text of the rest."""

    now: Any
    rest: str


def size(value: Any) -> int:
    return len(value.encode()) if isinstance(value, str) else len(dump_json(value).encode())


def cut(value: Any, budget: int) -> Cut:
    """As much of a value as fits in `budget` bytes of JSON: whole items of a list, the beginnings of long texts."""
    if size(value) <= budget:
        return Cut(value, "")
    if isinstance(value, str):
        now, rest = cut_text(value, budget)
        return Cut(now, rest)
    if isinstance(value, list):
        return _cut_list(value, budget)
    return _cut_thing(value, budget) if isinstance(value, dict) else Cut(value, "")


def cut_text(text: str, budget: int) -> tuple[str, str]:
    """The text up to a line end, or a blank, that lies within `budget` bytes; never inside a character."""
    head = text.encode()[:budget].decode("utf-8", "ignore")
    if len(head) == len(text):
        return text, ""
    for mark in ("\n", " "):
        place = head.rfind(mark)
        if place >= len(head) // 2:
            return text[:place], text[place + 1 :]
    return head, text[len(head) :]


def _cut_list(items: list[Any], budget: int) -> Cut:
    count, left = 0, budget
    for item in items:
        left -= size(item) + 2  # a comma and a blank, or the brackets
        if left < 0:
            break
        count += 1
    if count:
        return Cut(items[:count], rendered(items[count:]))
    first = cut(items[0], budget)
    parts = [first.rest, rendered(items[1:]) if items[1:] else ""]
    return Cut([first.now], "\n\n".join(part for part in parts if part))


def _cut_thing(thing: dict[str, Any], budget: int) -> Cut:
    """The longest values give way, one after the other, each as far as is needed."""
    now, rests = dict(thing), {}
    for name in sorted(thing, key=lambda name: size(thing[name]), reverse=True):
        excess = size(now) - budget
        if excess <= 0:
            break
        part = cut(now[name], max(_LEAST, size(now[name]) - excess - _LEAST))
        now[name] = part.now
        if part.rest:
            rests[name] = part.rest
    return Cut(now, "\n\n".join(f"## {name}, continued\n\n{rests[name]}" for name in thing if name in rests))


class Rests:
    """The rest of answers, by handle. The oldest are forgotten first; nobody can guess a handle."""

    def __init__(self, budget: int = SIZE) -> None:
        self.budget = budget
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def put(self, text: str) -> str | None:
        """The handle of a text; None for an empty one."""
        if not text:
            return None
        handle = secrets.token_hex(6)
        with self._lock:
            self._texts[handle] = text
            self._size += len(text)
            while len(self._texts) > 1 and (len(self._texts) > _KEPT or self._size > _KEPT_SIZE):
                self._size -= len(self._texts.popitem(last=False)[1])
        return handle

    def take(self, handle: str) -> tuple[str, str | None]:
        """The next part of a rest, and the handle of what is left then. The part can be read again."""
        with self._lock:
            text = self._texts.get(handle)
        if text is None:
            raise UsageError(f"unknown or expired handle {handle!r}", hint="call the tool again that gave this handle")
        part, rest = cut_text(text, self.budget)
        return part, self.put(rest)
