"""The streams of a queue: made where they are missing, used as they are where they exist, and what they promise."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ....durations import duration_seconds
from ....errors import CallsheetError, UsageError, count_of
from ...verify.key_set import check_url, make_fetcher
from ..queue_port import Guarantees, QueueFailed
from .nats_connection import QueueAccess, QueueNames, checked_reply, connect_to_server, disconnect_from_server

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition

# Settings of a stream that lose events which senders were told are kept.


def settings_that_lose_events(config: Any) -> Iterator[str]:
    """`config` is the client library's."""
    if config.storage != "file":
        yield "it is kept in memory: when the server ends, all events are lost"
    if config.discard != "new":
        yield "when it is full the oldest events are thrown away (discard = old), and senders are told 200"
    if config.max_age:
        yield f"events that were not handled within {config.max_age:g} s are thrown away (max_age)"
    if (config.max_msgs_per_subject or -1) > 0:
        yield "events with one id take each other's place (max_msgs_per_subject)"
    if config.no_ack:
        yield "it acknowledges nothing (no_ack)"


def consumer_losses(consumers: list[Any], own: str) -> Iterator[str]:
    for consumer in consumers:
        if consumer.name != own:
            yield f"another consumer ({consumer.name}) takes events from it"
        elif (max_deliver := consumer.config.max_deliver or -1) > 0:
            yield f"the server stops delivering an event after {max_deliver} attempts, and nobody is told (max_deliver)"


# The streams of a queue: made from the definition where they are missing, used as they are where they exist.

_UNLIMITED = -1
# Bytes of a message that are left for headers, so that what was taken can be kept with its last error too.
HEADERS_RESERVE = 2048


async def prepare_streams(
    jetstream: Any, names: QueueNames, definition: QueueDefinition, note: Callable[[str], None]
) -> float:
    """Returns for how long a lease holds, in seconds. Raises `CallsheetError` where the queue cannot be used.

    `note` is told of settings of a stream that lose events.
    """
    try:
        for stream, subject, settings in (
            (names.stream, names.event_subject("*"), stream_settings(definition)),
            (names.dead_stream, names.dead_subject("*", "*"), dead_settings(definition)),
        ):
            for text in settings_that_lose_events(await _ensure_stream(jetstream, stream, subject, settings)):
                note(f"warning: queue {stream}: {text}")
        await _ensure_bucket(jetstream, names, definition)
        return await _ensure_consumer(jetstream, names, definition)
    except QueueFailed as failed:
        raise CallsheetError(f"queue {names.stream}: {failed}") from None


async def missing_on_server(jetstream: Any, names: QueueNames) -> list[str]:
    """What of a queue is not on the server, in words. Raises `QueueFailed`."""
    from nats.js.errors import NotFoundError

    streams = {
        names.stream: f"stream {names.stream}",
        names.dead_stream: f"stream {names.dead_stream}",
        f"KV_{names.state_bucket}": f"bucket {names.state_bucket}",
    }
    found = [text for stream, text in streams.items() if await stream_info(jetstream, stream) is None]
    try:
        await checked_reply(jetstream.consumer_info(names.stream, names.consumer), NotFoundError)
    except NotFoundError:
        found.append(f"consumer {names.consumer}")
    return found


def stream_settings(definition: QueueDefinition) -> dict[str, Any]:
    from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType

    return {
        "retention": RetentionPolicy.WORK_QUEUE,
        "storage": StorageType.FILE,
        "discard": DiscardPolicy.NEW,
        "max_bytes": definition["max_bytes"],
        "max_msgs": definition.get("max_events", _UNLIMITED),
        "num_replicas": definition["replicas"],
        "duplicate_window": duration_seconds(definition["dedup_window"]),
    }


def dead_settings(definition: QueueDefinition) -> dict[str, Any]:
    """Dead events stay until somebody purges them."""
    from nats.js.api import RetentionPolicy

    return {**stream_settings(definition), "retention": RetentionPolicy.LIMITS, "max_msgs": _UNLIMITED}


async def stream_info(jetstream: Any, stream: str) -> Any | None:
    """A stream's settings and state; nothing where there is no such stream."""
    from nats.js.errors import NotFoundError

    try:
        return await checked_reply(jetstream.stream_info(stream), NotFoundError)
    except NotFoundError:
        return None


