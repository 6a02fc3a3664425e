"""What is made of an event to be sent: a text, or a value as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...jsontext import dump_json
from ...language.compiled_jmespath import compile_condition
from ...language.template import fill_template, fill_text, to_text
from . import CannotSend
from .address import header_value

if TYPE_CHECKING:
    from ...language.shape.listener import EnvelopeDefinition
    from ..verify.event import Event

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

    def make(self, event: Event) -> tuple[bytes, dict[bytes, bytes]]:
        """Bytes and their headers. Raises `CannotSend` for an event that lacks what the form requires."""
        if self._is_met is not None and not self._is_met(event.fast_scope):
            raise CannotSend(f"envelope {self._name}: not for an event without {self._requires}")
        data, content_type = encode_content(fill_template(self._send, event.scope))
        return data, {b"content-type": content_type, **fill_headers(self._headers, event.scope)}
