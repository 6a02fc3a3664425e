"""A step for many things at once, in groups no larger than the service takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, RateLimited
from ...language.template import fill_text, to_text

if TYPE_CHECKING:
    from ...language.shape.steps import Batch

_LISTED = 20


def in_batches(
    things: list[Any],
    batch: Batch,
    scope: dict[str, Any],
    act: Callable[[dict[str, Any]], Any],
    failed: Callable[[CallsheetError], None] | None = None,
) -> list[Any]:
    """`act` for each group, which its scope holds as `batch`, and as `item` where groups are of one.

    A failure half-way says what was done and what was not, with the exit code of the failure. With `failed`, which is
    told at the end what went wrong, the others go on unless there is only one, or the service wants no more requests.
    """
    answers: list[Any] = []
    problems: list[str] = []
    for start, inner in groups(things, batch, scope):
        try:
            answers.append(act(inner))
        except CallsheetError as error:
            if failed is not None and len(things) > batch["size"] and not isinstance(error, RateLimited):
                problems.append(f"{_names(inner['batch'])}: {error.message}")
                continue
            raise half_way(error, things, start, batch, scope) if start else error from None
    if problems and failed is not None:
        told = fill_text(batch["done"], {**scope, "done": len(things) - len(problems), "total": len(things)})
        failed(CallsheetError(f"{told}; the others failed", details=problems))
    return answers


def groups(things: list[Any], batch: Batch, scope: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Where each group starts, and the scope in which it is acted on."""
    for start in range(0, len(things), batch["size"]):
        group = things[start : start + batch["size"]]
        yield start, {**scope, "batch": group, "item": group[0]}


def half_way(
    error: CallsheetError, things: list[Any], done: int, batch: Batch, scope: dict[str, Any]
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