async def _ensure_stream(jetstream: Any, name: str, subject: str, settings: dict[str, Any]) -> Any:
    """Its settings."""
    from nats.js.api import StreamConfig

    found = await stream_info(jetstream, name)
    if found is None:
        made = await checked_reply(jetstream.add_stream(StreamConfig(name=name, subjects=[subject], **settings)))
        return made.config
    if problem := why_stream_is_unusable(found.config, subject, settings):
        raise UsageError(f"queue {name}: the stream exists, but {problem}", hint="name another stream")
    return found.config


def why_stream_is_unusable(config: Any, subject: str, settings: dict[str, Any]) -> str | None:
    """Why a stream that was made by others cannot be this queue."""
    if subject not in (config.subjects or ()):
        return f"it does not take {subject}"
    if config.retention != settings["retention"]:
        return f"its retention is {config.retention}, not {settings['retention'].value}"
    if config.sealed:
        return "it is sealed"
    if config.subject_transform is not None:
        return "it changes the subjects of events"
    return None


def unusable_consumer(config: Any, subject: str) -> str | None:
    """Why a consumer that was made by others gives workers no events, or not all, or not as a whole."""
    if config.deliver_subject:
        return "it pushes events to a subject"
    if config.ack_policy != "explicit":
        return f"its ack policy is {config.ack_policy}, not explicit"
    if config.headers_only:
        return "it gives headers only"
    filters = config.filter_subjects or ([config.filter_subject] if config.filter_subject else [])
    if filters and subject not in filters:
        return f"it gives events of {' and '.join(filters)} only"
    return None


async def _ensure_bucket(jetstream: Any, names: QueueNames, definition: QueueDefinition) -> None:
    from nats.js.api import KeyValueConfig

    if await stream_info(jetstream, f"KV_{names.state_bucket}") is None:
        config = KeyValueConfig(
            bucket=names.state_bucket,
            history=1,
            ttl=duration_seconds(definition["state_age"]),
            replicas=definition["replicas"],
        )
        await checked_reply(jetstream.create_key_value(config))


async def _ensure_consumer(jetstream: Any, names: QueueNames, definition: QueueDefinition) -> float:
    from nats.js.api import AckPolicy, ConsumerConfig
    from nats.js.errors import NotFoundError

    try:
        info = await checked_reply(jetstream.consumer_info(names.stream, names.consumer), NotFoundError)
    except NotFoundError:
        config = ConsumerConfig(
            durable_name=names.consumer,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=duration_seconds(definition["lease"]),
            max_deliver=_UNLIMITED,
            max_ack_pending=definition["max_running"],
        )
        info = await checked_reply(jetstream.add_consumer(names.stream, config))
    if problem := unusable_consumer(info.config, names.event_subject("*")):
        hint = "delete it on the server; it is made again"
        raise UsageError(f"queue {names.stream}: the consumer {names.consumer} exists, but {problem}", hint=hint)
    return float(info.config.ack_wait)


# What a queue's settings on the server promise, in words.

_NANOSECONDS = 1e9


def read_guarantees(access: QueueAccess, definition: QueueDefinition, note: Callable[[str], None]) -> Guarantees:
    return asyncio.run(_inspect_server(access, definition, note))


async def _inspect_server(access: QueueAccess, definition: QueueDefinition, note: Callable[[str], None]) -> Guarantees:
    names = QueueNames(access.address.stream, definition["subject"])
    connection = await connect_to_server(access, note)
    try:
        jetstream = connection.jetstream()
        info = await stream_info(jetstream, names.stream)
        version = re.search(r"\d[^>]*", str(connection.connected_server_version))
        facts = [f"queue {names.stream}: nats-server {version[0] if version else 'of an unknown version'}"]
        if info is None:
            facts.append("the stream is not there yet; the first `webhook listen` or `webhook work` makes it")
            unsure = await _durability_warnings(definition["replicas"], definition.get("monitor"))
            return Guarantees(facts, unsure, [], duration_seconds(definition["dedup_window"]))
        consumers = await checked_reply(jetstream.consumers_info(names.stream))
        dead = await stream_info(jetstream, names.dead_stream)
        of_dead = [
            f"{names.dead_stream}: {text}" for text in (_dead_problems(dead.config, names, definition) if dead else ())
        ]
        unsure = await _durability_warnings(info.config.num_replicas or 1, definition.get("monitor"))
        return Guarantees(
            [*facts, *_describe_stream(info, connection.max_payload), *_describe_consumer(consumers, names)],
            [*_stream_warnings(info.config, definition), *unsure],
            [
                *_why_refused(info.config, names, definition),
                *_refused_consumer(consumers, names),
                *settings_that_lose_events(info.config),
                *consumer_losses(consumers, names.consumer),
                *of_dead,
            ],
            info.config.duplicate_window or 0.0,
        )
    except QueueFailed as failed:
        raise CallsheetError(f"queue {names.stream}: {failed}") from None
    finally:
        await disconnect_from_server(connection)


