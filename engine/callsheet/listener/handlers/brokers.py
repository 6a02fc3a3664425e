"""Brokers that events are handed to, each by the client that its own makers or users keep.

Each class is one connection. `send` returns when the broker has confirmed the message. It raises `HandlerFailed` for
one that the broker refused, which leaves the connection as it is; what the clients raise ends the connection.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, parse_qs, unquote

from ...errors import UsageError
from ...installation import how_to_add
from ..asyncio_helpers import ended_in_time
from . import CannotSend, HandlerFailed

if TYPE_CHECKING:
    from ...language.shape.listener import BrokerDefinition

_CLOSE_TIMEOUT = 2.0


class Message(NamedTuple):
    """What is handed over. `id` is the event's key, which is the same for each repetition."""

    data: bytes
    headers: Mapping[str, str]
    key: str | None
    id: str


class BrokerTarget(NamedTuple):
    """Where to: `kind` is a key of the handler, such as queue, and `name` its value."""

    url: SplitResult
    hosts: list[tuple[str, int | None]]
    kind: str
    name: str
    user: str | None
    password: str | None
    tls: Callable[[], ssl.SSLContext] | None
    timeout: float
    definition: BrokerDefinition


class ClientMissing(UsageError):
    """What is wrong is this machine, and not the definition."""


class Broker:
    """`modules` are those of the client: none of them logs anything unless a person has set up logging."""

    modules: tuple[str, ...]
    shows_password = True  # to whoever reads along, where the connection is not encrypted
    takes_key = True

    def __init__(self, target: BrokerTarget) -> None:
        """Raises `UsageError` where the client is not installed, or cannot be used so."""
        self.target = target
        for name in self.modules:
            logging.getLogger(name.partition(".")[0]).addHandler(logging.NullHandler())
            try:
                import_module(name)
            except ImportError:
                raise ClientMissing(f"the client {name} is not installed", hint=how_to_add(extra="brokers")) from None

    async def connect(self) -> None: ...

    async def send(self, message: Message) -> Any:
        """What the broker says of the message, as values of JSON."""
        raise NotImplementedError

    async def close(self) -> None: ...

    def _only_host(self, port: int) -> tuple[str, int]:
        if len(self.target.hosts) > 1:
            raise UsageError("url: one host is expected")
        host, given = self.target.hosts[0]
        return host, given or port


class Amqp(Broker):
    """A message is returned where no queue takes it, and confirmed once it is on the disk of a durable queue."""

    modules = ("aio_pika", "aiormq")

    def __init__(self, target: BrokerTarget) -> None:
        super().__init__(target)
        self._host, self._port = self._only_host(5671 if target.tls else 5672)
        self._connection: Any = None
        if target.kind == "queue":
            self._exchange, self._key = "", target.name
            self.takes_key = False
        else:
            self._exchange, self._key = target.name, ""

    async def connect(self) -> None:
        import aio_pika
        from aiormq.exceptions import InvalidFrameError

        target = self.target
        given = {"login": target.user or "guest", "password": target.password or "guest"}
        host = unquote(target.url.path.removeprefix("/")) or "/"
        context = target.tls() if target.tls else None
        try:
            self._connection = await aio_pika.connect(
                host=self._host, port=self._port, virtualhost=host, ssl=bool(context), ssl_context=context, **given
            )
        except InvalidFrameError:  # its words are those of Python
            raise HandlerFailed(
                f"not let in: is there a virtual host {host!r}, and may {given['login']} use it?"
            ) from None
        self._channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
        if self._exchange:
            self._to = await self._channel.get_exchange(self._exchange)
        else:
            self._to = self._channel.default_exchange

    async def send(self, message: Message) -> Any:
        import aio_pika
        from aio_pika.exceptions import DeliveryError

        made = aio_pika.Message(
            message.data,
            headers={name: text for name, text in message.headers.items() if name != "content-type"},
            content_type=message.headers["content-type"],
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            message_id=message.id,
        )
        key = message.key if message.key is not None else self._key
        try:
            await self._to.publish(made, key if self._exchange else self._key, mandatory=True)
        except DeliveryError as error:
            if "Nack" in error.frame.name:
                raise HandlerFailed("the broker could not keep it") from None
            if not self._exchange:
                raise HandlerFailed("there is no such queue") from None
            raise CannotSend(f"no queue is bound there for the key {key!r}") from None
        return {"id": message.id}

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


class RedisStream(Broker):
    """An entry has the message as `data`, and a field for each header."""

    modules = ("redis",)
    takes_key = False

    def __init__(self, target: BrokerTarget) -> None:
        super().__init__(target)
        host, port = self._only_host(6379)
        path = target.url.path.strip("/")
        if path and not path.isdecimal():
            raise UsageError(f"url: {path!r} is not the number of a database")
        self._place = {"host": host, "port": port, "db": int(path or 0)}
        self._client: Any = None

    async def connect(self) -> None:
        from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        target, once = self.target, Retry(NoBackoff(), 0)
        context = target.tls() if target.tls else None

        class Encrypted(SSLConnection):  # type: ignore[misc]
            def _connection_arguments(self) -> Mapping[str, Any]:
                return {**super()._connection_arguments(), "ssl": context}

        pool = ConnectionPool(
            Encrypted if context else Connection,
            **self._place,
            username=target.user,
            password=target.password,
            socket_connect_timeout=target.timeout,
            socket_timeout=target.timeout,
            retry=once,
        )
        self._client = Redis.from_pool(pool)
        await self._client.ping()

    async def send(self, message: Message) -> Any:
        entry = await self._client.xadd(self.target.name, {"data": message.data, **message.headers})
        return {"id": entry.decode()}

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


