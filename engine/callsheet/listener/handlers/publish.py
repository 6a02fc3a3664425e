"""`publish`: hand an event to a broker, which confirms that it has it."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult, urlsplit

from ... import registry
from ...errors import UsageError, did_you_mean
from ...language.template import fill_text, to_text
from ...urls import is_host, is_loopback, refuse_login
from . import CannotSend, HandlerContext, HandlerFailed
from .base_handler import Base
from .event_content import JSON, check_written_out, fill_headers
from .target_login import LOGIN_HINT, read_login, refuse_cleartext

if TYPE_CHECKING:
    from ...language.shape.listener import BrokerDefinition, PublishesEvent
    from ..verify.event import Event
    from .brokers import Broker, Message


_PYTHON_OBJECT = re.compile(r"<[\w.]+ object at 0x[\da-fA-F]+>")


class Publish(Base):
    """One connection, made for the first event and again after a failure."""

    result_members = ("id", "partition", "offset")
    shape = ".language.shape.listener:PublishesEvent"

    def __init__(self, table: PublishesEvent, context: HandlerContext) -> None:
        from .brokers import BrokerTarget

        super().__init__(table, context)
        url, encrypted, self.definition = self._broker(table["url"])
        if "login" in table and "login" in self.definition:
            raise UsageError("login: the client finds credentials itself", hint=self.definition["login"])
        hosts = _hosts(url)
        kind, name = self._destination()
        user, password = read_login(table["login"], context) if "login" in table else (None, None)
        tls = self._tls_context if encrypted else None
        self.target = BrokerTarget(url, hosts, kind, name, user, password, tls, self.timeout, self.definition)
        self.shown = f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}, {kind} {name}"
        self._make = cast("type[Broker]", registry.resolve_entry(registry.BROKERS[self.definition["driver"]]))
        broker = self._make(self.target)  # what is wrong with it is said now
        self._check_login(broker)
        if "key" in table and not broker.takes_key:
            raise UsageError(f"key: the broker has no keys for what goes to a {kind}", hint="leave out key")
        self._connected: asyncio.Task[Broker] | None = None

    def _broker(self, text: str) -> tuple[SplitResult, bool, BrokerDefinition]:
        """The address, whether its connection is encrypted, and the broker that has such addresses."""
        refuse_login(text, "url", LOGIN_HINT)
        try:
            url = urlsplit(text)
        except ValueError as error:
            raise UsageError(f"url: {error}") from None
        if not url.netloc:
            raise UsageError(f"url: {text!r}: there is no host in it")
        known: dict[str, tuple[bool, BrokerDefinition]] = {}
        for definition in self.context.brokers.values():
            known |= dict.fromkeys(definition["schemes"], (False, definition))
            known |= dict.fromkeys(definition.get("tls_schemes", ()), (True, definition))
        if url.scheme not in known:
            hint = f"an address begins with {', '.join(f'{scheme}://' for scheme in known)}"
            raise UsageError(
                f"url: {text!r}: no broker has such addresses{did_you_mean(url.scheme, known)}",
                hint=hint,
            )
        return url, *known[url.scheme]

    def _destination(self) -> tuple[str, str]:
        wanted = self.definition["destination"]
        given = [key for key in ("queue", "exchange", "stream", "topic") if key in self.table]
        if len(given) != 1 or given[0] not in wanted:
            said = f", not {' and '.join(given)}" if given else ""
            raise UsageError(f"expected {' or '.join(wanted)}{said}", hint=f'{wanted[0]} = "NAME"')
        check_written_out("publish", given[0], self.table[given[0]])
        return given[0], self.table[given[0]]

    def _check_login(self, broker: Broker) -> None:
        """Raises `UsageError` where whoever is on the way could read the password."""
        target = self.target
        away = [host for host, _ in target.hosts if not is_loopback(host)]
        if target.password and away and not target.tls and broker.shows_password:
            encrypted = " or ".join(f"{scheme}://" for scheme in self.definition.get("tls_schemes", ()))
            refuse_cleartext(self.table["login"], away[0], encrypted)

    def _tls_context(self) -> Any:
        from ...client.http.connections import ssl_context

        return ssl_context(None, self.context.environ)

    async def run(self, event: Event, job: str) -> Any:
        del job
        message = self._message(event)
        connected = self._connection()
        try:
            async with asyncio.timeout(self.timeout):
                # It goes on being made for others if this run ends.
                broker = await asyncio.shield(connected)
                answer = await broker.send(message)
        except HandlerFailed as error:
            raise type(error)(f"{self.shown}: {error}") from None
        except TimeoutError:
            await self._disconnect(connected)
            raise HandlerFailed(f"{self.shown}: no answer after {self.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001 - each client raises its own, the system's and those of TLS
            await self._disconnect(connected)
            raise HandlerFailed(f"{self.shown}: {self._error_text(error)}") from None
        return self.check_result(event, answer)

    def _message(self, event: Event) -> Message:
        """Raises `CannotSend` for an event that the broker does not take."""
        from .brokers import Message

        if self.envelope is None:
            data, headers = event.record_text.encode(), {b"content-type": JSON}
        else:
            data, headers = self.envelope.make_content(event)
        headers |= {**dict(event.trace_headers), **fill_headers(self.table.get("headers", {}), event.scope)}
        most = self.definition.get("max_bytes")
        if most is not None and len(data) > most:
            raise CannotSend(f"{self.shown}: {len(data)} bytes, more than {most}")
        key = to_text(fill_text(self.table["key"], event.scope)) if "key" in self.table else None
        named = {self._header_name(name.decode()): text.decode("latin-1") for name, text in headers.items()}
        return Message(data, named, key, event.key)

    def _header_name(self, name: str) -> str:
        for prefix, other in self.definition.get("header_prefixes", {}).items():
            if name.startswith(prefix):
                return other + name.removeprefix(prefix)
        return name

    def _connection(self) -> asyncio.Task[Broker]:
        """One for all runs."""
        if self._connected is None:
            self._connected = asyncio.create_task(self._connect())
        return self._connected

    async def _connect(self) -> Broker:
        from .brokers import close_broker

        broker = self._make(self.target)
        try:
            await broker.connect()
        except BaseException:
            await close_broker(broker)
            raise
        return broker

    async def _disconnect(self, connected: asyncio.Task[Broker]) -> None:
        """Whatever else waits there fails too, and is repeated. The next run makes a new one."""
        from .brokers import close_broker

        if self._connected is not connected:
            return
        self._connected = None
        connected.cancel()
        await asyncio.wait([connected])
        if not connected.cancelled() and connected.exception() is None:
            await close_broker(connected.result())

    def _error_text(self, error: Exception) -> str:
        """What an error says, in one line and without the password, whatever a client writes."""
        from ...client.http.retry import system_reason

        text = " ".join((system_reason(error) or str(error) or type(error).__name__).split())
        text = _PYTHON_OBJECT.sub(
            "the connection", text
        )  # aio-pika: "<aio_pika.channel.Channel object at 0x...> closed"
        return text.replace(self.target.password, "***") if self.target.password else text

    async def close(self) -> None:
        if self._connected is not None:
            await self._disconnect(self._connected)


def _hosts(url: SplitResult) -> list[tuple[str, int | None]]:
    """`HOST:PORT`, or several with commas between."""
    hosts = []
    for text in url.netloc.split(","):
        try:
            split = urlsplit(f"//{text}")
            host, port = split.hostname or "", split.port
        except ValueError as error:
            raise UsageError(f"url: {text!r}: {error}") from None
        if not is_host(host):
            raise UsageError(f"url: {text!r} cannot be the name of a host")
        hosts.append((host, port))
    return hosts
