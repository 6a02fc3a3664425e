"""A step for many things at once, in groups no larger than the service takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, RateLimited
from ...language.template import Scope, fill_text, to_text

if TYPE_CHECKING:
    from ...language.shape.steps import Batch

_LISTED = 20


def run_in_batches(
    items: list[Any],
    batch: Batch,
    scope: Scope,
    act: Callable[[dict[str, Any]], Any],
    failed: Callable[[CallsheetError], None] | None = None,
    *,
    changed: bool = False,
) -> list[Any]:
    """`act` for each group, which its scope holds as `batch`, and as `item` where groups are of one.

    A failure half-way says what was done and what was not, with the exit code of the failure; where an earlier step
    `changed` something, it is half-way from the start. With `failed`, which is told at the end what went wrong, the
    others go on unless there is only one, or the service wants no more requests.
    """
    answers: list[Any] = []
    problems: list[str] = []
    for start, inner in groups(items, batch, scope):
        try:
            answers.append(act(inner))
        except CallsheetError as error:
            if failed is not None and len(items) > batch["size"] and not isinstance(error, RateLimited):
                problems.append(f"{names_of(inner['batch'])}: {error.message}")
                continue
            raise partial_failure(error, items, start, batch, scope) if start or changed else error from None
    if problems and failed is not None:
        message = fill_text(batch["done"], {**scope, "done": len(items) - len(problems), "total": len(items)})
        failed(CallsheetError(f"{message}; the others failed", details=problems))
    return answers


def groups(items: list[Any], batch: Batch, scope: Scope) -> Iterator[tuple[int, dict[str, Any]]]:
    """Where each group starts, and the scope in which it is acted on."""
    for start in range(0, len(items), batch["size"]):
        group = items[start : start + batch["size"]]
        yield start, {**scope, "batch": group, "item": group[0]}


def partial_failure(error: CallsheetError, items: list[Any], done: int, batch: Batch, scope: Scope) -> CallsheetError:
    message = fill_text(batch["done"], {**scope, "done": done, "total": len(items)})
    error.message = f"{message} before failing: {error.message}"
    error.args = (error.message,)
    finished = [f"done: {names_of(items[:done])}"] if done else []
    error.details = (*error.details, *finished, f"not done: {names_of(items[done:])}")
    return error


def names_of(items: list[Any]) -> str:
    names = [name_of(item) for item in items]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def name_of(item: Any) -> str:
    if isinstance(item, dict):
        item = next((item[key] for key in ("key", "filename", "title", "name", "id") if item.get(key)), item)
    return to_text(item)
