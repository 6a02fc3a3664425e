"""The streams of a queue: made from the definition where they are missing, used as they are where they exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....durations import duration_seconds
from ....errors import CallsheetError, UsageError
from ..port import QueueFailed
from .connection import checked
from .losses import losses
from .names import QueueNames

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition

_UNLIMITED = -1


async def prepare(jetstream: Any, names: QueueNames, definition: QueueDefinition, note: Callable[[str], None]) -> float:
    """Returns for how long a lease holds, in seconds. Raises `CallsheetError` where the queue cannot be used.

    `note` is told of settings of a stream that lose events.
    """
    try:
        for stream, subject, settings in (
            (names.stream, names.event_subject("*"), stream_settings(definition)),
            (names.dead_stream, names.dead_subject("*", "*"), dead_settings(definition)),
        ):
            for text in losses(await _ensure_stream(jetstream, stream, subject, settings)):
                note(f"warning: queue {stream}: {text}")
        await _ensure_bucket(jetstream, names, definition)
        return await _ensure_consumer(jetstream, names, definition)
    except QueueFailed as failed:
        raise CallsheetError(f"queue {names.stream}: {failed}") from None


async def missing(jetstream: Any, names: QueueNames) -> list[str]:
    """What of a queue is not on the server, in words. Raises `QueueFailed`."""
    from nats.js.errors import NotFoundError

    streams = {
        names.stream: f"stream {names.stream}",
        names.dead_stream: f"stream {names.dead_stream}",
        f"KV_{names.state_bucket}": f"bucket {names.state_bucket}",
    }
    found = [text for stream, text in streams.items() if await stream_info(jetstream, stream) is None]
    try:
        await checked(jetstream.consumer_info(names.stream, names.consumer), NotFoundError)
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
        return await checked(jetstream.stream_info(stream), NotFoundError)
    except NotFoundError:
        return None


async def _ensure_stream(jetstream: Any, name: str, subject: str, settings: dict[str, Any]) -> Any:
    """Its settings."""
    from nats.js.api import StreamConfig

    found = await stream_info(jetstream, name)
    if found is None:
        made = await checked(jetstream.add_stream(StreamConfig(name=name, subjects=[subject], **settings)))
        return made.config
    if problem := unusable(found.config, subject, settings):
        raise UsageError(f"queue {name}: the stream exists, but {problem}", hint="name another stream")
    return found.config


def unusable(config: Any, subject: str, settings: dict[str, Any]) -> str | None:
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
        await checked(jetstream.create_key_value(config))


async def _ensure_consumer(jetstream: Any, names: QueueNames, definition: QueueDefinition) -> float:
    from nats.js.api import AckPolicy, ConsumerConfig
    from nats.js.errors import NotFoundError

    try:
        info = await checked(jetstream.consumer_info(names.stream, names.consumer), NotFoundError)
    except NotFoundError:
        config = ConsumerConfig(
            durable_name=names.consumer,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=duration_seconds(definition["lease"]),
            max_deliver=_UNLIMITED,
            max_ack_pending=definition["max_running"],
        )
        info = await checked(jetstream.add_consumer(names.stream, config))
    if problem := unusable_consumer(info.config, names.event_subject("*")):
        hint = "delete it on the server; it is made again"
        raise UsageError(f"queue {names.stream}: the consumer {names.consumer} exists, but {problem}", hint=hint)
    return float(info.config.ack_wait)
