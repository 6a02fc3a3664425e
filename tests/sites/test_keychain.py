"""The operating system's key store, with one of the tests' own in its place."""

from __future__ import annotations

from typing import Any

import keyring
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, NoKeyringError, PasswordDeleteError

from callsheet.errors import CallsheetError, NotAllowed
from callsheet.sites.credentials.keychain import Keychain


class Memory(KeyringBackend):
    """Takes no value longer than Windows does. `failure` is raised by everything."""

    priority = 1.0  # type: ignore[assignment]
    name = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.failure: Exception | None = None

    def get_password(self, service: str, username: str) -> str | None:
        self._fail()
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._fail()
        assert len(password.encode("utf-16-le")) <= 2560
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._fail()
        if (service, username) not in self.entries:
            raise PasswordDeleteError("no such entry")
        del self.entries[service, username]

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def memory() -> Any:
    before, backend = keyring.get_keyring(), Memory()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def keychain() -> Keychain:
    return Keychain("callsheet", "SUITE_KEYRING_PASSWORD")


def test_a_record_comes_back_and_goes(memory: Memory) -> None:
    store = keychain()
    assert store.get("work") is None
    assert store.delete("work") is False
    store.put("work", {"token": "a"})
    assert store.get("work") == {"token": "a"}
    assert store.get("home") is None
    assert store.delete("work") is True
    assert memory.entries == {}


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3500), min_size=1, max_size=4))
def test_values_of_any_length_replace_each_other_and_leave_nothing_behind(lengths: list[int]) -> None:
    before, backend = keyring.get_keyring(), Memory()
    keyring.set_keyring(backend)
    try:
        store = keychain()
        for length in lengths:
            store.put("work", {"token": "ä" * (length // 2) + "x" * (length - length // 2)})
            assert len(store.get("work")["token"]) == length  # type: ignore[index]
        assert store.delete("work")
        assert backend.entries == {}
    finally:
        keyring.set_keyring(before)


def test_a_lost_part_is_told_and_nothing_made_up(memory: Memory) -> None:
    keychain().put("work", {"token": "x" * 3000})
    lost = next(entry for entry in memory.entries if entry[1].endswith("#1"))
    del memory.entries[lost]
    with pytest.raises(CallsheetError, match="the key store lost a part of 'work'") as caught:
        keychain().get("work")
    assert caught.value.hint == "sign in again"


@pytest.mark.parametrize("text", ["", "not JSON", "[1]", '"text"', "7"])
def test_an_entry_of_another_program_is_told(memory: Memory, text: str) -> None:
    memory.entries["callsheet", "work"] = text
    with pytest.raises(CallsheetError, match="entry 'work' was not written by this program"):
        keychain().get("work")


@pytest.mark.parametrize(
    ("failure", "kind", "message"),
    [
        (NoKeyringError(), CallsheetError, "this machine has no key store that can be used"),
        (KeyringLocked(), NotAllowed, "the key store is locked"),
        (OSError("bus gone\nsecond line"), CallsheetError, "the key store failed: bus gone"),
        (RuntimeError(), CallsheetError, "the key store failed: RuntimeError"),
    ],
)
def test_a_failure_is_worded(memory: Memory, failure: Exception, kind: type[CallsheetError], message: str) -> None:
    store = keychain()
    memory.entries["callsheet", "work"] = "{}"
    memory.failure = failure
    for act in (lambda: store.get("work"), lambda: store.put("work", {}), lambda: store.delete("work")):
        with pytest.raises(CallsheetError) as caught:
            act()
        assert (type(caught.value), caught.value.message) == (kind, message)
        assert caught.value.hint


def test_a_store_that_keeps_nothing_is_refused() -> None:
    from keyring.backends.null import Keyring

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    try:
        with pytest.raises(CallsheetError, match="no key store that can be used") as caught:
            keychain().check()
    finally:
        keyring.set_keyring(before)
    assert "SUITE_KEYRING_PASSWORD" in (caught.value.hint or "")
