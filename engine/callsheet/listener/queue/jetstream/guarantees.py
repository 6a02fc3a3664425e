"""What a queue's settings on the server promise, in words."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ....durations import duration_seconds
from ....errors import CallsheetError, counted
from ...verify.fetch import check_url, fetcher
from ..port import Guarantees, QueueFailed
from .connection import QueueAccess, checked, connect, disconnect
from .losses import consumer_losses, losses
from .names import QueueNames
from .queue import HEADERS_RESERVE
from .streams import dead_settings, stream_info, stream_settings, unusable, unusable_consumer

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition

_NANOSECONDS = 1e9


def guarantees(access: QueueAccess, definition: QueueDefinition, note: Callable[[str], None]) -> Guarantees:
    return asyncio.run(_inspect(access, definition, note))


async def _inspect(access: QueueAccess, definition: QueueDefinition, note: Callable[[str], None]) -> Guarantees:
    names = QueueNames(access.address.stream, definition["subject"])
    connection = await connect(access, note)
    try:
        jetstream = connection.jetstream()
        info = await stream_info(jetstream, names.stream)
        version = re.search(r"\d[^>]*", str(connection.connected_server_version))
        facts = [f"queue {names.stream}: nats-server {version[0] if version else 'of an unknown version'}"]
        if info is None:
            facts.append("the stream is not there yet; the first `webhook listen` or `webhook work` makes it")
            unsure = await _durability_warnings(definition["replicas"], definition.get("monitor"))
            return Guarantees(facts, unsure, [], duration_seconds(definition["dedup_window"]))
        consumers = await checked(jetstream.consumers_info(names.stream))
        dead = await stream_info(jetstream, names.dead_stream)
        of_dead = [
            f"{names.dead_stream}: {text}" for text in (_dead_problems(dead.config, names, definition) if dead else ())
        ]
        unsure = await _durability_warnings(info.config.num_replicas or 1, definition.get("monitor"))
        return Guarantees(
            [*facts, *_describe(info, connection.max_payload), *_describe_consumer(consumers, names)],
            [*_stream_warnings(info.config, definition), *unsure],
            [
                *_refused(info.config, names, definition),
                *_refused_consumer(consumers, names),
                *losses(info.config),
                *consumer_losses(consumers, names.consumer),
                *of_dead,
            ],
            info.config.duplicate_window or 0.0,
        )
    except QueueFailed as failed:
        raise CallsheetError(f"queue {names.stream}: {failed}") from None
    finally:
        await disconnect(connection)


def _describe(info: Any, max_payload: int) -> Iterator[str]:
    config = info.config
    limits = [f"{config.max_bytes} bytes"] if (config.max_bytes or -1) > 0 else []
    limits += [f"{config.max_msgs} events"] if (config.max_msgs or -1) > 0 else []
    full = "senders get 503 when it is full" if config.discard == "new" else "then it throws events away"
    yield f"it holds {' or '.join(limits) or 'as much as the disk'}; {full}"
    yield f"{counted(config.num_replicas or 1, 'replica')}, kept in {config.storage}"
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


def _refused(config: Any, names: QueueNames, definition: QueueDefinition) -> Iterator[str]:
    """Why listeners and workers do not use it."""
    if problem := unusable(config, names.event_subject("*"), stream_settings(definition)):
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
    if problem := unusable(config, names.dead_subject("*", "*"), dead_settings(definition)):
        yield f"{names.dead_stream} cannot be used: {problem}"
    for text in losses(config):
        yield f"{names.dead_stream}: {text}"


def _stream_warnings(config: Any, definition: QueueDefinition) -> Iterator[str]:
    if (config.duplicate_window or 0) < duration_seconds(definition["dedup_window"]):
        yield f"a delivery that is repeated later than {config.duplicate_window or 0:g} s is handled again"


async def _durability_warnings(replicas: int, monitor: str | None) -> list[str]:
    """A server says how often it syncs at its monitoring port only."""
    always, every = False, "every 2 minutes, unless its configuration says `sync_interval: always`"
    if monitor is not None:
        always, every = await _syncs(monitor)
    if always:
        return []
    if replicas > 1:
        return [f"{replicas} replicas: events are lost when most of them lose power before they write ({every})"]
    hint = "" if monitor is not None else "; `monitor` in [queue.jetstream] lets this be read"
    means = (
        "a 200 means that the server has the event, not that its disk has. A power cut loses what it had not written"
    )
    return [f"one replica: {means}; it writes {every}{hint}"]


async def _syncs(monitor: str) -> tuple[bool, str]:
    """Whether before it acknowledges, and else how often. Raises `CallsheetError`."""
    check_url(monitor, "monitor")
    fetch, close = fetcher(f"{monitor.rstrip('/')}/jsz?config=1")
    try:
        config = json.loads(await fetch())["config"]
        return bool(config.get("sync_always")), f"every {config['sync_interval'] / _NANOSECONDS:g} s"
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CallsheetError(f"monitor: {monitor}: {error}", hint="the server's http_port, like :8222") from None
    finally:
        await close()
