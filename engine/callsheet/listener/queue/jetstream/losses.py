"""Settings of a stream that lose events which senders were told are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def losses(config: Any) -> Iterator[str]:
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
