"""What a queue's settings on the server promise, in words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ....durations import seconds
from ....errors import CallsheetError
from ..port import QueueFailed
from .connection import Access, checked, connect, disconnect
from .names import Names
from .streams import stream_info

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition


def guarantees(access: Access, definition: QueueDefinition, note: Callable[[str], None]) -> tuple[list[str], list[str]]:
    """Facts, and what to be warned of."""
    return asyncio.run(_inspect(access, definition, note))


async def _inspect(
    access: Access, definition: QueueDefinition, note: Callable[[str], None]
) -> tuple[list[str], list[str]]:
    names = Names(access.address.stream, definition["subject"])
    connection = await connect(access, note)
    try:
        jetstream = connection.jetstream()
        info = await stream_info(jetstream, names.stream)
        facts = [f"queue {names.stream}: server {connection.connected_server_version}"]
        if info is None:
            return [*facts, "the stream is not there yet; the first `webhook listen` or `webhook work` makes it"], [
                *_durability_warnings(definition["replicas"])
            ]
        consumers = await checked(jetstream.consumers_info(names.stream))
        warnings = [*_stream_warnings(info.config, names, definition), *_consumer_warnings(consumers, names)]
        return [*facts, *_describe(info)], [*warnings, *_durability_warnings(info.config.num_replicas or 1)]
    except QueueFailed as failed:
        raise CallsheetError(f"queue {names.stream}: {failed}") from None
    finally:
        await disconnect(connection)


def _describe(info: Any) -> Iterator[str]:
    config = info.config
    limits = [f"{config.max_bytes} bytes"] if (config.max_bytes or -1) > 0 else []
    limits += [f"{config.max_msgs} events"] if (config.max_msgs or -1) > 0 else []
    yield f"it holds {' or '.join(limits) or 'as much as the disk'}; senders get 503 when it is full"
    yield f"a repeated delivery is recognised for {(config.duplicate_window or 0):g} s"
    yield f"{info.state.messages} events are in it"


def _stream_warnings(config: Any, names: Names, definition: QueueDefinition) -> Iterator[str]:
    if names.event_subject("*") not in (config.subjects or ()):
        yield f"the stream does not take {names.event_subject('*')}: it is not a queue of this program"
    if config.retention != "workqueue":
        yield f"its retention is {config.retention}, not workqueue: handled events stay in it"
    if config.storage != "file":
        yield "it is kept in memory: when the server ends, all events are lost"
    if config.discard != "new":
        yield "when it is full the oldest events are thrown away"
    if config.max_age:
        yield f"events that were not handled within {config.max_age:g} s are thrown away"
    if (config.duplicate_window or 0) < seconds(definition["window"]):
        yield f"a delivery that is repeated later than {config.duplicate_window or 0:g} s is handled again"


def _consumer_warnings(consumers: list[Any], names: Names) -> Iterator[str]:
    for consumer in consumers:
        if consumer.name != names.consumer:
            yield f"another consumer ({consumer.name}) takes events from it"
        elif (max_deliver := consumer.config.max_deliver or -1) > 0:
            yield f"the server stops delivering an event after {max_deliver} attempts, and leaves it in the stream"


def _durability_warnings(replicas: int) -> Iterator[str]:
    if replicas == 1:
        yield (
            "one replica: a 200 means that the server has the event, not that its disk has. It writes every 2 minutes"
            " unless its configuration says `sync_interval: always`, which cannot be read from here"
        )
    else:
        yield f"{replicas} replicas: an event is lost only when most of them lose power within 2 minutes"
