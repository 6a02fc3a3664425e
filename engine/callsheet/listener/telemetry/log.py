"""What an operator reads: one structured line per delivery, or whole events where that was asked for."""

from __future__ import annotations

import contextlib
import json
import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...jsontext import dump_json
from ...language.template import to_text
from ...terminal import escape_line, is_plain_line
from .line_writer import LineWriter

if TYPE_CHECKING:
    from ..verify.event import Event

_PLAIN = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}\Z")
_MAX_FIELD = 400
_LINE_FEED, _RETURN, _TAB, _DELETE = b"\n\r\t\x7f"


class Log:
    """`out` takes whole events, `err` all else. Where `out` is absent no body is written anywhere."""

    def __init__(self, err: LineWriter, out: LineWriter | None) -> None:
        self.err = err
        self.out = out
        self._second = -1
        self._stamp = ""

    def now(self) -> str:
        moment = time.time()
        second = int(moment)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{int((moment - second) * 1000):03d}Z"

    def note(self, text: str) -> None:
        self.err.write(f"{self.now()} {escape_line(text)}")

    def delivery(self, status: int, outcome: str, client: str, event: Event, duration: float, detail: str = "") -> None:
        """One line about an event: status, what became of it, whose it is, milliseconds.

        None about one that is accepted, where that is printed whole.
        """
        if self.out is not None and outcome == "accepted":
            return
        line = (
            f"{self.now()} {status} {outcome} source={event.source.name} type={_type_field(event.type)} "
            f"id={field(event.id)} client={client} duration_ms={duration * 1000:.1f}"
        )
        self.err.write(f"{line} reason={field(detail)}" if detail else line)

    def rejection(self, status: int, outcome: str, client: str, detail: str) -> None:
        self.err.write(f"{self.now()} {status} {outcome} client={client} reason={field(detail)}")

    def event(self, event: Event, outcome: str) -> None:
        """Time, type, id and payload, a line each."""
        if self.out is None:
            return
        moment = event.time
        shown = to_text(moment) if moment is not None else datetime.now(UTC).isoformat(timespec="milliseconds")
        mark = "" if outcome == "accepted" else f"\nNote: {outcome}"
        self.out.write(
            f"Time: {escape_line(shown)}\nType: {escape_line(event.type)}\nID: {escape_line(to_text(event.id))}{mark}\n"
            f"Body: {_json_line(event)}"
        )


def _json_line(event: Event) -> str:
    """The payload as it was sent where that is one line in which nothing acts: that costs little. Else written anew."""
    data = event.text.strip()
    if data.isascii():
        # Of all that acts JSON has only these as they are. To look for them takes a fifth of looking for everything.
        if not (_LINE_FEED in data or _RETURN in data or _TAB in data or _DELETE in data):
            return data.decode()
    else:
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode()
            if is_plain_line(text):
                return text
    return escape_line(dump_json(event.payload))


def field(value: Any) -> str:
    """A value that is one word, or else a JSON text, so that no value can be taken for two fields."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else str(value)
    if _PLAIN.match(text):
        return text
    return escape_line(json.dumps(text[:_MAX_FIELD], ensure_ascii=False))


# The types of events are few.
_type_field = lru_cache(maxsize=1024)(field)
