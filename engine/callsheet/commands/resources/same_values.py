"""Whether a thing is what a person wants it to be, whatever its service adds, orders or leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...language.template import to_text

_NOTHING: tuple[Any, ...] = (None, "", [], {})


def is_same_value(now: Any, wanted: Any) -> bool:
    """Members that nobody names, the order of lists, `10` for `"10"`, and empty for nothing are no difference."""
    if wanted in _NOTHING or now in _NOTHING:
        return wanted in _NOTHING and now in _NOTHING
    if isinstance(wanted, Mapping) and isinstance(now, Mapping):
        return all(is_same_value(now.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(now, list):
        left = list(now)
        for item in wanted:
            match = next((place for place, other in enumerate(left) if is_same_value(other, item)), None)
            if match is None:
                return False
            del left[match]
        return not left
    if isinstance(wanted, bool) or isinstance(now, bool) or isinstance(wanted, Mapping | list):
        return bool(type(now) is type(wanted) and now == wanted)
    return not isinstance(now, Mapping | list) and to_text(now) == to_text(wanted)
