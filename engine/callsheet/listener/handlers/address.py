"""The address an event is sent on to: values out of it stay where they stand, and never choose the host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from ...errors import DefinitionError
from ...language.template import compile_template, to_text
from ...urls import is_host
from . import CannotSend

_FIXED = re.compile(r"(https?://[^/?#\s\\]+)(?P<rest>[/?#]|\Z)", re.IGNORECASE)
_CLIMBS = re.compile(r"(?:\.|%2e){1,2}\Z", re.IGNORECASE)


class AddressTemplate:
    """`host` is the one that every address has. Raises `DefinitionError` where an event could choose it."""

    def __init__(self, template: str) -> None:
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
        self.shown = f"{split.scheme}://{found[1].rpartition('@')[2].rpartition('/')[2]}"

    def fill(self, scope: Mapping[str, Any]) -> str:
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
