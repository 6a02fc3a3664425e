"""The connection to a NATS server: its address, names, TLS and credentials, and what its failures mean."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ....durations import duration_seconds
from ....errors import CallsheetError, NetworkError, NotAllowed, UsageError
from ....files import read_private
from ....installation import how_to_add
from ....urls import refuse_login
from ...asyncio_helpers import ended_in_time
from ...certificates import NamedFile, load_chain
from ...verify.secret_options import refuse_byte_order_mark
from ..queue_port import QueueEnvironment, QueueFailed, TooLarge

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition, QueueTls

# The names that one queue has on the server.


class QueueNames(NamedTuple):
    """Events wait in `stream`; `dead_stream` keeps those given up, `state_bucket` what is known of repeated ones."""

    stream: str
    prefix: str

    @property
    def dead_stream(self) -> str:
        return f"{self.stream}-dead"

    @property
    def state_bucket(self) -> str:
        return f"{self.stream}-state"

    @property
    def consumer(self) -> str:
        return "work"

    def event_subject(self, id: str) -> str:
        """The subject of an event; `id` is a digest, or `*` for all."""
        return f"{self.prefix}.{self.stream}.event.{id}"

    def dead_subject(self, id: str, sequence: int | str) -> str:
        """The subject of a dead event, with the sequence it had while it was alive."""
        return f"{self.prefix}.{self.stream}.dead.{id}.{sequence}"


# Where a queue is: `nats://HOST[:PORT][,HOST[:PORT]...]/STREAM`, or `tls://` likewise.

_FORM = "SCHEME://HOST[:PORT]/STREAM"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?\Z")


class QueueAddress(NamedTuple):
    servers: tuple[str, ...]
    stream: str

    @property
    def scheme(self) -> str:
        return self.servers[0].partition("://")[0]

    def __str__(self) -> str:
        return f"{self.scheme}://{','.join(server.partition('://')[2] for server in self.servers)}/{self.stream}"


def parse_queue(url: str, schemes: Iterable[str], prefix: str) -> QueueAddress:
    """`prefix` is how our variables begin. Raises `UsageError` without repeating what might be a credential."""
    scheme, colon, rest = url.partition("://")
    hosts, slash, stream = rest.partition("/")
    refuse_login(url, "--queue", f"put USER:PASSWORD or a token into {prefix}_QUEUE_CREDENTIALS")
    if not colon or scheme not in schemes:
        raise UsageError(
            f"--queue: {url!r} is not an address of a queue", hint=f"like {_FORM.replace('SCHEME', min(schemes))}"
        )
    if not slash or not _NAME.match(stream):
        raise UsageError(
            f"--queue: {url!r} names no stream",
            hint=f"like {_FORM.replace('SCHEME', scheme)}; letters, digits, - and _",
        )
    for host in hosts.split(","):
        found = _HOST.match(host)
        if found is None or int(found[1] or 1) > 65535:
            raise UsageError(f"--queue: {host!r} is not a host")
    return QueueAddress(tuple(f"{scheme}://{host}" for host in hosts.split(",")), stream)


# TLS with the server: whom we believe, and the certificate that we show.


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
        _show_certificate(
            context,
            NamedFile("tls.cert", asked["cert"]),
            NamedFile("tls.key", asked["key"]) if "key" in asked else None,
        )
    elif "key" in asked:
        raise UsageError("tls.key needs tls.cert")
    return context


def _show_certificate(context: ssl.SSLContext, certificate: NamedFile, key: NamedFile | None) -> None:
    certificate = certificate._replace(path=os.path.expanduser(certificate.path))
    key = key and key._replace(path=os.path.expanduser(key.path))
    secret = key or certificate
    read_private(secret.path, f"{secret.by}:")
    load_chain(context, certificate, key, "tls.key")


# What a server is told to be let in: a .creds file, the seed of an nkey, a user and a password, or a token.

_JWT, _SEED = "-----BEGIN NATS USER JWT-----", "-----BEGIN USER NKEY SEED-----"
_NKEY = re.compile(r"S[A-Z][A-Z2-7]{56}\Z")


def credentials_of(definition: QueueDefinition, environment: QueueEnvironment) -> dict[str, Any]:
    """What the client library is to be connected with; nothing where no credentials are given.

    A variable comes before a file that a variable names, and that before the definition's. Raises `UsageError` and
    `NotAllowed` that say where the credentials are, and never what they are.
    """
    variable = f"{environment.prefix}_QUEUE_CREDENTIALS"
    if variable in environment.environ:
        return _read_credentials(environment.environ[variable], variable, None)
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
        return _read_credentials(data.decode(), f"{where}: {path}", path)
    except UnicodeDecodeError:
        raise UsageError(f"{where}: {path}: not valid UTF-8") from None


def _read_credentials(text: str, where: str, path: str | None) -> dict[str, Any]:
    """The kind is told by the content. A file that signs is read again for each connection."""
    words = text.strip()
    if not words:
        raise UsageError(
            f"{where}: contains no credentials", hint="a .creds file, an nkey seed, USER:PASSWORD or a token"
        )
    if _JWT in words:
        return _credentials_file(text, where, path)
    if _NKEY.match(words):
        if not words.startswith("SU"):
            raise UsageError(f"{where}: that is the seed of an account or operator, not of a user")
        return _signing_options({"nkeys_seed": path} if path else {"nkeys_seed_str": words})
    if len(words.splitlines()) > 1:
        raise UsageError(f"{where}: several lines, but not a .creds file")
    user, colon, password = words.partition(":")
    return {"user": user, "password": password} if colon else {"token": words}


def _credentials_file(text: str, where: str, path: str | None) -> dict[str, Any]:
    if _SEED not in text:
        raise UsageError(f"{where}: holds a token of a user, but not the seed that goes with it")
    if path:
        return _signing_options({"user_credentials": path})
    from nats.aio.client import RawCredentials

    return _signing_options({"user_credentials": RawCredentials(text)})


def _signing_options(found: Mapping[str, Any]) -> dict[str, Any]:
    if find_spec("nkeys") is None:
        raise UsageError("--queue: what signs in with an nkey is not installed", hint=how_to_add(extra="nats"))
    return dict(found)


# The library's connection, made to come back by itself whatever ended it.
#
# The methods here are not public in the library: tests with a real server hold them.

RECONNECT_DELAY = 0.25
# Seconds; three pings without an answer mean that the server is gone, also where nothing tells that the line is cut.
PING_EVERY = 5.0
# Seconds; without it whoever sends while a connection is lost may wait for ever.
FLUSH_TIMEOUT = 2.0


def make_client(tell: Callable[[str], None], tls: ssl.SSLContext | None) -> Any:
    """`tell` is told what the server says of its own accord. Where there is `tls`, nothing is said without."""
    try:
        import nats
    except ImportError:
        raise UsageError("--queue: the client for NATS is not installed", hint=how_to_add(extra="nats")) from None

    class Client(_PersistentClient, nats.NATS):  # type: ignore[misc]  # the library has no types
        failure = nats.errors.Error

    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it remarks on what the library does with TLS
    client = Client()
    client.tell, client.is_secure = tell, tls is not None
    return client


class _PersistentClient:
    """What the library's class is given to do otherwise."""

    failure: type[Exception]
    tell: Callable[[str], None]
    is_secure: bool
    _told: frozenset[str] = frozenset()

    def _connect_command(self: Any) -> bytes:
        """The library speaks TLS where the server asks for it, before anybody signs in."""
        if self.is_secure and not self._server_info.get("tls_required"):
            raise self.failure("the server offers no TLS")
        command: bytes = super()._connect_command()  # type: ignore[misc]
        return command

    async def _process_err(self: Any, err_msg: str) -> None:
        """The library gives up for good here, also where the server takes the next connection."""
        words = err_msg.strip("'")
        if "permissions violation" in words:  # the connection stays
            kind = words.rpartition(".")[0]  # the last part of a subject tells single events apart
            if kind not in self._told:
                self._told |= {kind}
                self.tell(words)
            return
        if "stale connection" not in words and "authorization" not in words:
            self.tell(words)
        error = self.failure(f"nats: {words}")
        await self._error_cb(error)
        await self._process_op_err(error)

    def _abort(self: Any) -> None:
        with contextlib.suppress(AttributeError):
            self._transport._io_writer.transport.abort()  # noqa: SLF001 - the library has nothing for it

    async def _process_op_err(self: Any, e: Exception) -> None:
        """The library waits until a connection has sent all it has, which it never does to a server that hangs."""
        self._abort()
        await super()._process_op_err(e)  # type: ignore[misc]

    async def _process_connect_init(self: Any) -> None:
        """The library leaves connections open on which nobody answered."""
        try:
            await super()._process_connect_init()  # type: ignore[misc]
        except BaseException:
            self._abort()
            raise

    async def _attempt_reconnect(self: Any) -> None:
        """The library stops trying where it cannot read the credentials, which somebody may be writing just now."""
        while True:
            try:
                await super()._attempt_reconnect()  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
                await self._error_cb(error)
                await asyncio.sleep(RECONNECT_DELAY)
            else:
                return


# The connection to the server, and what its failures mean.

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


async def connect_to_server(access: QueueAccess, note: Callable[[str], None]) -> Any:
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
        await disconnect_from_server(client)
        raise _explained_failure(access.address, error, failure) from None
    was_connected, failure = True, ""
    return client


def _explained_failure(address: QueueAddress, error: Exception, failure: str) -> CallsheetError:
    message = failure if _REFUSED in failure else str(error) or failure or _words_of_error(error)
    if type(error).__module__.partition(".")[0] == "nkeys":
        return NotAllowed(f"queue {address}: the nkey cannot be used: {message}")
    if _REFUSED in type(error).__name__ or _REFUSED in message:
        return NotAllowed(f"queue {address}: not allowed: {message}")
    return NetworkError(f"queue {address}: {message}", hint="is the server running?")


def _words_of_error(error: Exception) -> str:
    return "no answer" if isinstance(error, TimeoutError) else type(error).__name__


async def checked_reply(reply: Awaitable[T], *expected: type[Exception]) -> T:
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


async def disconnect_from_server(connection: Any) -> None:
    """Also where it is lost already, or the library waits for something that does not come."""
    with contextlib.suppress(Exception):
        await ended_in_time(connection.close(), _CLOSE_TIMEOUT)
