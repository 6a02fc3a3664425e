"""Flat records as text for a model: a Markdown table where each value is one line, otherwise a block for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..jsontext import dump_json

_CELL = 160  # characters that a cell may have


def rendered(value: Any) -> str:
    """A list, one thing, or whatever else a command answered."""
    if isinstance(value, list):
        return rendered_items(value)
    return _thing(value) if isinstance(value, dict) else _text(value)


def rendered_items(items: list[Any]) -> str:
    if not items:
        return "nothing found"
    if not all(isinstance(item, dict) and _is_flat(item) for item in items):
        return "\n".join(dump_json(item) if isinstance(item, dict | list) else _text(item) for item in items)
    if all(_is_cell(value) for item in items for value in item.values()):
        return _table(items)
    return "\n\n".join(_thing(item) for item in items)


def _table(items: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for item in items for name in item))
    rows = [names, ["---"] * len(names), *([_cell(item.get(name)) for name in names] for item in items)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _thing(thing: dict[str, Any]) -> str:
    """Short values as lines first, then longer ones under their names."""
    if not _is_flat(thing, parts=True):
        return dump_json(thing)
    if list(thing) == ["text"]:
        return _text(thing["text"])
    short = [f"{name}: {_text(value)}" for name, value in thing.items() if _is_cell(value)]
    long = [f"## {name}\n\n{_part(value)}" for name, value in thing.items() if not _is_cell(value)]
    return "\n\n".join(["\n".join(short), *long] if short else long)


def _part(value: Any) -> str:
    return rendered_items(value) if isinstance(value, list) else _text(value)


def _is_flat(item: dict[str, Any], *, parts: bool = False) -> bool:
    return not any(isinstance(value, dict) or (not parts and _has_tables(value)) for value in item.values())


def _has_tables(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict | list) for item in value)


def _is_cell(value: Any) -> bool:
    if isinstance(value, str):
        return "\n" not in value and len(value) <= _CELL
    if isinstance(value, list):
        return not _has_tables(value) and len(_text(value)) <= _CELL
    return True


def _cell(value: Any) -> str:
    return _text(value).replace("\\", "\\\\").replace("|", "\\|")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_text, _flattened(value)))
    return value if isinstance(value, str) else dump_json(value)


def _flattened(value: Iterable[Any]) -> list[Any]:
    return [item for item in value if item is not None]
