"""The encrypted file: what it keeps apart, what it survives, what it refuses."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.errors import CallsheetError, NotAllowed
from callsheet.sites.credentials import encrypted as sealed
from callsheet.sites.credentials.encrypted import EncryptedFile, decrypt_table, encrypt_table
from support.canary import CANARY

SECRET = {"token": f"{CANARY}-token", "origin": "https://a.example.org:443"}


@pytest.fixture
def as_it_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cost of a password is part of what is tested: elsewhere it is a small one."""
    monkeypatch.setattr(sealed, "_COST", dict(sealed._MOST))


@pytest.fixture
def store(tmp_path: Path) -> EncryptedFile:
    return EncryptedFile(str(tmp_path), "password", "SUITE_KEYRING_PASSWORD")


def test_absence_is_no_error(store: EncryptedFile) -> None:
    assert store.get("work") is None
    assert store.delete("work") is False
    assert not os.path.exists(store.path)


def test_records_are_kept_apart(store: EncryptedFile) -> None:
    store.put("work", SECRET)
    store.put("work/wiki", {"token": "other"})
    assert store.get("work") == SECRET
    assert store.delete("work") is True
    assert (store.get("work"), store.get("work/wiki")) == (None, {"token": "other"})


def test_the_file_is_private_and_holds_nothing_readable(store: EncryptedFile) -> None:
    store.put("work", SECRET)
    content = Path(store.path).read_bytes()
    assert os.stat(store.path).st_mode & 0o777 == 0o600
    assert CANARY.encode() not in content
    assert b"work" not in content
    assert CANARY not in repr(store)


def test_every_writing_has_a_nonce_of_its_own(store: EncryptedFile) -> None:
    nonces = set()
    for _ in range(3):
        store.put("work", SECRET)
        nonces.add(json.loads(Path(store.path).read_bytes())["nonce"])
    assert len(nonces) == 3


def test_a_wrong_password_is_told_from_a_changed_file(store: EncryptedFile, tmp_path: Path) -> None:
    store.put("work", SECRET)
    other = EncryptedFile(str(tmp_path), "pasword", "SUITE_KEYRING_PASSWORD")
    with pytest.raises(NotAllowed, match="the password is wrong") as caught:
        other.get("work")
    assert caught.value.hint == "check SUITE_KEYRING_PASSWORD"
    before = Path(store.path).read_bytes()
    with pytest.raises(NotAllowed):
        other.put("work", {})
    assert Path(store.path).read_bytes() == before


def tampered(content: bytes, change: str) -> bytes:
    """Changed by someone who knows the format, the sum included."""
    table: dict[str, Any] = json.loads(content)
    table.pop("sum")
    if change == "memory":
        table["kdf"]["memory"] = 1 << 30
    elif change == "name":
        table["kdf"]["name"] = "none"
    else:
        raw = bytearray(base64.b64decode(table[change]))
        raw[0] ^= 1
        table[change] = base64.b64encode(raw).decode()
    table["sum"] = sealed._checksum_of(table)
    return json.dumps(table).encode()


@pytest.mark.parametrize("change", ["data", "nonce", "memory", "name"])
def test_tampering_is_found(store: EncryptedFile, change: str) -> None:
    store.put("work", SECRET)
    Path(store.path).write_bytes(tampered(Path(store.path).read_bytes(), change))
    with pytest.raises(CallsheetError, match="changed or damaged") as caught:
        store.get("work")
    assert not isinstance(caught.value, NotAllowed)
    assert "remove" in str(caught.value.hint)


def _cheap() -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealed, "_COST", {"memory": 1024, "iterations": 1, "lanes": 1})
        return encrypt_table({"work": SECRET}, "password", None)


SEALED = _cheap()


@pytest.mark.usefixtures("as_it_ships")
def test_the_parts_are_of_the_lengths_that_the_format_says() -> None:
    as_shipped = encrypt_table({"work": SECRET}, "password", None)
    table = json.loads(as_shipped)
    assert table["kdf"] == {
        "name": "argon2id", "memory": 65536, "iterations": 3, "lanes": 4, "salt": table["kdf"]["salt"],
    }  # fmt: skip
    lengths = {name: len(base64.b64decode(text)) for name, text in {**table, **table["kdf"]}.items() if name in LENGTHS}
    assert lengths == LENGTHS
    assert (table["format"], table["version"]) == ("callsheet-credentials", 1)
    assert json.loads(encrypt_table({}, "password", as_shipped))["kdf"] == table["kdf"], "a process derives once"
    assert json.loads(encrypt_table({}, "password", None))["kdf"] != table["kdf"]


LENGTHS = {"salt": 16, "check": 16, "nonce": 12}


@pytest.mark.parametrize("name", ["check", "nonce", "data", "salt"])
def test_what_stands_beside_base64_is_no_base64(name: str) -> None:
    """Lenient decoding would read another text as the same bytes."""
    table = json.loads(SEALED)
    table.pop("sum")
    holder = table["kdf"] if name == "salt" else table
    holder[name] = f"!{holder[name]}"
    table["sum"] = sealed._checksum_of(table)
    with pytest.raises(CallsheetError, match="changed or damaged") as caught:
        decrypt_table(json.dumps(table).encode(), "password")
    assert not isinstance(caught.value, NotAllowed)


