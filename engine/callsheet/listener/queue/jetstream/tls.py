"""TLS with the server: whom we believe, and the certificate that we show."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

from ....errors import UsageError
from ....files import read_private
from ...certificates import NamedFile, load_chain

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition, QueueTls


def tls_context(definition: QueueDefinition, scheme: str) -> ssl.SSLContext | None:
    """Nothing where neither the address nor the definition asks for TLS. Raises `UsageError` and `NotAllowed`."""
    asked: QueueTls = definition.get("tls", {})
    if not asked and scheme != "tls":
        return None
    authority = os.path.expanduser(asked["ca"]) if "ca" in asked else None
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:  # that of the library, too
        raise UsageError(f"tls.ca: {authority}: {error.strerror or error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if "cert" in asked:
        _show(
            context,
            NamedFile("tls.cert", asked["cert"]),
            NamedFile("tls.key", asked["key"]) if "key" in asked else None,
        )
    elif "key" in asked:
        raise UsageError("tls.key needs tls.cert")
    return context


def _show(context: ssl.SSLContext, certificate: NamedFile, key: NamedFile | None) -> None:
    certificate = certificate._replace(path=os.path.expanduser(certificate.path))
    key = key and key._replace(path=os.path.expanduser(key.path))
    secret = key or certificate
    read_private(secret.path, f"{secret.by}:")
    load_chain(context, certificate, key, "tls.key")
