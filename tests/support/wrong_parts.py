"""A JSON value with one part that is another."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

ODD: list[Any] = [
    None, True, -1, 1.5, "", "x", "\ud800", "\x1b[2J", [], {}, [1], [None], {"a": 1}, [{"id": {}}], "http://[bad",
    "../../x", "@/etc/passwd", "9" * 30, "0001-01-01T00:00:00.000+2359", {"content": [None]}, "<p><ac:x></p>",
    "<![CDATA[", "INFINITE",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def with_part(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    if not path:
        return part
    value = copy.copy(value)
    value[path[0]] = with_part(value[path[0]], path[1:], part)
    return value
