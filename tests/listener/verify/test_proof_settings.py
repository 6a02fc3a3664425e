"""Which key set proves a source's tokens, and what is refused because it would verify nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.listener.verify.source import ProofSettings

VENDOR = "https://keys.example/jwks"
TOKENS: Any = {"path": "/", "type": "payload.t", "jwt": {"algorithms": ["RS256"], "vendor": VENDOR, "switch": "live"}}
PLAIN: Any = {"path": "/", "type": "payload.t"}


def settings(folder: Path, definition: Any) -> ProofSettings:
    catalog: Any = SimpleNamespace(sources=SimpleNamespace(get=lambda _name: definition), program="lms")
    return ProofSettings(catalog, {"CALLSHEET_CACHE": str(folder)}, "LMS", lambda _: None, is_shared=False)


@pytest.mark.parametrize(
    ("chosen", "switches", "is_used"),
    [
        (None, frozenset(), False),
        (None, frozenset({"other"}), False),
        (None, frozenset({"live"}), True),
        ("https://own.example/keys", frozenset(), True),
        ("https://own.example/keys", frozenset({"live"}), True),
    ],
)
def test_a_key_set_is_used_where_one_is_chosen_or_switched_on(
    chosen: str | None, switches: frozenset[str], is_used: bool, tmp_path: Path
) -> None:
    keys, close = settings(tmp_path, TOKENS).key_set("s", chosen, switches)
    assert ((keys is not None), (close is not None)) == (is_used, is_used)
    if close is not None:
        asyncio.run(close())


@pytest.mark.parametrize("url", ["", "nowhere", "http://keys.example/jwks"])
def test_an_address_that_is_none_is_refused_and_never_taken_for_no_key_set(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--jwks-url: .*(is not a valid address|needs https)"):
        settings(tmp_path, TOKENS).key_set("s", url, frozenset())


def test_a_key_set_or_secret_without_a_use_is_refused(tmp_path: Path) -> None:
    assert settings(tmp_path, PLAIN).key_set("s", None, frozenset({"live"})) == (None, None)
    with pytest.raises(UsageError, match="source 's' does not use signed tokens"):
        settings(tmp_path, PLAIN).key_set("s", "https://own.example/keys", frozenset())
    with pytest.raises(UsageError, match="source 's' does not use a shared secret"):
        settings(tmp_path, PLAIN).make_source("s", (["secret"], [], []), None, "")
    assert not settings(tmp_path, PLAIN).make_source("s", ([], [], []), None, "").is_verified


URL_SIGNED: Any = {
    "path": "/p", "type": "payload.t",
    "hmac": {"header": "X-S", "algorithm": "sha256", "encoding": "hex", "signed": "{url}{body}"},
}  # fmt: skip


def test_a_signature_that_covers_the_address_needs_to_know_it(tmp_path: Path) -> None:
    proofs, given = settings(tmp_path, URL_SIGNED), (["secret"], [], [])
    with pytest.raises(UsageError, match="its signatures cover the address that is called") as caught:
        proofs.make_source("s", given, None, "")
    assert caught.value.hint is not None
    assert "--public-url" in caught.value.hint
    assert proofs.make_source("s", given, None, "https://own.example").is_verified
    assert proofs.make_source("s", given, None, "", signs_nothing=True).is_verified
    assert not proofs.make_source("s", ([], [], []), None, "").is_verified


def test_a_secret_that_cannot_be_one_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="source 's': a secret has leading") as caught:
        settings(tmp_path, URL_SIGNED).make_source("s", ([" hush"], [], []), None, "https://own.example")
    assert "hush" not in str(caught.value)
