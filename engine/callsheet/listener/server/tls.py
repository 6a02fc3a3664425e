"""The certificate that https is served with."""

from __future__ import annotations

import ssl

from ..certificates import NamedFile, load_chain


def tls_context(certificate: str, key: str | None) -> ssl.SSLContext:
    """`key` may be left away where the certificate's file holds it too. Raises `UsageError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    load_chain(context, NamedFile("--tls-cert", certificate), NamedFile("--tls-key", key) if key else None, "--tls-key")
    return context
