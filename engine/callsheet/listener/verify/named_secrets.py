"""Shared secrets that are kept under a name, in the store that credentials are kept in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...errors import NotFound, UsageError
from ...sites.credentials.stores import FILE, Store, chosen_name, open_store
from ...sites.profiles.choose import Variables
from ...urls import SITE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping


class NamedSecrets:
    """Raises `CallsheetError` where the store cannot be used."""

    def __init__(self, prefix: str, environ: Mapping[str, str], program: str) -> None:
        self._variables = Variables(prefix, environ)
        self._environ = environ
        self._program = program

    @property
    def location(self) -> str:
        return "the encrypted file" if chosen_name(self._variables) == FILE else "the key store"

    def get(self, name: str) -> str:
        """Raises `NotFound`."""
        record = self._store().get(_account(name))
        if record is None:
            raise self._missing(name)
        return str(record["secret"])

    def put(self, name: str, secret: str) -> None:
        self._store().put(_account(name), {"secret": secret})

    def delete(self, name: str) -> None:
        """Raises `NotFound`."""
        if not self._store().delete(_account(name)):
            raise self._missing(name)

    def _store(self) -> Store:
        return open_store(chosen_name(self._variables), self._variables, self._environ, self._program)

    def _missing(self, name: str) -> NotFound:
        return NotFound(f"no secret {name!r} in {self.location}", hint=f"put it there: webhook secret set {name}")


def _account(name: str) -> str:
    """No site is called so: there is no colon in the names of sites."""
    if not re.fullmatch(SITE_NAME, name):
        raise UsageError(f"{name!r}: a secret's name may contain only letters, digits, '.', '_' and '-'")
    return f"webhook:{name}"
