"""The connection to the server, and what its failures mean."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from ....durations import duration_seconds
from ....errors import CallsheetError, NetworkError, NotAllowed
from ...ending import bounded
from ..port import QueueFailed, TooLarge
from .address import QueueAddress
from .client import FLUSH_TIMEOUT, PING_EVERY, RECONNECT_DELAY, make_client

T = TypeVar("T")
_CLOSE_TIMEOUT = 2.0
_TOO_LARGE = 10054  # the server's number for a message above the stream's max_msg_size
_REFUSED = "uthorization"  # whichever way a message or a class writes it


class QueueAccess(NamedTuple):
    """Where a server is, what lets us in there, and how long the first connection may take."""

    address: QueueAddress
    credentials: Mapping[str, Any]
    tls: ssl.SSLContext | None
    connect_timeout: str


async def connect(access: QueueAccess, note: Callable[[str], None]) -> Any:
    """A connection that comes back by itself. Raises `CallsheetError` where the first attempt fails."""
    failure, was_connected, is_lost = "", False, False

    client = make_client(lambda words: note(f"queue: {access.address}: the server says: {words}"), access.tls)

    async def on_error(error: Exception) -> None:
        nonlocal failure
        before = failure
        if _REFUSED not in failure:  # the attempts after a refusal may end in other ways
            failure = str(error) or type(error).__name__
        if was_connected and _REFUSED in failure and _REFUSED not in before:
            note(f"queue: {access.address}: not allowed any more: {failure}")

    async def on_disconnected() -> None:
        nonlocal is_lost
        if not client.is_closed and not is_lost:
            is_lost = True
            note(f"queue: the connection to {access.address} was lost")

    async def on_reconnected() -> None:
        nonlocal failure, is_lost
        failure, is_lost = "", False
        note(f"queue: connected to {access.address} again")

    timeout = duration_seconds(access.connect_timeout)
    try:
        # The library would go on for ever with the first attempt too.
        async with asyncio.timeout(timeout):
            await client.connect(
                list(access.address.servers),
                name="callsheet",
                error_cb=on_error,
                disconnected_cb=on_disconnected,
                reconnected_cb=on_reconnected,
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=RECONNECT_DELAY,
                connect_timeout=timeout,
                ping_interval=PING_EVERY,
                flush_timeout=FLUSH_TIMEOUT,
                tls=access.tls,
                **access.credentials,
            )
    except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
        await disconnect(client)
        raise _explained(access.address, error, failure) from None
    was_connected, failure = True, ""
    return client


def _explained(address: QueueAddress, error: Exception, failure: str) -> CallsheetError:
    message = failure if _REFUSED in failure else str(error) or failure or _words(error)
    if type(error).__module__.partition(".")[0] == "nkeys":
        return NotAllowed(f"queue {address}: the nkey cannot be used: {message}")
    if _REFUSED in type(error).__name__ or _REFUSED in message:
        return NotAllowed(f"queue {address}: not allowed: {message}")
    return NetworkError(f"queue {address}: {message}", hint="is the server running?")


def _words(error: Exception) -> str:
    return "no answer" if isinstance(error, TimeoutError) else type(error).__name__


async def checked(reply: Awaitable[T], *expected: type[Exception]) -> T:
    """What the server answers. Raises `QueueFailed` where it did not, or refused; what is expected is passed on."""
    from nats.errors import Error, MaxPayloadError
    from nats.errors import TimeoutError as NatsTimeout
    from nats.js.errors import APIError, ServiceUnavailableError

    try:
        return await reply
    except expected:
        raise
    except MaxPayloadError:
        raise TooLarge("the event is larger than the server takes") from None
    except APIError as error:
        if error.err_code == _TOO_LARGE:
            raise TooLarge("the event is larger than the stream takes") from None
        if error.code is None and isinstance(error, ServiceUnavailableError):  # nobody answers for JetStream
            raise QueueFailed("JetStream is not enabled there, or does not answer yet") from None
        raise QueueFailed(f"the server refused: {error.description or error.code}") from None
    except (NatsTimeout, TimeoutError):
        raise QueueFailed("the server did not answer in time") from None
    except (Error, OSError) as error:
        raise QueueFailed(str(error) or type(error).__name__) from None


async def disconnect(connection: Any) -> None:
    """Also where it is lost already, or the library waits for something that does not come."""
    with contextlib.suppress(Exception):
        await bounded(connection.close(), _CLOSE_TIMEOUT)
