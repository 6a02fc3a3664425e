"""What a call says over what its operation would get, and names that it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ...client.request.model import Placeholder
from ...errors import UsageError
from ...language.template import Scope, fill_template, to_text

if TYPE_CHECKING:
    from ...language.shape.steps import ItemStep


# What a dry run cannot know: the answer to a request that is not sent.


class Unknown(Placeholder):
    """An answer, or a part of one, under the name it has in the printed commands: `<title of page>`."""

    source: str
    path: tuple[str, ...]

    def __new__(cls, source: str, path: tuple[str, ...] = ()) -> Self:
        text = f"{'.'.join(path)} of {source}" if path else source
        made = super().__new__(cls, f"<{text}>")
        made.source, made.path = source, path
        return made

    def get(self, key: str, default: Any = None) -> Unknown:
        """A part of it; this is what expressions call."""
        del default
        return Unknown(self.source, (*self.path, key))

    def plus(self, other: Any) -> Unknown:
        return Unknown(f"{self[1:-1]} + {other}")


# One value laid over another, table by table, as the `over` of a step says it.


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