class Kafka(Broker):
    """Confirmed by all replicas that are in sync; the client's own repetitions make no second record."""

    modules = ("aiokafka",)
    _MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

    def __init__(self, target: BrokerTarget) -> None:
        super().__init__(target)
        self._producer: Any = None
        query = parse_qs(target.url.query)
        self._mechanism = (query.get("mechanism") or ["PLAIN"])[0].upper()
        self.shows_password = self._mechanism == "PLAIN"
        if self._mechanism not in self._MECHANISMS:
            raise UsageError(f"url: mechanism: expected one of {', '.join(self._MECHANISMS)}")

    async def connect(self) -> None:
        from aiokafka import AIOKafkaProducer

        target = self.target
        given: dict[str, Any] = {}
        if target.password is not None:
            given = {
                "sasl_mechanism": self._mechanism,
                "sasl_plain_username": target.user,
                "sasl_plain_password": target.password,
            }
        if "max_bytes" in target.definition:
            given["max_request_size"] = target.definition["max_bytes"]
        self._producer = AIOKafkaProducer(
            bootstrap_servers=[
                f"[{host}]:{port or 9092}" if ":" in host else f"{host}:{port or 9092}" for host, port in target.hosts
            ],
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=int(target.timeout * 800),  # less, so that its words come before "no answer"
            security_protocol=("SASL_" if given.get("sasl_mechanism") else "") + ("SSL" if target.tls else "PLAINTEXT"),
            ssl_context=target.tls() if target.tls else None,
            **given,
        )
        await self._producer.start()

    async def send(self, message: Message) -> Any:
        headers = [(name, text.encode()) for name, text in message.headers.items()]
        key = None if message.key is None else message.key.encode("utf-8", "replace")
        answer = await self._producer.send_and_wait(self.target.name, message.data, key, headers=headers)
        return {"partition": answer.partition, "offset": answer.offset}

    async def close(self) -> None:
        if self._producer is not None:
            await self._producer.stop()


class Sqs(Broker):
    """The client waits in threads, which end by its own time limits."""

    modules = ("boto3",)

    async def connect(self) -> None:
        await asyncio.to_thread(self._connect)

    def _connect(self) -> None:
        import boto3
        from botocore.config import Config

        target = self.target
        config = Config(connect_timeout=target.timeout, read_timeout=target.timeout, retries={"total_max_attempts": 1})
        self._client = boto3.client("sqs", region_name=target.hosts[0][0], config=config)
        self._url = self._client.get_queue_url(QueueName=target.name)["QueueUrl"]

    async def send(self, message: Message) -> Any:
        try:
            text = message.data.decode()
        except UnicodeDecodeError:
            raise CannotSend("it takes text only, and this is not UTF-8") from None
        attributes = {
            name: {"DataType": "String", "StringValue": value} for name, value in message.headers.items() if value
        }
        given: dict[str, Any] = {}
        if self.target.name.endswith(".fifo"):
            # An id may have 128 characters.
            given = {"MessageGroupId": message.key or "callsheet", "MessageDeduplicationId": _digest(message.id)}
        elif message.key:
            given = {"MessageGroupId": message.key}
        answer = await asyncio.to_thread(
            self._client.send_message, QueueUrl=self._url, MessageBody=text, MessageAttributes=attributes, **given
        )
        return {"id": answer["MessageId"]}


class PubSub(Broker):
    """Messages of one key are kept in order where the subscription asks for that."""

    modules = ("google.pubsub_v1", "grpc")

    async def connect(self) -> None:
        import os

        import grpc
        from google.pubsub_v1.services.publisher import PublisherAsyncClient
        from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport

        simulated = os.environ.get("PUBSUB_EMULATOR_HOST")
        if simulated:
            transport = PublisherGrpcAsyncIOTransport(channel=grpc.aio.insecure_channel(simulated))
            self._client = PublisherAsyncClient(transport=transport)
        else:
            self._client = await asyncio.to_thread(PublisherAsyncClient)
        self._topic = f"projects/{self.target.hosts[0][0]}/topics/{self.target.name}"

    async def send(self, message: Message) -> Any:
        from google.pubsub_v1 import PubsubMessage

        made = PubsubMessage(data=message.data, attributes=dict(message.headers), ordering_key=message.key or "")
        answer = await self._client.publish(topic=self._topic, messages=[made], retry=None, timeout=self.target.timeout)
        return {"id": answer.message_ids[0]}

    async def close(self) -> None:
        await self._client.transport.close()


def _digest(text: str) -> str:
    import hashlib

    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


async def close_broker(broker: Broker) -> None:
    """Also where its connection is lost already."""
    with suppress(Exception):
        await ended_in_time(broker.close(), _CLOSE_TIMEOUT)
