"""The operating system's key store, and whether it can be read without a question to a person."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from ...errors import CallsheetError, NotAllowed

if TYPE_CHECKING:
    from . import CredentialRecord


# The operating system's key store, through keyring.
#
# A value may be longer than a store takes (Windows: 2,560 bytes), so a long one is kept in parts under names of
# their own. The parts are written before the entry that names them, so a crash leaves the old value whole.


NAME = "keyring"
_LONGEST = 1000
# Backends that keep nothing, or keep it readable.
_UNFIT = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")
_HINT = "set {variable} to a password: credentials then go into an encrypted file"


class Keychain:
    name = NAME

    def __init__(self, service: str, variable: str) -> None:
        """`service` is what the entries are filed under; `variable` is named where there is no key store."""
        self._service = service
        self._hint = _HINT.format(variable=variable)

    def check(self) -> str:
        """The backend's name; raises `CallsheetError` when there is none that is fit to hold a secret."""
        import keyring

        with self._explain_errors():
            backend = keyring.get_keyring()
        kinds = [type(each).__module__ for each in getattr(backend, "backends", [backend])]
        if not kinds or all(kind.startswith(_UNFIT) for kind in kinds):
            raise CallsheetError("this machine has no key store that can be used", hint=self._hint)
        return str(backend.name)

    def get(self, account: str) -> CredentialRecord | None:
        head = self._read_password(account)
        if head is None:
            return None
        record = self._parse_record(head, account)
        if "parts" in record:
            pieces = [self._read_password(name) for name in _part_names(account, record)]
            if any(piece is None for piece in pieces):
                raise CallsheetError(f"the key store lost a part of {account!r}", hint="sign in again")
            record = self._parse_record("".join(piece or "" for piece in pieces), account)
        return cast("CredentialRecord", record)

    def put(self, account: str, record: CredentialRecord) -> None:
        self.check()
        old = self._names_of_parts(account)
        text = json.dumps(record)
        if len(text) > _LONGEST:
            pieces = [text[start : start + _LONGEST] for start in range(0, len(text), _LONGEST)]
            head = {"parts": len(pieces), "of": secrets.token_hex(8)}
            for name, piece in zip(_part_names(account, head), pieces, strict=True):
                self._write_password(name, piece)
            text = json.dumps(head)
        self._write_password(account, text)
        for name in old:
            self._remove_password(name)

    def delete(self, account: str) -> bool:
        if self._read_password(account) is None:
            return False
        parts = self._names_of_parts(account)
        for name in (account, *parts):
            self._remove_password(name)
        return True

    def _names_of_parts(self, account: str) -> list[str]:
        try:
            head = json.loads(self._read_password(account) or "{}")
        except ValueError:
            return []
        return _part_names(account, head) if isinstance(head, dict) and "parts" in head else []

    @staticmethod
    def _parse_record(text: str, account: str) -> dict[str, Any]:
        try:
            record = json.loads(text)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise CallsheetError(
                f"the key store's entry {account!r} was not written by this program", hint="sign in again"
            )
        return record

    def _read_password(self, account: str) -> str | None:
        import keyring

        self.check()
        with self._explain_errors():
            return keyring.get_password(self._service, account)

    def _write_password(self, account: str, text: str) -> None:
        import keyring

        with self._explain_errors():
            keyring.set_password(self._service, account, text)

    def _remove_password(self, account: str) -> None:
        import keyring
        from keyring.errors import PasswordDeleteError

        with self._explain_errors(), contextlib.suppress(PasswordDeleteError):
            keyring.delete_password(self._service, account)

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Backends let the errors of their own libraries through, so everything is taken for a refusal."""
        from keyring.errors import KeyringLocked, NoKeyringError

        try:
            yield
        except NoKeyringError:
            raise CallsheetError("this machine has no key store that can be used", hint=self._hint) from None
        except KeyringLocked:
            raise NotAllowed("the key store is locked", hint="unlock it, then try again") from None
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            reason = (str(error) or type(error).__name__).partition("\n")[0]
            raise CallsheetError(f"the key store failed: {reason}", hint=self._hint) from None


def _part_names(account: str, head: dict[str, Any]) -> list[str]:
    return [f"{account}#{head['of']}#{number}" for number in range(head["parts"])]


# Whether the key store of this machine can be read without a question to a person.


_WINDOWS, _MAC, _SECRET_SERVICE = (f"keyring.backends.{name}" for name in ("Windows", "macOS", "SecretService"))


def key_store_is_silent() -> None:
    """Raise `NotAllowed` where reading a credential could put a window in front of somebody who asked for nothing.

    On macOS windows are switched off for this process, so that a locked key store is an error.
    """
    import keyring

    store = keyring.get_keyring()
    kinds = {type(each).__module__ for each in getattr(store, "backends", [store])}
    silent = {_WINDOWS: lambda: True, _MAC: _without_windows, _SECRET_SERVICE: _is_open}
    if not kinds or not all(kind in silent and silent[kind]() for kind in kinds):
        raise NotAllowed("the key store may ask for a password")


def _without_windows() -> bool:
    import ctypes

    security = ctypes.CDLL("/System/Library/Frameworks/Security.framework/Security")
    return bool(security.SecKeychainSetUserInteractionAllowed(0) == 0)


def _is_open() -> bool:
    """The library unlocks a locked collection, which asks; so it is looked at before."""
    from contextlib import closing

    import secretstorage

    with closing(secretstorage.dbus_init()) as connection:
        return not secretstorage.get_default_collection(connection).is_locked()
