"""What a queue of events is to those who fill it and those who work on it, and which kind an address means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ...errors import UsageError
from ...registry import QUEUES, resolve_entry

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.listener import QueueDefinition
    from ..verify.event import Event

# What a queue of events is to those who fill it and those who work on it.
#
# Each kind of queue is a package beside this file.

STATES = ("waiting", "running", "done", "dead")
# Never kept: they are the sender's credentials for this listener, and no handler needs them.
_NOT_KEPT = (b"authorization", b"cookie")


def storable_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name not in _NOT_KEPT]


class QueueFailed(Exception):
    """A change was not kept. The same change may succeed later."""


class Unstorable(QueueFailed):
    """A change that cannot be kept however often it is tried."""


class TooLarge(Unstorable):
    """More than the queue takes in one event."""


class Lease(NamedTuple):
    """The right to run one event. `attempts` counts from 1; `token` is whatever the kind of queue needs."""

    key: int
    attempts: int
    token: Any = None


class TargetState(NamedTuple):
    """What became of an event at one target: it is done, dead, or waiting until `due` for its next attempt."""

    state: str
    attempts: int = 0
    due: float = 0.0
    error: str | None = None


NEW = TargetState("waiting")
DONE = TargetState("done")
# Stands for each target of an event that has no state of its own.
ALL_OTHERS = "*"


def joined_errors(targets: Mapping[str, TargetState]) -> str:
    return "; ".join(f"{job}: {each.error}" for job, each in targets.items() if each.error and each.state != "done")


def record_of_targets(targets: Mapping[str, TargetState]) -> dict[str, Any]:
    """As the commands at the shell show them."""
    return {
        "succeeded": [job for job, each in targets.items() if each.state == "done"],
        "targets": [{"target": job, **each._asdict()} for job, each in targets.items() if each.state != "done"],
    }


class QueuedEvent(NamedTuple):
    """One event to run, when it was received, and what is known of its targets."""

    lease: Lease
    source: str
    headers: list[tuple[bytes, bytes]]
    query: bytes
    data: bytes
    text: bytes
    received: float
    targets: Mapping[str, TargetState]


class FailedRun(NamedTuple):
    """A run after which an event is not done. `attempts` are those of it that count, `targets` those that changed."""

    reason: str
    attempts: int
    targets: Mapping[str, TargetState] = MappingProxyType({})


class PutResult(NamedTuple):
    """`lease` is there where the event was kept for whoever put it."""

    stored: bool
    lease: Lease | None = None


DUPLICATE = PutResult(stored=False)


class QueueEnvironment(NamedTuple):
    """Where a queue beyond this machine finds its credentials: the environment, and how our variables begin."""

    environ: Mapping[str, str]
    prefix: str


class Guarantees(NamedTuple):
    """What a queue's settings mean, in words; `losses` are events that are lost although their senders were told 200.

    `window` is for how long a repeated delivery is recognized, in seconds.
    """

    facts: list[str]
    warnings: list[str]
    losses: list[str]
    window: float


class Queue(Protocol):
    """Everything raises `QueueFailed` where a change was not kept; `problem` says so until one is kept again."""

    @property
    def problem(self) -> str | None: ...

    async def open(self) -> None: ...

    def put_event(self, event: Event, *, has_jobs: bool, run_here: bool) -> asyncio.Future[PutResult]:
        """The future is done when the event is kept. It stays true when nobody waits for it any more.

        `has_jobs`: there is something to do with it. `run_here`: whoever puts it has a free place and runs it at once,
        if this kind of queue knows how.
        """
        ...

    async def fetch_events(self, count: int) -> list[QueuedEvent]:
        """At most `count` events; waits a second or two for the first."""
        ...

    async def extend_leases(self, leases: Sequence[Lease]) -> None:
        """Say that these still run. Called every `renew_every` seconds."""
        ...

    def record_success(self, lease: Lease, job: str) -> Awaitable[bool]:
        """Note that one of several jobs succeeded. False, here and below: the lease was lost, nothing was changed."""
        ...

    def complete_event(self, lease: Lease) -> Awaitable[bool]: ...

    async def retry_later(self, lease: Lease, delay: float, run: FailedRun) -> bool: ...

    async def give_up(self, lease: Lease, run: FailedRun) -> bool: ...

    async def release_leases(self, leases: Sequence[Lease]) -> None:
        """Give back, at once and for others to take, what a process that ends still holds."""
        ...

    def events_by_state(self) -> Mapping[str, float]:
        """Events by state, as far as is known without waiting."""
        ...

    async def close(self) -> None: ...

    @property
    def renew_every(self) -> float: ...


class Inspection(Protocol):
    """A queue as the person at the shell looks at it. Records hold what the columns of a view name."""

    def list_events(self, state: str | None, limit: int, target: str | None = None) -> list[dict[str, Any]]:
        """Newest first, without payloads.

        With a `target` those that it has failed at, or that wait for it: state, attempts and error are its own.
        """
        ...

    def count_by_state(self) -> Mapping[str, float]:
        """Events by state, of the states that this kind of queue keeps."""
        ...

    def find_events(self, word: str) -> list[dict[str, Any]]:
        """The events with an id, or else the one with a key; with `payload` (bytes), `targets` and `headers`."""
        ...

    def target_names(self) -> Collection[str]:
        """The targets that listeners have noted, or that events of the queue name."""
        ...

    def replay_events(self, keys: Iterable[int], target: str | None = None) -> list[dict[str, Any]]:
        """From the beginning: every job or that of one target, the full number of attempts.

        What runs just now is left alone.
        """
        ...

    def purge_events(self, state: str, before: float) -> int: ...

    def close(self) -> None: ...


# Which kind of queue an address means. A new kind is a line in `registry.QUEUES` and a definition.

Note = Callable[[str], None]


class Driver(Protocol):
    """One kind of queue beyond this machine, at an address. Credentials are read where one is made."""

    def __init__(self, url: str, definition: QueueDefinition, environment: QueueEnvironment) -> None: ...

    def open_queue(self, note: Note, *, consumes: bool) -> Queue: ...

    def open_inspection(self, note: Note) -> Inspection: ...

    def read_guarantees(self, note: Note) -> Guarantees: ...


def select_queue(url: str, catalog: Catalog, environ: Mapping[str, str]) -> Driver:
    """Raises `UsageError` where no kind of queue has such addresses."""
    prefix: str = catalog.programs.get(catalog.program)["prefix"]
    definitions = catalog.queues.all()
    scheme = url.partition("://")[0]
    for definition in definitions.values():
        if scheme in definition["schemes"]:
            driver = cast("type[Driver]", resolve_entry(QUEUES[definition["driver"]]))
            return driver(url, definition, QueueEnvironment(environ, prefix))
    schemes = [scheme for definition in definitions.values() for scheme in definition["schemes"]]
    raise UsageError(
        "--queue: that is not an address of a queue",
        hint=f"like {' or '.join(f'{scheme}://HOST/STREAM' for scheme in schemes)}",
    )
