"""Changing the profiles file: what a person wrote stays, comments and order included."""

from __future__ import annotations

import contextlib
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...catalog.catalog import Catalog
from ...errors import CallsheetError, UsageError, did_you_mean
from ...files import PRIVATE, locked_file, open_regular, write_atomically
from .choose import known_words, profiles_path
from .validate import Access, Profiles, SiteProfile, check_change, keys_at

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

KeyPath = tuple[str, ...]
_OF_TABLES = ("sites", "services")  # hold tables and nothing else


@contextlib.contextmanager
def edit_profiles(catalog: Catalog, environ: Mapping[str, str]) -> Iterator[TOMLDocument]:
    """The file as a document. What the block leaves is checked and written in one step; other processes wait.

    Raises `UsageError` where the file is broken, or would be afterwards; then nothing is written.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError

    path = profiles_path(environ, catalog.program)
    with locked_file(path):
        before, mode = _read_content(path)
        try:
            document = tomlkit.parse(before)
        except ParseError as error:
            raise UsageError(f"{path}: not TOML: {error}") from None
        yield document
        after = tomlkit.dumps(document)
        if after != before:
            check_change(before, after, path, known_words(catalog))
            write_atomically(path, after.encode(), mode)


def _read_content(path: str) -> tuple[str, int]:
    try:
        with open_regular(path) as file:
            return file.read().decode(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        return "", PRIVATE
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise CallsheetError(f"{path}: {error.strerror}") from None


def put_setting(document: TOMLDocument, keys: KeyPath, value: Any) -> None:
    """Set a key, or take it away where `value` is None; tables are made as needed."""
    import tomlkit

    table: Any = document
    for key in keys[:-1]:
        if key not in table:
            if value is None:
                return
            table[key] = tomlkit.table(is_super_table=key in _OF_TABLES)
        table = table[key]
    if value is None:
        table.pop(keys[-1], None)
    elif table.get(keys[-1]) != value:
        table[keys[-1]] = value


def put_site(document: TOMLDocument, name: str, settings: Mapping[str, Any]) -> None:
    """Write keys of a site; tables (services) are gone into, None takes a key away, others stay as they are."""
    for keys, value in _leaves_of_table(settings):
        put_setting(document, ("sites", name, *keys), value)


def _leaves_of_table(table: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves_of_table(value, (*above, key))
        else:
            yield (*above, key), value


def remove_site(document: TOMLDocument, name: str) -> None:
    sites: Any = document.get("sites", {})
    sites.pop(name, None)
    if not sites:
        document.pop("sites", None)
    if document.get("site") == name:
        document.pop("site")


def typed_setting(keys: KeyPath, text: str) -> Any:
    """A value as its key wants it: texts as they are, lists separated by commas or blanks, the rest as in TOML."""
    expected = _types_of_key(keys)
    if "array" in expected:
        return [word for word in text.replace(",", " ").split() if word]
    if "string" in expected or text == "":
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        wanted = "true or false" if "boolean" in expected else "a number"
        raise UsageError(f"{'.'.join(keys)}: expected {wanted}, got {text!r}") from None


def _types_of_key(keys: KeyPath) -> set[str]:
    """The types that a key takes, as JSON Schema calls them; raises `UsageError` for a key that does not exist."""
    from pydantic import TypeAdapter

    shape = _shape_of_key(keys)
    found = TypeAdapter(shape).json_schema()["properties"].get(keys[-1]) if shape else None
    if found is None:
        known = keys_at(keys[:-1])
        hint = f"keys: {', '.join(known)}" if known else "name a key in full: sites.NAME.KEY"
        raise UsageError(f"{'.'.join(keys)}: no such key{did_you_mean(keys[-1], known)}", hint=hint)
    if keys[-1] in _OF_TABLES:
        raise UsageError(f"{'.'.join(keys)}: that is a table; set one of its keys")
    return {str(each.get("type")) for each in found.get("anyOf", [found])}


def _shape_of_key(keys: KeyPath) -> Any:
    match keys:
        case (_,):
            return Profiles
        case ("sites", _, _):
            return SiteProfile
        case ("sites", _, "services", _, _):
            return Access
        case _:
            return None


def split_key(text: str) -> KeyPath:
    """`sites.work.rps` → its parts; a part with a dot in it stands in quotes, as in TOML."""
    try:
        table: Any = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        raise UsageError(f"{text!r} is not a valid key") from None
    keys: KeyPath = ()
    while isinstance(table, dict):
        ((key, table),) = table.items()
        keys += (key,)
    return keys
