"""What a person writes after an option → the value that is sent. Converters are found by their names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ... import registry
from ...errors import UsageError, did_you_mean
from ..context import Typed

if TYPE_CHECKING:
    from ..context import Context

STDIN = ("-", "@-")


def convert_argument(context: Context, name: str, given: str, option: str) -> Any:
    """`given` is the text itself, `@file`, or `-` or `@-` for standard input; `@@` starts a text with an @."""
    return convert_text(context, name, read_text(context, given, option), option)


def convert_text(context: Context, name: str, text: str, option: str) -> Any:
    """What a converter makes of a text that has been read."""
    if name not in registry.CONVERTERS:
        raise UsageError(f"{option}: no format {name!r}{did_you_mean(name, registry.CONVERTERS)}")
    try:
        return registry.resolve_entry(registry.CONVERTERS[name])(context, text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def read_text(context: Context, given: str, option: str) -> str:
    if context.is_literal(given):
        return given
    if given.startswith("@@"):
        return Typed(given[1:])
    if not given.startswith("@") and given != "-":
        return given
    if given.startswith("@[") and not os.path.exists(given[1:]):  # somebody is mentioned
        return given
    file = "standard input" if given in STDIN else given[1:]
    try:
        text = context.read_source(given).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{option}: {file} is not UTF-8: byte {error.start}") from None
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint="write @@ for a text that starts with @") from None
    if not text.strip():  # as a pipe is whose first command failed
        raise UsageError(f"{option}: {file} is empty", hint="give '' for a text that is empty on purpose")
    return Typed(text)


def plain(context: Context, text: str) -> str:
    """The text as it is; `@file` and `@-` are read."""
    del context
    return text


def from_json(context: Context, text: str) -> Any:
    """The value that a JSON text says."""
    del context
    from ...jsontext import parse_json

    return parse_json(text)
