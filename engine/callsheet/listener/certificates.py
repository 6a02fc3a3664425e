"""A certificate with its private key, out of PEM files, and plain words for files that cannot be used."""

from __future__ import annotations

import ssl
from typing import NamedTuple, NoReturn

from ..errors import UsageError
from ..files import open_regular
from .verify.secret_options import refuse_byte_order_mark

_OTHER_KEY = "KEY_VALUES_MISMATCH"


class NamedFile(NamedTuple):
    """A file and what named it: an option, or a key of a definition."""

    by: str
    path: str


class _Encrypted(Exception):
    """A pass phrase is asked for."""


def load_chain(context: ssl.SSLContext, certificate: NamedFile, key: NamedFile | None, how: str) -> None:
    """`key` may be left away where the certificate's file holds it too; `how` says how one is given.

    Raises `UsageError`.
    """
    if b"-----BEGIN CERTIFICATE-----" not in _read_pem(certificate):
        raise UsageError(
            f"{certificate.by}: {certificate.path} contains no certificate", hint="a PEM file with the whole chain"
        )
    place = key or certificate
    if b"PRIVATE KEY-----" not in _read_pem(place):
        hint = "a PEM file" if key else f"give its key's file with {how}"
        raise UsageError(f"{place.by}: {place.path} contains no private key", hint=hint)
    try:
        context.load_cert_chain(certificate.path, key and key.path, _no_password)
    except _Encrypted:
        raise UsageError(
            f"{place.by}: {place.path} is encrypted",
            hint="use a key without a passphrase: the server cannot ask for it",
        ) from None
    except ssl.SSLError as error:
        _explain_tls_error(error, place)


def _no_password() -> NoReturn:
    raise _Encrypted


def _explain_tls_error(error: ssl.SSLError, place: NamedFile) -> NoReturn:
    if error.reason == _OTHER_KEY:
        raise UsageError(f"{place.by}: {place.path} is not the key of the certificate") from None
    raise UsageError(f"{place.by}: {place.path} cannot be used: {error.reason or error}") from None


def _read_pem(file: NamedFile) -> bytes:
    try:
        with open_regular(file.path) as opened:
            data = opened.read()
    except OSError as error:
        raise UsageError(f"{file.by}: {file.path}: {error.strerror}") from None
    refuse_byte_order_mark(data, f"{file.by}: {file.path}")
    return data


# The certificate that https is served with.


def tls_context(certificate: str, key: str | None) -> ssl.SSLContext:
    """`key` may be left away where the certificate's file holds it too. Raises `UsageError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    load_chain(context, NamedFile("--tls-cert", certificate), NamedFile("--tls-key", key) if key else None, "--tls-key")
    return context
