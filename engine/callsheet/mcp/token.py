"""The token that a client of `mcp stream` shows: made once, and kept where credentials are kept."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..files import read_private
from ..sites.credentials.secrets import chosen_name, open_store
from ..sites.profiles.choose import Variables
from ..urls import foreign_status

if TYPE_CHECKING:
    from ..commands.context import Context

_ACCOUNT = "mcp:stream"  # no site is called so: there is no colon in the names of sites
_LEAST = 16  # characters
_SCHEME = b"bearer "

App = Callable[[Any, Any, Any], Awaitable[None]]


def kept_token(context: Context, *, new: bool = False) -> str:
    """The kept token, made where there is none yet. Raises `CallsheetError` where the store cannot be used."""
    variables = Variables(context.definition["prefix"], context.environ)
    store = open_store(chosen_name(variables), variables, context.environ, context.program)
    record = None if new else store.get(_ACCOUNT)
    if record is None:
        record = {"token": secrets.token_urlsafe(32)}
        store.put(_ACCOUNT, record)
    return str(record["token"])


def token_of_file(path: str) -> str:
    token = read_private(path, "the token file").decode("utf-8", "replace").strip()
    if len(token) < _LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"{path}: expected a token of at least {_LEAST} characters without blanks")
    return token


class Guarded:
    """Lets through only requests with the token; the others learn nothing, not even whether a path exists."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif not self._is_known(scope["headers"]):
            await _refuse(send, 401, [(b"www-authenticate", b"Bearer")])
        elif (status := foreign_status(scope["headers"])) is not None:
            await _refuse(send, status)
        else:
            await self._app(scope, receive, send)

    def _is_known(self, headers: list[tuple[bytes, bytes]]) -> bool:
        shown = [value for name, value in headers if name == b"authorization"]
        if len(shown) != 1 or shown[0][: len(_SCHEME)].lower() != _SCHEME:
            return False
        return hmac.compare_digest(shown[0][len(_SCHEME) :].strip(), self._token)


async def _refuse(send: Any, status: int, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
