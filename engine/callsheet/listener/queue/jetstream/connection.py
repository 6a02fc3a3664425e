"""The connection to the server, and what its failures mean."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ....durations import seconds
from ....errors import NetworkError, NotAllowed, UsageError
from ..port import QueueFailed, TooLarge
from .address import QueueAddress

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition

T = TypeVar("T")
RECONNECT_DELAY = 0.25


async def connect(address: QueueAddress, definition: QueueDefinition, note: Callable[[str], None]) -> Any:
    """A connection that comes back by itself. Raises `CallsheetError` where the first attempt fails."""
    try:
        import nats
    except ImportError:
        raise UsageError("--queue: the client for NATS is not installed", hint="install callsheet[nats]") from None
    client, failure = nats.NATS(), ""

    async def on_error(error: Exception) -> None:
        nonlocal failure
        failure = str(error) or type(error).__name__

    async def on_disconnected() -> None:
        if not client.is_closed:
            note(f"queue: the connection to {address} was lost")

    async def on_reconnected() -> None:
        note(f"queue: connected to {address} again")

    timeout = seconds(definition["connect_time"])
    try:
        # The library would go on for ever with the first attempt too.
        async with asyncio.timeout(timeout):
            await client.connect(
                list(address.servers),
                name="callsheet",
                error_cb=on_error,
                disconnected_cb=on_disconnected,
                reconnected_cb=on_reconnected,
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=RECONNECT_DELAY,
                connect_timeout=timeout,
                **_credentials(address.credentials),
            )
    except Exception as error:  # noqa: BLE001 - the library raises its own, the system's and asyncio's
        message = str(error) or failure or type(error).__name__
        await disconnect(client)
        if "uthorization" in type(error).__name__ or "uthorization" in message:
            raise NotAllowed(f"queue {address}: not allowed: {message}") from None
        raise NetworkError(f"queue {address}: {message}", hint="is the server running there?") from None
    return client


def _credentials(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    user, colon, password = text.strip().partition(":")
    return {"user": user, "password": password} if colon else {"token": user}


async def checked(reply: Awaitable[T], *expected: type[Exception]) -> T:
    """What the server answers. Raises `QueueFailed` where it did not, or refused; what is expected is passed on."""
    from nats.errors import Error, MaxPayloadError
    from nats.js.errors import APIError

    try:
        return await reply
    except expected:
        raise
    except MaxPayloadError:
        raise TooLarge("the event is larger than the server takes") from None
    except APIError as error:
        raise QueueFailed(f"the server refused: {error.description or error.code}") from None
    except (Error, OSError, TimeoutError) as error:
        raise QueueFailed(str(error) or type(error).__name__) from None


async def disconnect(connection: Any) -> None:
    """Also where it is lost already."""
    with contextlib.suppress(Exception):
        await connection.close()
