"""A step for many things at once, in groups no larger than the service takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import CallsheetError
from ...language.template import fill_text, to_text

_LISTED = 20


def in_batches(
    things: list[Any], batch: dict[str, Any], scope: dict[str, Any], act: Callable[[dict[str, Any]], Any]
) -> list[Any]:
    """`act` for each group, which its scope holds as `batch`, and as `item` where groups are of one.

    A failure half-way says what was done and what was not, with the exit code of the failure.
    """
    answers: list[Any] = []
    size = batch["size"]
    for start in range(0, len(things), size):
        group = things[start : start + size]
        try:
            answers.append(act({**scope, "batch": group, "item": group[0]}))
        except CallsheetError as error:
            raise half_way(error, things, start, batch, scope) if start else error from None
    return answers


def half_way(
    error: CallsheetError, things: list[Any], done: int, batch: dict[str, Any], scope: dict[str, Any]
) -> CallsheetError:
    told = fill_text(batch["done"], {**scope, "done": done, "total": len(things)})
    error.message = f"{told} before failing: {error.message}"
    error.args = (error.message,)
    error.details = (*error.details, f"done: {_names(things[:done])}", f"not done: {_names(things[done:])}")
    return error


def _names(things: list[Any]) -> str:
    names = [_name(thing) for thing in things]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _name(thing: Any) -> str:
    if isinstance(thing, dict):
        thing = next((thing[key] for key in ("key", "filename", "title", "name", "id") if thing.get(key)), thing)
    return to_text(thing)
