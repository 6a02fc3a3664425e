"""Bodies of HTML forms (application/x-www-form-urlencoded) as events."""

from __future__ import annotations

from urllib.parse import parse_qsl

from ...jsontext import dump
from .rejection import unreadable

CONTENT_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000


def fields_of(body: bytes) -> list[tuple[str, str]]:
    """Names and values in their order, empty values too. Raises `Rejected` for what is no form."""
    try:
        text = body.decode()
        return parse_qsl(
            text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except UnicodeDecodeError:
        raise unreadable("not an event: a form that is not UTF-8") from None
    except ValueError as error:
        raise unreadable(f"not an event: no form ({error})") from None


def json_of(body: bytes, holder: str | None) -> bytes:
    """A form as the text of a JSON object: its fields, or what one of them holds as JSON where it is there.

    Of a field that occurs twice the last one counts. Raises `Rejected`.
    """
    table = dict(fields_of(body))
    if holder is not None and holder in table:
        return table[holder].encode()
    return dump(table).encode()
