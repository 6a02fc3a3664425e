"""What was applied of things that have no place for it themselves, and what was pulled: one file beside the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ...errors import UsageError
from ...files import locked_file, write_atomically
from ...jsontext import JSONError, dump_json, parse_json
from .base import Applied, applied_of

NAME = "callsheet.lock"
_VERSION = 1
_FOR_ALL = 0o644  # it is committed with the files
_LARGEST = 64 << 20


class Lock:
    """`site` names the site that it is about: one file can be of several. Each entry is under a resource and a key."""

    def __init__(self, directory: str, site: str) -> None:
        """Raises `UsageError` for a file that is none."""
        self.path = os.path.join(directory, NAME)
        self._site = site
        self._all = self._read()
        self._changed = False

    def _read(self) -> dict[str, Any]:
        if os.path.islink(self.path):
            raise UsageError(f"{self.path} is a link: nothing is written to where it leads", hint="remove it")
        try:
            with open(self.path, "rb") as file:
                found = parse_json(file.read(_LARGEST))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UsageError(f"{self.path}: {(error.strerror or str(error)).lower()}") from None
        except JSONError as error:
            raise UsageError(
                f"{self.path} cannot be read: {error}", hint="take it from the version that was good"
            ) from None
        if not isinstance(found, dict) or found.get("version") != _VERSION or not isinstance(found.get("sites"), dict):
            raise UsageError(f"{self.path} is of another version, or something else")
        return dict(found["sites"])

    def entries(self, resource: str) -> dict[str, Applied]:
        """Key → what was applied or pulled."""
        table = self._table(resource)
        read = {key: applied_of(value) for key, value in table.items()}
        return {key: found for key, found in read.items() if found is not None}

    def _table(self, resource: str) -> Mapping[str, Any]:
        here = self._all.get(self._site)
        table = here.get(resource) if isinstance(here, dict) else None
        return table if isinstance(table, dict) else {}

    def put_applied(self, resource: str, key: str, applied: Applied) -> None:
        if self._table(resource).get(key) != applied.value():
            self._all.setdefault(self._site, {}).setdefault(resource, {})[key] = applied.value()
            self._changed = True

    def remove(self, resource: str, key: str) -> None:
        if key in self._table(resource):
            del self._all[self._site][resource][key]
            self._changed = True

    def save(self) -> None:
        """Written whole, and only where something in it changed."""
        if not self._changed:
            return
        with locked_file(self.path, 10.0):
            text = dump_json({"version": _VERSION, "sites": _sorted(self._all)}, indent=1)
            write_atomically(self.path, f"{text}\n".encode())
        with suppress(OSError):
            os.remove(f"{self.path}.lock")
            os.chmod(self.path, _FOR_ALL)
        self._changed = False


def _sorted(value: Any) -> Any:
    """Keys in order, so that two versions of the file are easy to compare."""
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value
