"""The certificate that https is served with, and plain words for files that cannot be used."""

from __future__ import annotations

import ssl
from typing import NoReturn

from ...errors import UsageError
from ..byte_order_mark import refuse_byte_order_mark

_OTHER_KEY = "KEY_VALUES_MISMATCH"


class _Encrypted(Exception):
    """A pass phrase is asked for."""


def tls_context(certificate: str, key: str | None) -> ssl.SSLContext:
    """`key` may be left away where the certificate's file holds it too. Raises `UsageError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    holds_certificate = b"-----BEGIN CERTIFICATE-----" in _read("--tls-cert", certificate)
    if not holds_certificate:
        raise UsageError(f"--tls-cert: {certificate} contains no certificate", hint="a PEM file with the whole chain")
    option, place = ("--tls-key", key) if key else ("--tls-cert", certificate)
    if b"PRIVATE KEY-----" not in _read(option, place):
        hint = "a PEM file" if key else "give its key's file with --tls-key"
        raise UsageError(f"{option}: {place} contains no private key", hint=hint)
    try:
        context.load_cert_chain(certificate, key, _no_password)
    except _Encrypted:
        raise UsageError(
            f"{option}: {place} is encrypted", hint="nobody is there to type its pass phrase: give a key without one"
        ) from None
    except ssl.SSLError as error:
        _explain(error, option, place)
    return context


def _no_password() -> NoReturn:
    raise _Encrypted


def _explain(error: ssl.SSLError, option: str, place: str) -> NoReturn:
    if error.reason == _OTHER_KEY:
        raise UsageError(f"{option}: {place} is not the key of the certificate") from None
    raise UsageError(f"{option}: {place} cannot be used: {error.reason or error}") from None


def _read(option: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"{option}: {path}: {error.strerror}") from None
    refuse_byte_order_mark(data, f"{option}: {path}")
    return data
