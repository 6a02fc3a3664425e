"""Lists of things that name what they are below, as trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_INDENT = "  "


def indented_tree(items: list[Any], id: str, parent: str) -> Iterator[dict[str, Any]]:
    """Each item behind the one it is below, in the order of the list, with its `indent`.

    What is below nothing in the list is at the top; what is below itself comes last, so that nothing is left out.
    """
    tables = [item for item in items if isinstance(item, dict)]
    known = {str(item.get(id)) for item in tables}
    below: dict[str, list[dict[str, Any]]] = {}
    for item in tables:
        above = str(item.get(parent))
        below.setdefault(above if above in known else "", []).append(item)
    seen: set[int] = set()
    waiting = [(item, 0) for item in reversed(below.get("", []))]
    while waiting:
        item, level = waiting.pop()
        if id_of(item) in seen:
            continue
        seen.add(id_of(item))
        yield {**item, "indent": _INDENT * level}
        waiting += [(each, level + 1) for each in reversed(below.get(str(item.get(id)), []))]
    yield from ({**item, "indent": ""} for item in tables if id_of(item) not in seen)


def id_of(item: dict[str, Any]) -> int:
    """What tells an item from others that say the same of themselves."""
    return id(item)
