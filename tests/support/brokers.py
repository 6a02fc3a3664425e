"""Real brokers, and what they were handed. Each keeps its port and its files over restarts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from support.canary import PASSWORD, given_file
from support.listening import until
from support.places import ROOT
from support.ports import free_port

KAFKA = ROOT / "build" / "kafka"  # what .ci/run lays there
_RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"  # Debian's own is a script that becomes another user


class Broker:
    """`url` and `to` are what a route says, `environ` what its listener needs."""

    name: ClassVar[str]
    login = True
    password = PASSWORD
    more = ""  # lines of its configuration

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name
        self.folder.mkdir()
        self.port, self.tls_port = free_port(), free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be started here."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        raise NotImplementedError

    to: ClassVar[dict[str, str]] = {"queue": "events"}

    @property
    def environ(self) -> dict[str, str]:
        return {"BROKER_LOGIN": f"tester:{PASSWORD}"} if self.login else {}

    def handler(self, **more: Any) -> dict[str, Any]:
        """The table of a route."""
        login = {"login": {"env": "BROKER_LOGIN"}} if self.login else {}
        return {"handler": "publish", "url": self.url, **self.to, **login, **more}

    def start(self) -> None:
        self._run(*self._command())
        until(lambda: self._answers() or self._ended(), self.name)

    def _run(self, command: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.folder,
                env=os.environ | dict(environ or {}), start_new_session=True,
            )  # fmt: skip

    def _ended(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "output").read_text(encoding="utf-8")
        return False

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        raise NotImplementedError

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def prepare(self) -> None:
        """Make what is published to."""

    def received(self) -> list[tuple[bytes, dict[str, str]]]:
        """All that it was handed, with the headers."""
        raise NotImplementedError

    def encrypt(self, certificate: Path, authority: Path) -> None:
        """Serve the other port with this certificate and its key, before it is started."""
        raise NotImplementedError

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
            # Who waits for the leader of a group does not wait for its children, and one of them may hold the port.
            until(lambda: not self._answers(), f"the end of {self.name}")

    def close(self) -> None:
        self.kill()


class Redis(Broker):
    name = "redis"
    to: ClassVar[dict[str, str]] = {"stream": "events"}

    @classmethod
    def missing(cls) -> str | None:
        return "needs redis-server" if shutil.which("redis-server") is None else None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        text = (
            f"port {self.port}\nbind 127.0.0.1\nappendonly yes\nappendfsync always\nsave ''\ndir {self.folder}\n"
            f"user tester on >{PASSWORD} ~* +@all\nuser default off\n{self.more}"
        )
        return ["redis-server", str(given_file(self.folder, text, "redis.conf"))], {}

    def encrypt(self, certificate: Path, authority: Path) -> None:
        files = {"cert-file": certificate, "key-file": certificate, "ca-cert-file": authority}
        lines = [
            f"tls-port {self.tls_port}",
            "tls-auth-clients no",
            *(f"tls-{name} {file}" for name, file in files.items()),
        ]
        self.more = "\n".join(lines)

    def received(self) -> list[tuple[bytes, dict[str, str]]]:
        from redis import Redis as Client

        with Client(port=self.port, username="tester", password=PASSWORD) as client:
            found: Any = client.xrange("events")
        entries = [{key.decode(): value for key, value in fields.items()} for _, fields in found]
        return [(each.pop("data"), {name: text.decode() for name, text in each.items()}) for each in entries]


class RabbitMQ(Broker):
    name = "rabbitmq"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._names, self._between = free_port(), free_port()  # of the daemon that knows Erlang's nodes, and their own

    @classmethod
    def missing(cls) -> str | None:
        return None if Path(_RABBITMQ).exists() else "needs rabbitmq-server"

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self.port}"

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        text = f"listeners.tcp.local = 127.0.0.1:{self.port}\ndefault_user = tester\ndefault_pass = {PASSWORD}\n"
        given = given_file(self.folder, text + self.more, "rabbitmq.conf")
        at = {"MNESIA_BASE": "data", "LOG_BASE": "log", "PID_FILE": "pid", "ENABLED_PLUGINS_FILE": "plugins"}
        return [_RABBITMQ], {
            "HOME": str(self.folder),
            "RABBITMQ_CONFIG_FILE": str(given),
            "ERL_EPMD_PORT": str(self._names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_RELAXED_COMMAND_CHECK": "1",  # it can be ended while a killed node is listed still
            "RABBITMQ_NODENAME": f"broker{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._between),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            **{f"RABBITMQ_{name}": str(self.folder / file) for name, file in at.items()},
        }

    def encrypt(self, certificate: Path, authority: Path) -> None:
        files = {"cacertfile": authority, "certfile": certificate, "keyfile": certificate}
        self.more = f"listeners.ssl.local = 127.0.0.1:{self.tls_port}\nssl_options.verify = verify_none\n" + "".join(
            f"ssl_options.{name} = {file}\n" for name, file in files.items()
        )

    def prepare(self) -> None:
        async def declare(channel: Any) -> None:
            await channel.declare_queue("events", durable=True)

        asyncio.run(self._with_channel(declare))
        # It says that there is a queue before it has written that down: killed in between, it knows none afterwards.
        written = self.folder / "data"
        until(lambda: any(b"events" in each.read_bytes() for each in written.rglob("*.LOG")), "the queue in its files")

    def received(self) -> list[tuple[bytes, dict[str, str]]]:
        found = []

        async def read(channel: Any) -> None:
            queue = await channel.get_queue("events", ensure=False)
            while (message := await queue.get(fail=False)) is not None:  # not acknowledged, so it stays there
                found.append((message.body, {**message.headers, "content-type": message.content_type}))

        from aio_pika.exceptions import ChannelNotFoundEntity

        # One that was killed answers before it knows all of its queues again.
        with contextlib.suppress(ChannelNotFoundEntity):
            asyncio.run(self._with_channel(read))
        return found

    async def _with_channel(self, work: Any) -> None:
        import aio_pika

        connection = await aio_pika.connect(host="127.0.0.1", port=self.port, login="tester", password=PASSWORD)
        async with connection:
            await work(await connection.channel())

    def kill(self) -> None:
        super().kill()
        environ = os.environ | {"ERL_EPMD_PORT": str(self._names)}  # the daemon has a session of its own
        subprocess.run(["epmd", "-kill"], env=environ, capture_output=True, check=False)  # none, if it never started


class Kafka(Broker):
    name = "kafka"
    to: ClassVar[dict[str, str]] = {"topic": "events"}
    login = False
    password = "an-argument-of-its-tools"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._controller = free_port()

    @classmethod
    def missing(cls) -> str | None:
        there = any(KAFKA.glob("kafka_*.jar")) and shutil.which("java")
        return None if there else "needs java and Apache Kafka in build/kafka (see .ci/run)"

    @property
    def url(self) -> str:
        return f"kafka://127.0.0.1:{self.port}"

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        file = self.folder / "server.properties"
        java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{KAFKA}/*"]
        if not file.exists():
            at = "127.0.0.1"
            file.write_text(
                f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@{at}:{self._controller}\n"
                f"listeners=PLAINTEXT://{at}:{self.port},CONTROLLER://{at}:{self._controller}{self._listener}\n"
                f"controller.listener.names=CONTROLLER\nlog.dirs={self.folder}/data\nauto.create.topics.enable=false\n"
                f"{self.more}",
                encoding="utf-8",
            )
            words = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(file)]
            words += ["--add-scram", f"SCRAM-SHA-512=[name=tester,password={self.password}]"] if self._listener else []
            subprocess.run([*java, *words], check=True, capture_output=True)
        return [*java, "kafka.Kafka", str(file)], {}

    _listener = ""

    def encrypt(self, certificate: Path, authority: Path) -> None:
        """With a login by PLAIN or SCRAM."""
        del authority
        self._listener = f",SASL_SSL://localhost:{self.tls_port}"
        login = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_tester="{self.password}";'
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        self.more = (
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL\n"
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512\n"
            f"listener.name.sasl_ssl.plain.sasl.jaas.config={login}\n"
            f"listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={scram}\n"
            f"ssl.keystore.type=PEM\nssl.keystore.location={certificate}\n"
        )

    def prepare(self) -> None:
        from aiokafka.admin import AIOKafkaAdminClient, NewTopic

        async def make() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=f"127.0.0.1:{self.port}")
            await admin.start()
            try:
                await admin.create_topics([NewTopic("events", 1, 1)])
            finally:
                await admin.close()

        asyncio.run(make())

    def received(self) -> list[tuple[bytes, dict[str, str]]]:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        async def read() -> list[Any]:
            consumer = AIOKafkaConsumer(bootstrap_servers=f"127.0.0.1:{self.port}", auto_offset_reset="earliest")
            await consumer.start()
            try:
                partition = TopicPartition("events", 0)
                consumer.assign([partition])
                end = (await consumer.end_offsets([partition]))[partition]
                return [await consumer.getone() for _ in range(end)]
            finally:
                await consumer.stop()

        records = asyncio.run(read())
        return [(each.value, {name: text.decode() for name, text in each.headers}) for each in records]


class Sqs(Broker):
    """Simulated, by moto: what it was handed is lost with it."""

    name = "sqs"
    login = False
    url = "sqs://eu-central-1"

    @classmethod
    def missing(cls) -> str | None:
        return None if find_spec("moto") and find_spec("flask_cors") else "needs moto, flask and flask-cors"

    @property
    def environ(self) -> dict[str, str]:
        names = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": PASSWORD}
        return {**names, "AWS_ENDPOINT_URL_SQS": f"http://127.0.0.1:{self.port}"}

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)], {}

    def _client(self) -> Any:
        import boto3

        given = {"aws_access_key_id": "id", "aws_secret_access_key": PASSWORD}
        return boto3.client("sqs", region_name="eu-central-1", endpoint_url=f"http://127.0.0.1:{self.port}", **given)

    def prepare(self) -> None:
        with contextlib.closing(self._client()) as client:
            client.create_queue(QueueName="events")

    def received(self) -> list[tuple[bytes, dict[str, str]]]:
        found: list[tuple[bytes, dict[str, str]]] = []
        with contextlib.closing(self._client()) as client:
            url = client.get_queue_url(QueueName="events")["QueueUrl"]
            while told := client.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=60
            ).get("Messages"):
                found += [
                    (each["Body"].encode(),
                     {name: one["StringValue"] for name, one in each.get("MessageAttributes", {}).items()})
                    for each in told
                ]  # fmt: skip
        return found


class PubSub(Broker):
    """A stand-in: the vendor's simulator is in no registry. It speaks gRPC as the service does, in this process."""

    name = "pubsub"
    login = False
    url = "pubsub://project-1"
    to: ClassVar[dict[str, str]] = {"topic": "events"}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._kept: list[Any] = []
        self._server: Any = None

    @classmethod
    def missing(cls) -> str | None:
        return None

    @property
    def environ(self) -> dict[str, str]:
        return {"PUBSUB_EMULATOR_HOST": f"127.0.0.1:{self.port}"}

    def start(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        import grpc
        from google.pubsub_v1 import PublishRequest, PublishResponse

        def publish(request: Any, context: Any) -> Any:
            if request.topic != "projects/project-1/topics/events":
                context.abort(grpc.StatusCode.NOT_FOUND, "Resource not found")
            self._kept += request.messages
            return PublishResponse(message_ids=[str(len(self._kept))])

        method = grpc.unary_unary_rpc_method_handler(publish, PublishRequest.deserialize, PublishResponse.serialize)
        self._server = grpc.server(ThreadPoolExecutor(2))
        handler = grpc.method_handlers_generic_handler("google.pubsub.v1.Publisher", {"Publish": method})
        self._server.add_generic_rpc_handlers((handler,))
        self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        self._server.start()

    def received(self) -> list[tuple[bytes, dict[str, str]]]:
        return [(each.data, dict(each.attributes)) for each in self._kept]

    def kill(self) -> None:
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None


BROKERS = {kind.name: kind for kind in (Redis, RabbitMQ, Kafka, Sqs, PubSub)}


@contextlib.contextmanager
def broker(name: str, folder: Path, *, is_started: bool = True) -> Iterator[Broker]:
    made = BROKERS[name](folder)
    try:
        if is_started:
            made.start()
            made.prepare()
        yield made
    finally:
        made.close()
