"""What is made of an event: arguments of a program, an address, a text or value to send, the answer to the sender."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from ...errors import DefinitionError
from ...jsontext import dump_json
from ...language.compiled_jmespath import compile_condition
from ...language.template import TemplateError, compile_template, fill_template, fill_text, to_text
from ...urls import is_host, refuse_login
from . import MAX_RESULT, CannotSend, HandlerFailed
from .target_login import LOGIN_HINT

if TYPE_CHECKING:
    from ...language.shape.listener import EnvelopeDefinition, ReplyDefinition
    from ..verify.event import Event

# The words a program is started with: text out of an event is never the program, and never one of its options.

END_OF_OPTIONS = "--"


class HandlerArguments:
    """Raises `DefinitionError` for a list that leaves the choice of the program to the sender."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        if _is_template(words[0]):
            raise DefinitionError("handler 'exec': run: the program cannot be taken out of an event")
        if sys.platform == "win32" and words[0].lower().endswith((".bat", ".cmd")) and any(map(_is_template, words)):
            raise DefinitionError("handler 'exec': run: the shell of a batch file would interpret text out of an event")
        self.are_templates = any(map(_is_template, words))
        end = words.index(END_OF_OPTIONS) if END_OF_OPTIONS in words else len(words)
        self.exposed = [word for word in words[:end] if _starts_with_template(word)]

    def fill_arguments(self, scope: Mapping[str, Any]) -> list[str]:
        """Raises `CannotSend` where a value would be read as an option."""
        exposed = set(self.exposed)
        arguments = []
        for word in self.words:
            text = as_argument(to_text(fill_text(word, scope)))
            if text.startswith("-") and word in exposed:
                raise CannotSend(f"run: the value of {word} starts with '-': put {END_OF_OPTIONS!r} before it")
            arguments.append(text)
        return arguments


def check_written_out(handler: str, key: str, place: str) -> None:
    """Raises `DefinitionError` for a path or a place at a broker that is to be taken out of an event: it never is."""
    with contextlib.suppress(TemplateError):  # a brace alone is a character
        if _is_template(place):
            raise DefinitionError(f"handler {handler!r}: {key}: {place!r}: it cannot be taken out of an event")


def as_argument(text: str) -> str:
    """As arguments and variables can carry it: no zero byte, no half of a surrogate pair."""
    plain = text.replace("\0", "\ufffd")
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode()


def _is_template(word: str) -> bool:
    return any(not isinstance(part, str) for part in compile_template(word))


def _starts_with_template(word: str) -> bool:
    parts = compile_template(word)
    return bool(parts) and not isinstance(parts[0], str)


# The address an event is sent on to: values out of it stay where they stand, and never choose the host.

_FIXED = re.compile(r"(https?://[^/?#\s\\]+)(?P<rest>[/?#]|\Z)", re.IGNORECASE)
_CLIMBS = re.compile(r"(?:\.|%2e){1,2}\Z", re.IGNORECASE)


class AddressTemplate:
    """`host` is the one that every address has. Raises `DefinitionError` where an event could choose it."""

    def __init__(self, template: str) -> None:
        refuse_login(template, "url", LOGIN_HINT)
        self.parts = compile_template(template)
        first = self.parts[0] if self.parts and isinstance(self.parts[0], str) else ""
        found = _FIXED.match(first)
        if found is None or (len(self.parts) > 1 and not found["rest"]):
            raise DefinitionError(
                f"handler 'forward': url: {template!r}: the scheme, host and port must be written out, up to a slash"
            )
        try:
            split = urlsplit(found[1])
            self.host, _ = split.hostname or "", split.port
        except ValueError as error:
            raise DefinitionError(f"handler 'forward': url: {error}") from None
        if not is_host(self.host):
            raise DefinitionError(f"handler 'forward': url: {self.host!r} cannot be the name of a host")
        self.shown = f"{split.scheme}://{found[1].rpartition('/')[2]}"

    def fill_address(self, scope: Mapping[str, Any]) -> str:
        """Values are percent-encoded whole. Raises `CannotSend` where one would climb up the path."""
        text = "".join(
            part if isinstance(part, str) else quote(to_text(part(scope)).encode("utf-8", "replace"), safe="")
            for part in self.parts
        )
        path = text.partition("#")[0].partition("?")[0]
        if len(self.parts) > 1 and any(_CLIMBS.match(segment) for segment in path.split("/")[3:]):
            raise CannotSend("url: a value out of the event would lead to another directory")
        return text


