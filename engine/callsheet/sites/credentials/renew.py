"""An access token that still holds, renewed when it does not.

Servers that rotate refresh tokens accept each only once, so renewal happens under a lock: the first process renews
and keeps the result, the others find it when their turn comes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import CallsheetError, NotAllowed
from ...files import locked_file
from .stores import Store

if TYPE_CHECKING:
    from .record import CredentialRecord

_MARGIN = 60.0
_LOCK_TIMEOUT = 150.0


def valid_record(
    store: Store,
    account: str,
    record: CredentialRecord,
    renew: Callable[[CredentialRecord], CredentialRecord],
    directory: str,
) -> CredentialRecord:
    """`record` or its renewed successor. `renew` asks the server; `directory` is where the lock lies."""
    if _is_valid(record):
        return record
    with locked_file(os.path.join(directory, f"renewal-{account.replace('/', '_')}"), _LOCK_TIMEOUT):
        latest = store.get(account) or record
        if _is_valid(latest):
            return latest
        if not (latest.get("refresh_token") or latest.get("grant")):
            raise NotAllowed(
                "the access token has expired and cannot be renewed", hint="sign in again with `auth login`"
            )
        fresh: CredentialRecord = {**latest, **_renew_record(latest, renew)}
        store.put(account, fresh)
        return fresh


def _renew_record(latest: CredentialRecord, renew: Callable[[CredentialRecord], CredentialRecord]) -> CredentialRecord:
    try:
        return renew(latest)
    except NotAllowed as error:
        raise NotAllowed(
            f"the access token could not be renewed: {error.message}", hint="sign in again with `auth login`"
        ) from None
    except CallsheetError as error:
        raise type(error)(f"the access token could not be renewed: {error.message}", hint=error.hint) from None


def _is_valid(record: CredentialRecord) -> bool:
    return expiry(record) > time.time()


def expiry(record: CredentialRecord) -> float:
    """When a token should no longer be used: a little before the server refuses it."""
    return float(record.get("expires_at", 0)) - _MARGIN
