"""One entry in the text of a configuration file, set or removed; everything else stays as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..jsonc import JsoncError, parse_jsonc, with_member, without_member

MARK = "\ufeff"
_COMMENTS = {"toml": "#", "json": "/"}  # what begins a comment


class Unreadable(ValueError):
    """The text is not what the format says, or cannot be changed without touching something else."""


def data_of(text: str, format: str) -> Any:
    """All that the text says. Raises `Unreadable`; an empty text is an empty table."""
    text = text.removeprefix(MARK)
    if not text.strip():
        return {}
    if format == "toml":
        return _toml(text).unwrap()
    try:
        return parse_jsonc(text)
    except JsoncError as error:
        raise Unreadable(str(error)) from None


def entry_at(data: Any, path: Sequence[str]) -> Any:
    """What stands at the path of keys, or None. Raises `Unreadable` where something on the way is not a table."""
    for key in path:
        if not isinstance(data, Mapping):
            raise Unreadable(f"expected a table to hold {key!r}")
        data = data.get(key)
        if data is None:
            return None
    return data


def with_entry(text: str, format: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text with the keys of `entry` at the path; further keys that stand there stay."""
    before = data_of(text, format)
    there = entry_at(before, path)
    if there is not None and not isinstance(there, Mapping):
        raise Unreadable(f"{'.'.join(path)} is not a table")
    changed = _toml_with(text, path, entry) if format == "toml" else _json_with(text, path, entry, there)
    return _verified(changed, format, _merged(before, path, {**(there or {}), **entry}))


def without_entry(text: str, format: str, path: Sequence[str]) -> str:
    """The text without what stands at the path; the same text where nothing does."""
    before = data_of(text, format)
    if entry_at(before, path) is None:
        return text
    changed = _without(text, format, path)
    for length in range(len(path) - 1, 0, -1):  # what held nothing else goes too, but not a comment in it
        above = path[:length]
        less = _without(changed, format, above) if entry_at(data_of(changed, format), above) == {} else changed
        if less == changed or less.count(_COMMENTS[format]) < changed.count(_COMMENTS[format]):
            break
        changed = less
    wanted = _merged(before, path, None)
    for empty in range(len(path) - 1, 0, -1):  # a table that held nothing else may be gone with it
        if data_of(changed, format) == wanted:
            break
        if entry_at(wanted, path[:empty]) == {}:
            wanted = _merged(wanted, path[:empty], None)
    return _verified(changed, format, wanted)


def _without(text: str, format: str, path: Sequence[str]) -> str:
    return _toml_without(text, path) if format == "toml" else str(_worded(without_member, text, path))


def snippet(format: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The entry as a file of its own would have it, for a person to paste."""
    return with_entry("", format, path, entry).rstrip("\n") + "\n"


def _verified(text: str, format: str, wanted: Any) -> str:
    """A change that says anything else than was meant is not made."""
    if data_of(text, format) != wanted:
        raise Unreadable("this file cannot be changed without touching something else")
    return text


def _merged(data: Any, path: Sequence[str], value: Any) -> Any:
    key, *rest = path
    inner = _merged(data.get(key, {}), rest, value) if rest else value
    left = {name: item for name, item in data.items() if name != key}
    return left if inner is None else {**left, key: inner}


def _json_with(text: str, path: Sequence[str], entry: Mapping[str, Any], there: Any) -> str:
    if there is None:
        text = _worded(with_member, text, path, dict(entry))
        return text if text.endswith(("\n", "\r")) or "\n" not in text else text + "\n"
    for key, value in entry.items():
        if key not in there or there[key] != value:
            text = _worded(with_member, text, [*path, key], value)
    return text


def _worded(edit: Any, *arguments: Any) -> str:
    try:
        return str(edit(*arguments))
    except JsoncError as error:
        raise Unreadable(str(error)) from None


def _toml(text: str) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Unreadable(str(error)) from None


def _toml_with(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    import tomlkit
    from tomlkit.items import InlineTable

    document = _toml(text.removeprefix(MARK))
    here: Any = document
    for place, key in enumerate(path):
        if key not in here:
            inline = isinstance(here, InlineTable)
            here[key] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=place < len(path) - 1)
        here = here[key]
    for key, value in entry.items():
        if here.get(key) != value:
            here[key] = value
    return _like(text, tomlkit.dumps(document))


def _toml_without(text: str, path: Sequence[str]) -> str:
    import tomlkit

    document = _toml(text.removeprefix(MARK))
    here: Any = document
    for key in path[:-1]:
        here = here[key]
    del here[path[-1]]
    return _like(text, tomlkit.dumps(document))


def _like(text: str, changed: str) -> str:
    """With the line ends and the byte-order mark of the text."""
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return MARK * text.startswith(MARK) + changed
