"""Definitions as TOML that a person likes to read: one parameter a line, short tables inline, long ones apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 120
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ALWAYS_APART = frozenset({"properties"})
_ALWAYS_LISTED = frozenset({"params"})


def definition_file_text(kinds: Mapping[str, Mapping[str, Mapping[str, Any]]], above: str = "") -> str:
    """`{kind: {id: table}}` as the text of a definition file; `above` is a table that all stand in."""
    blocks = []
    for kind, tables in kinds.items():
        for id, table in tables.items():
            blocks.append("\n".join(_table((kind, id), table, above=f"{above}." if above else "")))
    return "\n\n".join(blocks) + "\n"


def _table(path: tuple[str, ...], table: Mapping[str, Any], brackets: str = "[]", above: str = "") -> Iterator[str]:
    """A table's header, its own lines, and after them the tables that do not fit on a line."""
    begin, end = brackets[: len(brackets) // 2], brackets[len(brackets) // 2 :]
    yield f"{begin}{above}{'.'.join(map(_key, path))}{end}"
    apart = []
    for key, value in table.items():
        if _stands_apart(key, value, len(path)):
            apart.append((key, value))
        else:
            yield from _lines(key, value)
    for key, value in apart:
        if isinstance(value, list):
            for item in value:
                yield ""
                yield from _table((*path, key), item, "[[]]", above)
        else:
            yield ""
            yield from _table((*path, key), value, above=above)


def _stands_apart(key: str, value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return (key in _ALWAYS_APART and depth == 2) or not _fits(key, value)
    if _is_tables(value) and key not in _ALWAYS_LISTED:
        return any(len(_inline(item)) + 3 > WIDTH for item in value)
    return False


def _fits(key: str, value: Any) -> bool:
    return len(_key(key)) + 3 + len(_inline(value)) <= WIDTH


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _lines(key: str, value: Any) -> Iterator[str]:
    if _is_tables(value) and (key in _ALWAYS_LISTED or not _fits(key, value)):
        yield f"{_key(key)} = ["
        for item in value:
            yield from _listed(item)
        yield "]"
    elif isinstance(value, list) and not _fits(key, value):
        yield f"{_key(key)} = ["
        yield from _wrapped(value, "  ")
        yield "]"
    else:
        yield f"{_key(key)} = {_inline(value)}"


def _listed(item: Mapping[str, Any]) -> Iterator[str]:
    """One table of a list; where it is too long its longest list goes over several lines."""
    line = f"  {_inline(item)},"
    lists = [key for key, value in item.items() if isinstance(value, list)]
    if len(line) <= WIDTH or not lists:
        yield line
        return
    long = max(lists, key=lambda key: len(_inline(item[key])))
    short = {key: value for key, value in item.items() if key != long}
    opening = _inline(short).removesuffix(" }")
    yield f"  {opening}, {_key(long)} = ["
    yield from _wrapped(item[long], "    ")
    yield "  ] },"


def _wrapped(values: list[Any], indent: str) -> Iterator[str]:
    line = indent
    for value in values:
        piece = f"{_inline(value)},"
        if line != indent and len(line) + len(piece) + 1 > WIDTH:
            yield line
            line = indent
        line += piece if line == indent else f" {piece}"
    yield line


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, str):
        return _text(value)
    return json.dumps(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """A text in quotes; one with backslashes in the quotes that leave them alone, where it can be."""
    if "\\" in text and text.isprintable() and "'" not in text:
        return f"'{text}'"
    # A lone surrogate is no character; TOML has no way to write one.
    whole = text.encode("utf-8", "replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")
