"""Accounts of a NATS server that trusts an operator: tokens (JWT) signed with nkeys, as its own tools make them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import Any

import nkeys

_LIMITS = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
_STORAGE = ("mem_storage", "disk_storage", "streams", "consumer")


class Key:
    """A pair of keys; `seed` is the secret one."""

    def __init__(self, kind: int) -> None:
        self.seed: str = nkeys.encode_seed(os.urandom(32), kind).decode()
        self._pair = nkeys.from_seed(bytearray(self.seed.encode()))
        self.public: str = self._pair.public_key.decode()

    def sign(self, subject: Key, name: str, what: dict[str, Any]) -> str:
        """A token that says `what` of `subject`."""
        claims = {"iss": self.public, "sub": subject.public, "name": name, "iat": 1, "nats": {**what, "version": 2}}
        claims["jti"] = base64.b32encode(hashlib.sha256(json.dumps(claims).encode()).digest()).decode().rstrip("=")
        parts = [_encoded(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, claims)]
        return f"{'.'.join(parts)}.{_encoded(self._pair.sign('.'.join(parts).encode()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def user_key() -> Key:
    return Key(nkeys.PREFIX_BYTE_USER)


def _account(limits: dict[str, Any]) -> dict[str, Any]:
    return {"type": "account", "limits": limits}


def operator() -> tuple[str, str]:
    """A configuration for the server, and the .creds file of a user that may do everything."""
    root, system, account = (
        Key(nkeys.PREFIX_BYTE_OPERATOR),
        Key(nkeys.PREFIX_BYTE_ACCOUNT),
        Key(nkeys.PREFIX_BYTE_ACCOUNT),
    )
    limits = {**dict.fromkeys(_LIMITS, -1), "wildcards": True}
    tokens = {
        account.public: root.sign(account, "A", _account({**limits, **dict.fromkeys(_STORAGE, -1)})),
        system.public: root.sign(system, "SYS", _account(limits)),
    }
    lines = [f'operator: "{root.sign(root, "O", {"type": "operator", "system_account": system.public})}"']
    lines += [f"system_account: {system.public}", "resolver: MEMORY", "resolver_preload: {"]
    lines += [*(f'{name}: "{token}"' for name, token in tokens.items()), "}"]
    user = user_key()
    token = account.sign(user, "U", {"type": "user", "subs": -1, "data": -1, "payload": -1})
    creds = (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n"
    )
    return "\n".join(lines), creds
