"""When TLS is spoken with the server, whom it must be, and which certificate is shown."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import CallsheetError, UsageError
from callsheet.listener.queue.jetstream.nats_connection import tls_context
from support.tls import Authority


def context(scheme: str = "nats", **tls: str) -> ssl.SSLContext | None:
    definition: Any = {"tls": tls} if tls else {}
    return tls_context(definition, scheme)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_it_is_spoken_where_the_address_or_the_definition_asks_for_it(authority: Authority) -> None:
    assert context("nats") is None
    for found in (context("tls"), context("nats", ca=str(authority.bundle)), context("tls", ca=str(authority.bundle))):
        assert found is not None
        assert (found.verify_mode, found.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert found.minimum_version == ssl.TLSVersion.TLSv1_2


def test_only_that_authority_is_believed(authority: Authority) -> None:
    found = context(ca=str(authority.bundle))
    assert found is not None
    assert len(found.get_ca_certs()) == 1


def test_a_certificate_with_its_key_in_one_file_or_two(authority: Authority, tmp_path: Path) -> None:
    both = authority.certificate("worker")
    both.chmod(0o600)
    text = both.read_text(encoding="ascii")
    place = text.index("-----BEGIN PRIVATE KEY-----")
    (tmp_path / "cert").write_text(text[:place], encoding="ascii")
    (tmp_path / "key").write_text(text[place:], encoding="ascii")
    (tmp_path / "key").chmod(0o600)
    for found in (context(cert=str(both)), context(cert=str(tmp_path / "cert"), key=str(tmp_path / "key"))):
        assert found is not None


def test_what_cannot_be_used_is_named(authority: Authority, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("nothing", encoding="ascii")
    text.chmod(0o600)
    other = authority.certificate("other")
    other.chmod(0o644)
    for tls, problem in (
        ({"ca": str(tmp_path / "missing")}, "tls.ca: "),
        ({"ca": str(text)}, "tls.ca: "),
        ({"key": str(text)}, "tls.key needs tls.cert"),
        ({"cert": str(text)}, f"tls.cert: {text} contains no certificate"),
        ({"cert": str(other)}, f"tls.cert: {other}"),
        ({"cert": str(other), "key": str(tmp_path / "missing")}, "tls.key: "),
    ):
        with pytest.raises((UsageError, CallsheetError)) as caught:
            context(**tls)
        assert problem in caught.value.message, (tls, caught.value.message)
