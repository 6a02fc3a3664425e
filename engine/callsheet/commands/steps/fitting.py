"""What placeholders of a step gave, as the step needs it: an amount, paths, an error. The check sees constants only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import CallsheetError, Conflict, NotAllowed, NotFound, UsageError
from ...integers import parse_whole_number
from ...language.template import Scope, evaluate, to_text
from .unknown import Unknown

_CODES: dict[str, type[CallsheetError]] = {
    kind.code: kind for kind in (CallsheetError, UsageError, NotFound, Conflict, NotAllowed)
}


def items_of(expression: str, scope: Scope) -> list[Any]:
    """The list that something is done for; an unknown one of a dry run stands for one item. Raises `CallsheetError`."""
    things = evaluate(expression, scope)
    if isinstance(things, Unknown):
        return [things]
    if things is not None and not isinstance(things, list):
        raise CallsheetError(f"{expression} is not a list: {to_text(things)[:100]}")
    return things or []


def amount(given: Any) -> int:
    """How many items are read. Raises `UsageError`."""
    number = parse_whole_number(given) if isinstance(given, str) else given
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise UsageError(f"expected a number of items, not {to_text(given)[:100]!r}")
    return number


def paths(given: Any) -> list[Any]:
    """Of files to send. Raises `UsageError`."""
    files = given if isinstance(given, list) else [given] if given else []
    for file in files:
        if not isinstance(file, str | Mapping):
            raise UsageError(f"expected the path of a file, not {to_text(file)[:100]!r}")
    return files


def failure(code: str | None, text: Any, hint: Any) -> CallsheetError:
    """The error of a step that fails."""
    return _CODES[code or "usage"](to_text(text) or "it failed", hint=to_text(hint) or None)
