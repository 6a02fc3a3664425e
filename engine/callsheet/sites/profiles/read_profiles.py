"""The checked content of the profiles file.

Checking loads libraries that cost more than all else a command does before it sends anything, so the result is
kept for as long as the file does not change. It holds no credential: the check refuses a file with one.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ... import __version__
from ...catalog.catalog import Catalog
from ...errors import CallsheetError
from ...files import changeable_by_others, open_regular, refuse_changeable, write_atomically
from ...paths import cache_directory, settings_directory

if TYPE_CHECKING:
    from .model import Profiles

FILE = "profiles.toml"
_FORMAT = 1


def profiles_path(environ: Mapping[str, str], program: str) -> str:
    return os.path.join(settings_directory(environ, program), FILE)


def read_profiles(catalog: Catalog, environ: Mapping[str, str]) -> Profiles:
    """`{"site": active, "sites": {name: settings}}`, both keys optional; empty when there is no file.

    Raises `UsageError` when the file is broken, `NotAllowed` when others could have written it.
    """
    path = profiles_path(environ, catalog.program)
    try:
        status = os.stat(path)
    except OSError:
        return {}
    refuse_changeable(path, "the profiles file")
    key = [_FORMAT, __version__, path, status.st_size, status.st_mtime_ns, status.st_ino]
    cache = os.path.join(cache_directory(environ), f"profiles-{crc32(path.encode()):08x}.json")
    found = _cached(cache, key)
    if found is None:
        found = _checked(path, catalog)
        with contextlib.suppress(CallsheetError):
            write_atomically(cache, json.dumps({"key": key, "profiles": found}).encode(), follow=False)
    return found


def site_names(catalog: Catalog, environ: Mapping[str, str]) -> list[str]:
    """For completion: a broken file completes nothing."""
    try:
        return list(read_profiles(catalog, environ).get("sites", {}))
    except CallsheetError:
        return []


def _cached(cache: str, key: list[Any]) -> Profiles | None:
    if changeable_by_others(cache) is not None:  # somebody else may have written it
        return None
    try:
        with open_regular(cache) as file:
            kept = json.load(file)
        found: Profiles | None = kept["profiles"] if kept["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def _checked(path: str, catalog: Catalog) -> Profiles:
    from .validate import check_file

    return check_file(path, known_words(catalog))


def known_words(catalog: Catalog) -> dict[str, list[str]]:
    """The ids that the file may mention, by kind of definition."""
    return {kind: catalog.ids(kind) for kind in ("deployment", "auth", "service")}
