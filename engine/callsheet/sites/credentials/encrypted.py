"""The store for machines without a key store: one encrypted file for all sites."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...errors import CallsheetError, NotAllowed
from ...files import locked_file, read_private, write_atomically
from .encryption import decrypt, encrypt

if TYPE_CHECKING:
    from .record import CredentialRecord

NAME = "file"
FILE = "credentials.enc"


class EncryptedFile:
    name = NAME

    def __init__(self, directory: str, password: str, variable: str) -> None:
        """`variable` is where the password is from, to say so when it is wrong."""
        self.path = os.path.join(directory, FILE)
        self._password = password
        self._variable = variable

    def __repr__(self) -> str:
        return f"EncryptedFile({self.path!r})"

    def check(self) -> str:
        """The file's path; raises as `get` does where it cannot be read with this password."""
        self._read()
        return self.path

    def get(self, account: str) -> CredentialRecord | None:
        """The record of an account; None when there is none. Raises `NotAllowed`, `CallsheetError`."""
        return self._read()[0].get(account)

    def put(self, account: str, record: CredentialRecord) -> None:
        self._update(account, record)

    def delete(self, account: str) -> bool:
        """Whether there was one."""
        return self._update(account, None)

    def _update(self, account: str, record: CredentialRecord | None) -> bool:
        with locked_file(self.path):
            table, previous = self._read()
            had_account = table.pop(account, None) is not None
            if record is not None:
                table[account] = record
            elif not had_account:
                return False
            write_atomically(self.path, encrypt(table, self._password, previous))
            return had_account

    def _read(self) -> tuple[dict[str, CredentialRecord], bytes | None]:
        if not os.path.lexists(self.path):
            return {}, None
        content = read_private(self.path, "the encrypted file")
        try:
            return decrypt(content, self._password), content
        except CallsheetError as error:
            hint = error.hint or f"restore it from a backup, or remove {self.path} and sign in again"
            if isinstance(error, NotAllowed):
                hint = f"check {self._variable}"
            raise type(error)(f"{self.path}: {error.message}", hint=hint) from None
