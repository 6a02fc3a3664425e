"""One value laid over another, table by table, as the `over` of a step says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...language.template import Scope, fill_template, to_text
from .unknown import Unknown

if TYPE_CHECKING:
    from ...language.shape.steps import ItemStep


def body_of(step: ItemStep, scope: Scope) -> Any:
    """What a step sends."""
    body = fill_template(step.get("body"), scope)
    for layer in step.get("over", ()):
        body = overlay_values(body, fill_template(layer, scope))
    return body


def overlay_values(under: Any, over: Any) -> Any:
    """`over` laid over `under`, table by table. Nothing is laid over by null, or by a condition that is false.

    Raises `UsageError` for what is no table, where there is one that it would replace.
    """
    if over is None or over is False:
        return under
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **{key: _inside(under.get(key), value) for key, value in over.items()}}
    if isinstance(under, dict) and not isinstance(over, Unknown):
        raise UsageError(f"expected an object to lay over the body, not {to_text(over)[:100]!r}")
    return over


def _inside(under: Any, over: Any) -> Any:
    return overlay_values(under, over) if isinstance(under, dict) and isinstance(over, dict) else over
