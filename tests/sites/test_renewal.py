"""When an access token is renewed, what is kept, and what is said where that fails."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import CallsheetError, NetworkError, NotAllowed
from callsheet.sites.credentials.secrets import usable_until, valid_record

Record = dict[str, Any]


class Kept:
    """A store with one record."""

    name = "file"

    def __init__(self, record: Record | None) -> None:
        self.record = record

    def get(self, account: str) -> Record | None:
        return self.record if account == "work/wiki" else None

    def put(self, account: str, record: Record) -> None:
        assert account == "work/wiki"
        self.record = record

    def delete(self, account: str) -> bool:
        raise AssertionError(account)


def until(seconds: float, token: str = "t") -> Record:
    return {"access_token": token, "refresh_token": "r", "origin": "o", "expires_at": time.time() + seconds}


def never(_: Record) -> Record:
    raise AssertionError("it was renewed")


def test_a_token_is_given_up_a_minute_before_its_end() -> None:
    assert usable_until({"expires_at": 1000.0}) == 940.0
    assert usable_until({}) == -60.0


def test_what_still_holds_is_used(tmp_path: Path) -> None:
    record = until(90)
    assert valid_record(Kept(None), "work/wiki", record, never, str(tmp_path)) is record
    assert list(tmp_path.iterdir()) == []


def test_what_another_process_renewed_is_used(tmp_path: Path) -> None:
    fresh = until(3600, "new")
    assert valid_record(Kept(fresh), "work/wiki", until(30), never, str(tmp_path)) == fresh


@pytest.mark.parametrize("kept", [True, False])
def test_what_ended_is_renewed_and_kept_with_all_else_that_was_known(kept: bool, tmp_path: Path) -> None:
    old, new = until(30, "old"), until(3600, "new")
    store, asked = Kept(old if kept else None), []

    def renew(record: Record) -> Record:
        asked.append(record["refresh_token"])
        return {"access_token": new["access_token"], "expires_at": new["expires_at"], "refresh_token": "r2"}

    found = valid_record(store, "work/wiki", old, renew, str(tmp_path))
    assert found == {**new, "refresh_token": "r2"}
    assert (store.record, asked) == (found, ["r"])


def test_what_cannot_be_renewed_says_to_sign_in(tmp_path: Path) -> None:
    record = {**until(30), "refresh_token": ""}
    with pytest.raises(NotAllowed, match="the access token has expired and cannot be renewed") as caught:
        valid_record(Kept(None), "work/wiki", record, never, str(tmp_path))
    assert caught.value.hint == "sign in again with `auth login`"


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (NotAllowed("no", hint="x"), "sign in again with `auth login`"),
        (NetworkError("no", hint="x"), "x"),
        (CallsheetError("no", hint="y"), "y"),
    ],
)
def test_a_failed_renewal_keeps_its_kind(error: CallsheetError, hint: str, tmp_path: Path) -> None:
    def renew(_: Record) -> Record:
        raise error

    store = Kept(until(30))
    before = store.record
    with pytest.raises(CallsheetError) as caught:
        valid_record(store, "work/wiki", until(30), renew, str(tmp_path))
    assert type(caught.value) is type(error)
    assert (caught.value.message, caught.value.hint) == ("the access token could not be renewed: no", hint)
    assert store.record is before