def _describe_stream(info: Any, max_payload: int) -> Iterator[str]:
    config = info.config
    limits = [f"{config.max_bytes} bytes"] if (config.max_bytes or -1) > 0 else []
    limits += [f"{config.max_msgs} events"] if (config.max_msgs or -1) > 0 else []
    full = "senders get 503 when it is full" if config.discard == "new" else "then it throws events away"
    yield f"it holds {' or '.join(limits) or 'as much as the disk'}; {full}"
    yield f"{count_of(config.num_replicas or 1, 'replica')}, kept in {config.storage}"
    yield f"a repeated delivery is recognized for {(config.duplicate_window or 0):g} s"
    largest = max_payload - HEADERS_RESERVE
    if (config.max_msg_size or -1) > 0:
        largest = min(largest, config.max_msg_size)
    yield f"an event may have {largest} bytes, with what is kept of its headers; larger ones get 413"
    yield f"{info.state.messages} events are in it"


def _describe_consumer(consumers: list[Any], names: QueueNames) -> Iterator[str]:
    for consumer in consumers:
        if consumer.name == names.consumer and (most := consumer.config.max_ack_pending or -1) > 0:
            yield f"at most {most} events run or wait for another attempt; until one of them ends no other is handled"


def _why_refused(config: Any, names: QueueNames, definition: QueueDefinition) -> Iterator[str]:
    """Why listeners and workers do not use it."""
    if problem := why_stream_is_unusable(config, names.event_subject("*"), stream_settings(definition)):
        yield f"it cannot be used: {problem}"


def _refused_consumer(consumers: list[Any], names: QueueNames) -> Iterator[str]:
    for consumer in consumers:
        if consumer.name != names.consumer:
            continue
        if problem := unusable_consumer(consumer.config, names.event_subject("*")):
            yield f"the consumer {names.consumer} cannot be used: {problem}"
        if consumer.paused:
            yield f"the consumer {names.consumer} is paused: no event is handled"


def _dead_problems(config: Any, names: QueueNames, definition: QueueDefinition) -> Iterator[str]:
    if problem := why_stream_is_unusable(config, names.dead_subject("*", "*"), dead_settings(definition)):
        yield f"{names.dead_stream} cannot be used: {problem}"
    for text in settings_that_lose_events(config):
        yield f"{names.dead_stream}: {text}"


def _stream_warnings(config: Any, definition: QueueDefinition) -> Iterator[str]:
    if (config.duplicate_window or 0) < duration_seconds(definition["dedup_window"]):
        yield f"a delivery that is repeated later than {config.duplicate_window or 0:g} s is handled again"


async def _durability_warnings(replicas: int, monitor: str | None) -> list[str]:
    """A server says how often it syncs at its monitoring port only."""
    always, every = False, "every 2 minutes, unless its configuration says `sync_interval: always`"
    if monitor is not None:
        always, every = await _when_it_syncs(monitor)
    if always:
        return []
    if replicas > 1:
        return [f"{replicas} replicas: events are lost when most of them lose power before they write ({every})"]
    hint = "" if monitor is not None else "; `monitor` in [queue.jetstream] lets this be read"
    means = (
        "a 200 means that the server has the event, not that its disk has. A power cut loses what it had not written"
    )
    return [f"one replica: {means}; it writes {every}{hint}"]


async def _when_it_syncs(monitor: str) -> tuple[bool, str]:
    """Whether before it acknowledges, and else how often. Raises `CallsheetError`."""
    check_url(monitor, "monitor")
    fetch, close = make_fetcher(f"{monitor.rstrip('/')}/jsz?config=1")
    try:
        config = json.loads(await fetch())["config"]
        return bool(config.get("sync_always")), f"every {config['sync_interval'] / _NANOSECONDS:g} s"
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CallsheetError(f"monitor: {monitor}: {error}", hint="the server's http_port, like :8222") from None
    finally:
        await close()
