"""What a server is told to be let in: a .creds file, the seed of an nkey, a user and a password, or a token."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ....errors import UsageError
from ....files import read_private
from ...byte_order_mark import refuse_byte_order_mark
from ..port import QueueEnvironment

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition

_JWT, _SEED = "-----BEGIN NATS USER JWT-----", "-----BEGIN USER NKEY SEED-----"
_NKEY = re.compile(r"S[A-Z][A-Z2-7]{56}\Z")


def credentials_of(definition: QueueDefinition, environment: QueueEnvironment) -> dict[str, Any]:
    """What the client library is to be connected with; nothing where no credentials are given.

    A variable comes before a file that a variable names, and that before the definition's. Raises `UsageError` and
    `NotAllowed` that say where the credentials are, and never what they are.
    """
    variable = f"{environment.prefix}_QUEUE_CREDENTIALS"
    if variable in environment.environ:
        return _read(environment.environ[variable], variable, None)
    named = f"{variable}_FILE"
    path = environment.environ.get(named, definition.get("credentials"))
    if path is None:
        return {}
    where = named if named in environment.environ else "credentials"
    if not path:
        raise UsageError(f"{named} is set, but names no file", hint=f"put the file's name into it, or: unset {named}")
    path = os.path.expanduser(path)
    data = read_private(path, f"{where}:")
    refuse_byte_order_mark(data, f"{where}: {path}")
    try:
        return _read(data.decode(), f"{where}: {path}", path)
    except UnicodeDecodeError:
        raise UsageError(f"{where}: {path}: not valid UTF-8") from None


def _read(text: str, where: str, path: str | None) -> dict[str, Any]:
    """The kind is told by the content. A file that signs is read again for each connection."""
    words = text.strip()
    if not words:
        raise UsageError(
            f"{where}: contains no credentials", hint="a .creds file, an nkey seed, USER:PASSWORD or a token"
        )
    if _JWT in words:
        return _creds(text, where, path)
    if _NKEY.match(words):
        if not words.startswith("SU"):
            raise UsageError(f"{where}: that is the seed of an account or operator, not of a user")
        return _signing({"nkeys_seed": path} if path else {"nkeys_seed_str": words})
    if len(words.splitlines()) > 1:
        raise UsageError(f"{where}: several lines, but not a .creds file")
    user, colon, password = words.partition(":")
    return {"user": user, "password": password} if colon else {"token": words}


def _creds(text: str, where: str, path: str | None) -> dict[str, Any]:
    if _SEED not in text:
        raise UsageError(f"{where}: holds a token of a user, but not the seed that goes with it")
    if path:
        return _signing({"user_credentials": path})
    from nats.aio.client import RawCredentials

    return _signing({"user_credentials": RawCredentials(text)})


def _signing(found: Mapping[str, Any]) -> dict[str, Any]:
    if find_spec("nkeys") is None:
        raise UsageError("--queue: what signs in with an nkey is not installed", hint="install callsheet[nats]")
    return dict(found)
