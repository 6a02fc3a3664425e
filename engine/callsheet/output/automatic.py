"""What items without a view have to show: their leaves, and the nested objects that have a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .formats import FormatContext, name_of

Path = tuple[str | int, ...]

_DEPTH = 4


def paths(sample: Iterable[Any], context: FormatContext) -> list[Path]:
    """The paths of the leaves in a sample of items, in order of first appearance.

    Links and what is empty in the whole sample are left out, unless there is nothing else.
    """
    found: dict[Path, bool] = {}
    for item in sample:
        for path, value in leaves(item, context):
            found[path] = found.get(path, False) or _is_shown(value)
    return [path for path, telling in found.items() if telling] or list(found)


def leaves(value: Any, context: FormatContext, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf under a value with its path; a named object and a list inside an object count as leaves."""
    if isinstance(value, dict) and value and len(path) < _DEPTH and not (path and _is_named(value, context)):
        for key, item in value.items():
            yield from leaves(item, context, (*path, key))
    elif isinstance(value, list) and not path:
        yield from (((index,), item) for index, item in enumerate(value))
    else:
        yield path, value


def getter(path: Path) -> Callable[[Any], Any]:
    def get(item: Any) -> Any:
        for step in path:
            if isinstance(item, dict) and isinstance(step, str):
                item = item.get(step)
            elif isinstance(item, list) and isinstance(step, int) and step < len(item):
                item = item[step]
            else:
                return None
        return item

    return get


def _is_named(value: dict[str, Any], context: FormatContext) -> bool:
    """Whether an object is a mere reference to something with a name.

    One that holds such references itself is structure, unless it is a thing of its own with an id.
    """
    if name_of(value, context) is None:
        return False
    nested = (item for item in value.values() if isinstance(item, dict))
    return _has_id(value, context) or not any(name_of(item, context) is not None for item in nested)


def _has_id(value: dict[str, Any], context: FormatContext) -> bool:
    return context.id is not None and name_of(value, FormatContext(text=context.id)) is not None


def _is_shown(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value) and not value.startswith(("https://", "http://"))
    return value is not None and value not in ([], {})