@pytest.mark.parametrize(("name", "length"), [("nonce", 11), ("nonce", 13), ("salt", 15)])
def test_parts_of_another_length_are_refused(name: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_derive_key", lambda *_args, **_named: pytest.fail("it was worked for"))
    table = json.loads(SEALED)
    table.pop("sum")
    (table["kdf"] if name == "salt" else table)[name] = base64.b64encode(bytes(length)).decode()
    table["sum"] = sealed._checksum_of(table)
    with pytest.raises(CallsheetError, match="changed or damaged"):
        decrypt_table(json.dumps(table).encode(), "password")


@given(place=st.integers(0, len(SEALED) - 1), bit=st.integers(0, 7))
@settings(max_examples=60)
def test_no_damaged_bit_goes_unnoticed(place: int, bit: int) -> None:
    damaged = bytearray(SEALED)
    damaged[place] ^= 1 << bit
    try:
        found = decrypt_table(bytes(damaged), "password")
    except CallsheetError as error:
        assert not isinstance(error, NotAllowed), "damage is no wrong password"  # noqa: PT017 - it may also succeed
    else:
        assert found == {"work": SECRET}, "only white space was hit"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b'{"format": 1}', b"\xff\xfe"])
def test_another_file_is_refused(store: EncryptedFile, content: bytes) -> None:
    Path(store.path).write_bytes(content)
    os.chmod(store.path, 0o600)
    with pytest.raises(CallsheetError, match="changed or damaged"):
        store.get("work")


def test_a_newer_version_is_named(store: EncryptedFile) -> None:
    store.put("work", SECRET)
    table = json.loads(Path(store.path).read_bytes())
    table["version"] = 2
    Path(store.path).write_bytes(json.dumps(table).encode())
    with pytest.raises(CallsheetError, match="it was written by a newer version of this program"):
        store.get("work")


def test_a_file_that_others_can_read_is_refused_with_the_command_that_mends_it(store: EncryptedFile) -> None:
    store.put("work", SECRET)
    os.chmod(store.path, 0o640)
    with pytest.raises(NotAllowed, match="can be read by others") as caught:
        store.get("work")
    assert caught.value.hint == f"chmod 600 {store.path}"


@pytest.mark.usefixtures("as_it_ships")
def test_a_file_sealed_with_other_costs_still_opens() -> None:
    assert decrypt_table(SEALED, "password") == {"work": SECRET}
    assert json.loads(encrypt_table({}, "password", SEALED))["kdf"]["memory"] == 65536


ODD: list[Any] = [None, True, False, 0, -1, 2, 3.5, "", "x", "65536", "argon2id", [], [1], {}, 1 << 70, "AAAA", "ä"]


@pytest.mark.parametrize(
    "keys",
    [("format",), ("version",), ("kdf",), ("check",), ("nonce",), ("data",), ("sum",)]
    + [("kdf", name) for name in ("name", "memory", "iterations", "lanes", "salt")],
    ids=".".join,
)
def test_odd_types_are_the_clear_error(keys: tuple[str, ...]) -> None:
    """Also where whoever wrote them also computed the sum, and without more work than reading one of our own."""
    asked: list[tuple[int, int, int]] = []

    def derived(_password: str, memory: int, iterations: int, lanes: int, salt: str) -> tuple[bytes, bytes]:
        asked.append((memory, iterations, lanes))
        return bytes(32), bytes(16)

    for odd in ODD:
        table = json.loads(SEALED)
        table.pop("sum")
        holder = table if len(keys) == 1 else table["kdf"]
        holder[keys[-1]] = odd
        if keys != ("sum",):
            table["sum"] = sealed._checksum_of(table)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sealed, "_derive_key", derived)
            with pytest.raises(CallsheetError):
                decrypt_table(json.dumps(table).encode(), "password")
    assert all(memory <= 65536 and passes <= 3 and lanes <= 4 for memory, passes, lanes in asked)


def test_a_file_that_asks_for_more_work_than_ours_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_derive_key", lambda *_args, **_named: pytest.fail("it was worked for"))
    for name, value in (("memory", 65537), ("iterations", 4), ("lanes", 5), ("memory", 1 << 20), ("iterations", 64)):
        table = json.loads(SEALED)
        table.pop("sum")
        table["kdf"][name] = value
        table["sum"] = sealed._checksum_of(table)
        with pytest.raises(CallsheetError, match="changed or damaged"):
            decrypt_table(json.dumps(table).encode(), "password")


@pytest.mark.parametrize("table", [[1], "text", None, {"work": 5}, {"work": None}, {"work": ["token"]}])
def test_odd_types_inside_are_the_clear_error_too(table: object) -> None:
    """What was sealed with the right password is looked at as well: another program may have written it."""
    with pytest.raises(CallsheetError, match="changed or damaged"):
        decrypt_table(encrypt_table(table, "password", None), "password")  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("format", "other"), ("version", 0), ("version", -1)])
def test_a_file_of_another_format_is_not_read_by_ours(name: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_derive_key", lambda *_args, **_named: pytest.fail("it was worked for"))
    table = {**json.loads(SEALED), name: value}
    table.pop("sum")
    table["sum"] = sealed._checksum_of(table)
    with pytest.raises(CallsheetError, match="changed or damaged"):
        decrypt_table(json.dumps(table).encode(), "password")
