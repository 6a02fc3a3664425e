"""The store for machines without a key store: one file for all sites that only a password opens."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, NotAllowed
from ...files import locked_file, read_private, write_atomically

if TYPE_CHECKING:
    from ...jsontext import JsonObject
    from . import CredentialRecord


# A table of secrets as bytes that only the password opens.
#
# JSON with a version: Argon2id (RFC 9106) makes 48 bytes of the password, 32 of them the key of AES-256-GCM, the
# rest stand in the file and tell a wrong password from a changed file. The key derivation's settings stand in the
# file, so that they can be raised later; what is not secret is authenticated too.


FORMAT = "callsheet-credentials"
VERSION = 1
# RFC 9106's second recommended setting: 64 MiB, three passes, four lanes.
_COST = {"memory": 65536, "iterations": 3, "lanes": 4}
_MOST = dict(_COST)  # that reading a file may cost
_SALT, _NONCE = 16, 12
_CHANGED = "it was changed or damaged since it was written"


def encrypt_table(table: Mapping[str, Any], password: str, previous: bytes | None) -> bytes:
    """`previous` is the file as it was: its salt is used again, the nonce never is."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cost: JsonObject = dict(_COST)
    cost["salt"] = _parse_file(previous)["kdf"]["salt"] if previous else _base64_text(os.urandom(_SALT))
    key, check = _derive_key(password, **cost)
    head = {"format": FORMAT, "version": VERSION, "kdf": {"name": "argon2id", **cost}, "check": _base64_text(check)}
    nonce = os.urandom(_NONCE)
    data = AESGCM(key).encrypt(nonce, json.dumps(table).encode(), _canonical_bytes(head))
    whole = {**head, "nonce": _base64_text(nonce), "data": _base64_text(data)}
    return json.dumps({**whole, "sum": _checksum_of(whole)}, indent=2).encode() + b"\n"


def decrypt_table(content: bytes, password: str) -> JsonObject:
    """Raises `NotAllowed` for a wrong password, `CallsheetError` for anything that is not what `encrypt` wrote."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    file = _parse_file(content)
    key, check = _derive_key(
        password, **{name: file["kdf"][name] for name in ("memory", "iterations", "lanes", "salt")}
    )
    if not compare_digest(check, file["check"]):
        raise NotAllowed("the password is wrong")
    head = {name: file["head"][name] for name in ("format", "version", "kdf", "check")}
    try:
        opened = AESGCM(key).decrypt(file["nonce"], file["data"], _canonical_bytes(head))
    except InvalidTag:
        raise CallsheetError(_CHANGED) from None
    table = json.loads(opened)
    if not isinstance(table, dict) or not all(isinstance(record, dict) for record in table.values()):
        raise CallsheetError(_CHANGED)
    return table


def _parse_file(content: bytes) -> JsonObject:
    """The checked parts of a file; `head` is the JSON itself."""
    try:
        head = json.loads(content)
        newer = head["format"] == FORMAT and head["version"] > VERSION
        if newer:
            raise CallsheetError("it was written by a newer version of this program", hint="install that version")
        known = head["format"] == FORMAT and head["version"] == VERSION
        if not known or head.pop("sum") != _checksum_of(head) or not _is_expected_cost(head["kdf"]):
            raise CallsheetError(_CHANGED)
        raw = {name: b64decode(head[name], validate=True) for name in ("check", "nonce", "data")}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CallsheetError(_CHANGED) from None
    if len(raw["nonce"]) != _NONCE:
        raise CallsheetError(_CHANGED)
    return {"head": head, "kdf": head["kdf"], **raw}


def _is_expected_cost(cost: JsonObject) -> bool:
    """Whether reading costs what writing did at most; more would only serve to wear the reader out."""
    fits = all(type(cost[name]) is int and 1 <= cost[name] <= most for name, most in _MOST.items())
    return fits and cost["name"] == "argon2id" and len(b64decode(cost["salt"], validate=True)) >= _SALT


@lru_cache(maxsize=4)
def _derive_key(password: str, memory: int, iterations: int, lanes: int, salt: str) -> tuple[bytes, bytes]:
    """A process derives once: reading and writing again use the same salt."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    try:
        function = Argon2id(salt=b64decode(salt), length=48, iterations=iterations, lanes=lanes, memory_cost=memory)
        key = function.derive(password.encode())
    except UnsupportedAlgorithm:
        raise CallsheetError(
            "the installed OpenSSL lacks Argon2id", hint="install the `cryptography` package from its own wheels"
        ) from None
    except ValueError:
        raise CallsheetError(_CHANGED) from None
    return key[:32], key[32:]


def _canonical_bytes(table: Mapping[str, Any]) -> bytes:
    return json.dumps(table, sort_keys=True, separators=(",", ":")).encode()


def _checksum_of(table: Mapping[str, Any]) -> str:
    """Tells damage from a wrong password where even the salt was hit; whoever changes a file can also compute it."""
    return sha256(_canonical_bytes(table)).hexdigest()


def _base64_text(data: bytes) -> str:
    return b64encode(data).decode()


# The store for machines without a key store: one encrypted file for all sites.


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
        self._read_records()
        return self.path

    def get(self, account: str) -> CredentialRecord | None:
        """The record of an account; None when there is none. Raises `NotAllowed`, `CallsheetError`."""
        return self._read_records()[0].get(account)

    def put(self, account: str, record: CredentialRecord) -> None:
        self._update_record(account, record)

    def delete(self, account: str) -> bool:
        """Whether there was one."""
        return self._update_record(account, None)

    def _update_record(self, account: str, record: CredentialRecord | None) -> bool:
        with locked_file(self.path):
            table, previous = self._read_records()
            had_account = table.pop(account, None) is not None
            if record is not None:
                table[account] = record
            elif not had_account:
                return False
            write_atomically(self.path, encrypt_table(table, self._password, previous))
            return had_account

    def _read_records(self) -> tuple[dict[str, CredentialRecord], bytes | None]:
        if not os.path.lexists(self.path):
            return {}, None
        content = read_private(self.path, "the encrypted file")
        try:
            return decrypt_table(content, self._password), content
        except CallsheetError as error:
            hint = error.hint or f"restore it from a backup, or remove {self.path} and sign in again"
            if isinstance(error, NotAllowed):
                hint = f"check {self._variable}"
            raise type(error)(f"{self.path}: {error.message}", hint=hint) from None
