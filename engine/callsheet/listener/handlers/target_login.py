"""Who signs in to a handler's target: never out of its address, which others can read."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UsageError

if TYPE_CHECKING:
    from ...language.shape.listener import LoginDefinition
    from . import HandlerContext

LOGIN_HINT = 'put USER:PASSWORD into a variable, and into the handler of a route: login = { env = "NAME" }'


class TargetLogin(NamedTuple):
    user: str | None
    password: str

    @property
    def authorization(self) -> bytes:
        """The header of HTTP: one word is a token."""
        if self.user is None:
            return b"Bearer " + self.password.encode()
        return b"Basic " + base64.b64encode(f"{self.user}:{self.password}".encode())


def read_login(login: LoginDefinition, context: HandlerContext) -> TargetLogin:
    """Of one word, it is the password. Raises `UsageError` where there is none."""
    if len(login.keys() & {"env", "secret"}) != 1:
        raise UsageError(
            "login: expected env or secret, one of them",
            hint='login = { env = "NAME" }, or { secret = "NAME" } of the key store',
        )
    variable = login.get("env", "")
    if variable and variable not in context.environ:
        raise UsageError(f"login: {variable} is not set", hint="put USER:PASSWORD into it")
    text = context.environ[variable] if variable else context.stored(login.get("secret", ""))
    if not text.strip():
        raise UsageError(f"login: {variable or login.get('secret')} is empty", hint="put USER:PASSWORD into it")
    user, colon, password = text.strip("\r\n").partition(":")
    return TargetLogin(user or None, password) if colon else TargetLogin(None, user)


def refuse_cleartext(login: LoginDefinition, host: str, encrypted: str) -> None:
    """Raises `UsageError`, unless it may go to this host though others on the way could read the password."""
    if not login.get("cleartext"):
        raise UsageError(
            f"login: the password would go to {host} without encryption",
            hint=f"begin the url with {encrypted}, or add `cleartext = true` to login if you trust the network",
        )
