"""Only key stores that ask nobody anything are read for what nobody waits for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace

import keyring
import pytest

from callsheet.errors import NotAllowed
from callsheet.sites.credentials import keychain


def store(module: str) -> object:
    return type("Keyring", (), {"__module__": f"keyring.backends.{module}"})()


WINDOWS, MAC, OPEN, OTHER = (store(name) for name in ("Windows", "macOS", "SecretService", "kwallet"))


@pytest.mark.parametrize(
    ("found", "mac", "collection", "allowed"),
    [
        (WINDOWS, False, False, True),
        (MAC, True, False, True),
        (MAC, False, True, False),
        (OPEN, False, True, True),
        (OPEN, True, False, False),
        (OTHER, True, True, False),
        (SimpleNamespace(backends=[WINDOWS, OPEN]), False, True, True),
        (SimpleNamespace(backends=[WINDOWS, OPEN]), True, False, False),
        (SimpleNamespace(backends=[WINDOWS, OTHER]), True, True, False),
        (SimpleNamespace(backends=[]), True, True, False),
    ],
)
def test_a_store_that_may_ask_is_not_read(
    found: object, mac: bool, collection: bool, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, Callable[[], bool]] = {"_without_windows": lambda: mac, "_is_open": lambda: collection}
    monkeypatch.setattr(keyring, "get_keyring", lambda: found)
    for name, answer in answers.items():
        monkeypatch.setattr(keychain, name, answer)
    if allowed:
        keychain.key_store_is_silent()
    else:
        with pytest.raises(NotAllowed, match="may ask for a password"):
            keychain.key_store_is_silent()


@pytest.mark.parametrize(("answer", "silenced"), [(0, True), (-25308, False), (1, False)])
def test_windows_are_switched_off_where_the_system_lets_them(
    answer: int, silenced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    def allow(asks: int) -> int:
        given.append(asks)
        return answer

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(SecKeychainSetUserInteractionAllowed=allow))
    assert keychain._without_windows() is silenced
    assert given == [0]
