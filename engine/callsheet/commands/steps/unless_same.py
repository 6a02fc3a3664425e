"""Whether a request would say what was read: a service makes a new version of a thing all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...language.template import Scope, fill_template
from .unknown import Unknown

if TYPE_CHECKING:
    from ...language.shape.steps import UnlessSame


def is_same(rule: UnlessSame, body: Any, scope: Scope) -> bool:
    """False where the thing was not read. Null says nothing, and a line break at the end of a text is none of it."""
    if scope.get(rule["step"]) is None or isinstance(scope[rule["step"]], Unknown) or not isinstance(body, dict):
        return False
    apart = rule.get("apart", ())
    compared = {key: value for key, value in body.items() if key not in apart}
    return bool(_plain(compared) == _plain(fill_template(rule["body"], {**scope, "asked": compared})))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value.rstrip("\r\n") if isinstance(value, str) else value