def header_value(text: str) -> str:
    """A value that can stand in a header: what is not printable ASCII is percent-encoded, as UTF-8."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    start, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    return "".join(
        character if " " <= character <= "~" and start <= place < end else quote(character.encode("utf-8", "replace"))
        for place, character in enumerate(text)
    )


# What is made of an event to be sent: a text, or a value as JSON.

TEXT, JSON = b"text/plain; charset=utf-8", b"application/json"


def encode_content(value: Any) -> tuple[bytes, bytes]:
    """Bytes and their content type. Nothing is an empty text."""
    if value is None or isinstance(value, str):
        return (value or "").encode("utf-8", "replace"), TEXT
    return dump_json(value).encode("utf-8", "replace"), JSON


def fill_headers(headers: Mapping[str, str], scope: Mapping[str, Any]) -> dict[bytes, bytes]:
    """By lower-case name; whatever the values hold, they are one header each."""
    filled = {name: to_text(fill_text(text, scope)) for name, text in headers.items()}
    return {name.lower().encode(): header_value(text).encode() for name, text in filled.items()}


class EventEnvelope:
    """The form that events are sent on in. `name` is that of its definition, or empty."""

    def __init__(self, name: str, definition: EnvelopeDefinition) -> None:
        self._name = name
        self._send = definition["send"]
        self._headers = definition.get("headers", {})
        self._requires = definition.get("requires", "")
        self._is_met = compile_condition(self._requires) if self._requires else None

    @property
    def header_names(self) -> Iterable[str]:
        return self._headers

    def make_content(self, event: Event) -> tuple[bytes, dict[bytes, bytes]]:
        """Bytes and their headers. Raises `CannotSend` for an event that lacks what the form requires."""
        if self._is_met is not None and not self._is_met(event.fast_scope):
            raise CannotSend(f"envelope {self._name}: not for an event without {self._requires}")
        data, content_type = encode_content(fill_template(self._send, event.scope))
        return data, {b"content-type": content_type, **fill_headers(self._headers, event.scope)}


# The answer that a route makes: of the event, and of what its handler gave.

_SET_BY_THE_SERVER = {"connection", "content-length", "date", "keep-alive", "trailer", "transfer-encoding", "upgrade"}
_STATUSES = {int(status) for status in HTTPStatus if 200 <= status < 300 or status >= 400}
_WITHOUT_BODY = {HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT}


class MadeReply(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    @property
    def accepts_event(self) -> bool:
        """Whether the sender is told that its event is dealt with."""
        return self.status < 300


class RouteReply:
    """Raises `DefinitionError` for what no answer can have."""

    def __init__(self, table: ReplyDefinition) -> None:
        self._status = table.get("status", int(HTTPStatus.OK))
        self._headers = {name.lower(): text for name, text in table.get("headers", {}).items()}
        self._body = table.get("body")
        if taken := sorted(_SET_BY_THE_SERVER & self._headers.keys()):
            raise DefinitionError(f"headers: {taken[0]!r} is set by the program")
        if "{" not in str(self._status):
            try:
                self._check_reply(self._status, b"" if self._body is None else b"some")
            except HandlerFailed as failed:
                raise DefinitionError(str(failed).removeprefix("reply: ")) from None

    def make_reply(self, event: Event, result: Any) -> MadeReply:
        """`result` is what the handler gave. Raises `HandlerFailed` for what cannot be sent."""
        scope = {**event.scope, "result": result}
        body, content_type = encode_content(fill_template(self._body, scope))
        headers = {b"content-type": content_type} if body else {}
        headers |= {b"x-content-type-options": b"nosniff", **fill_headers(self._headers, scope)}
        size = len(body) + sum(len(name) + len(value) for name, value in headers.items())
        if size > MAX_RESULT:
            raise HandlerFailed(f"reply: {size} bytes, more than {MAX_RESULT}")
        return MadeReply(self._check_reply(fill_template(self._status, scope), body), body, tuple(headers.items()))

    @staticmethod
    def _check_reply(status: Any, body: bytes) -> int:
        number = int(status) if isinstance(status, str) and status.isascii() and status.isdigit() else status
        if type(number) is not int or number not in _STATUSES:
            raise HandlerFailed(
                f"reply: status: expected a status of HTTP, 200 to 299 or 400 to 599, not {to_text(status)[:40]!r}"
            )
        if body and number in _WITHOUT_BODY:
            raise HandlerFailed(f"reply: an answer {number} has no body")
        return number
