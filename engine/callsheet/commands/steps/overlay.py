"""One value laid over another, table by table, as the `over` of a step says it."""

from __future__ import annotations

from typing import Any


def overlaid(under: Any, over: Any) -> Any:
    """`over` laid over `under`, table by table. Nothing is laid over by null, or by a condition that is false."""
    if over is None or over is False:
        return under
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **{key: _inside(under.get(key), value) for key, value in over.items()}}
    return over


def _inside(under: Any, over: Any) -> Any:
    return overlaid(under, over) if isinstance(under, dict) and isinstance(over, dict) else over
