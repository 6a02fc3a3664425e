"""The operating system's key store, through keyring.

A value may be longer than a store takes (Windows: 2,560 bytes), so a long one is kept in parts under names of their
own. The parts are written before the entry that names them, so a crash leaves the old value whole.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from ...errors import CallsheetError, NotAllowed

if TYPE_CHECKING:
    from .record import CredentialRecord

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
        head = self._read(account)
        if head is None:
            return None
        record = self._parsed(head, account)
        if "parts" in record:
            pieces = [self._read(name) for name in _part_names(account, record)]
            if any(piece is None for piece in pieces):
                raise CallsheetError(f"the key store lost a part of {account!r}", hint="sign in again")
            record = self._parsed("".join(piece or "" for piece in pieces), account)
        return cast("CredentialRecord", record)

    def put(self, account: str, record: CredentialRecord) -> None:
        self.check()
        old = self._names_of_parts(account)
        text = json.dumps(record)
        if len(text) > _LONGEST:
            pieces = [text[start : start + _LONGEST] for start in range(0, len(text), _LONGEST)]
            head = {"parts": len(pieces), "of": secrets.token_hex(8)}
            for name, piece in zip(_part_names(account, head), pieces, strict=True):
                self._write(name, piece)
            text = json.dumps(head)
        self._write(account, text)
        for name in old:
            self._remove(name)

    def delete(self, account: str) -> bool:
        if self._read(account) is None:
            return False
        parts = self._names_of_parts(account)
        for name in (account, *parts):
            self._remove(name)
        return True

    def _names_of_parts(self, account: str) -> list[str]:
        try:
            head = json.loads(self._read(account) or "{}")
        except ValueError:
            return []
        return _part_names(account, head) if isinstance(head, dict) and "parts" in head else []

    @staticmethod
    def _parsed(text: str, account: str) -> dict[str, Any]:
        try:
            record = json.loads(text)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise CallsheetError(
                f"the key store's entry {account!r} was not written by this program", hint="sign in again"
            )
        return record

    def _read(self, account: str) -> str | None:
        import keyring

        self.check()
        with self._explain_errors():
            return keyring.get_password(self._service, account)

    def _write(self, account: str, text: str) -> None:
        import keyring

        with self._explain_errors():
            keyring.set_password(self._service, account, text)

    def _remove(self, account: str) -> None:
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
        except Exception as error:  # noqa: BLE001 - backends raise what they like
            reason = (str(error) or type(error).__name__).partition("\n")[0]
            raise CallsheetError(f"the key store failed: {reason}", hint=self._hint) from None


def _part_names(account: str, head: dict[str, Any]) -> list[str]:
    return [f"{account}#{head['of']}#{number}" for number in range(head["parts"])]
