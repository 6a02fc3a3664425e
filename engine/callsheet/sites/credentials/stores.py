"""Which store holds credentials: the same rules when they are written and when they are read.

The encrypted file is used when its password is at hand, or when it is asked for; otherwise the operating system's
key store. What sign-in chose stands in the profile (`store`) and is read from there until the environment forces
another choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from ...errors import CallsheetError, NotAllowed, UsageError, did_you_mean
from ...files import read_private
from ...paths import APPLICATION, HOME, config_directory, settings_directory
from ..profiles.choose import Variables

if TYPE_CHECKING:
    from .record import CredentialRecord

FILE = "file"
KEYRING = "keyring"


class Store(Protocol):
    """Records by account. Each method raises `CallsheetError` that says what to do."""

    name: str

    def check(self) -> str: ...
    def get(self, account: str) -> CredentialRecord | None: ...
    def put(self, account: str, record: CredentialRecord) -> None: ...
    def delete(self, account: str) -> bool: ...


def chosen_name(variables: Variables, recorded: str | None = None) -> str:
    """`recorded` is the store that a profile names."""
    forced = variables.get("KEYRING_BACKEND")
    if forced and forced not in (FILE, KEYRING):
        name = variables.name("KEYRING_BACKEND")
        near = did_you_mean(forced, (FILE, KEYRING))
        raise UsageError(f"{name}: unknown store {forced!r}{near} (one of: {FILE}, {KEYRING})")
    if forced or recorded:
        return forced or str(recorded)
    has_password = variables.get("KEYRING_PASSWORD") or variables.get("KEYRING_PASSWORD_FILE")
    return FILE if has_password else KEYRING


def open_store(name: str, variables: Variables, environ: Mapping[str, str], program: str) -> Store:
    if name == FILE:
        from .encrypted import EncryptedFile

        return EncryptedFile(
            settings_directory(environ, program), _password(variables), variables.name("KEYRING_PASSWORD")
        )
    from .keychain import Keychain

    return Keychain(service_name(environ, program), variables.name("KEYRING_PASSWORD"))


def service_name(environ: Mapping[str, str], program: str) -> str:
    """What entries of the key store are filed under; another directory of settings is another set of sites."""
    directory = settings_directory(environ, program)
    own = environ.get(HOME) or directory != config_directory(environ)
    return f"{APPLICATION}:{directory}" if own else APPLICATION


def _password(variables: Variables) -> str:
    if variables.get("KEYRING_PASSWORD"):
        return variables.get("KEYRING_PASSWORD")
    file = variables.get("KEYRING_PASSWORD_FILE")
    if not file:
        names = f"{variables.name('KEYRING_PASSWORD')} or {variables.name('KEYRING_PASSWORD_FILE')}"
        raise NotAllowed("the encrypted file needs its password", hint=f"set {names}")
    password = read_private(file, "the password file").decode("utf-8", "replace").strip()
    if not password:
        raise CallsheetError(f"the password file {file} is empty")
    return password
