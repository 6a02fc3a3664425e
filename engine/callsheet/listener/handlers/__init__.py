"""What can be done with an event. Each handler is a class made from its table in a route."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO, cast

from ... import registry
from ...errors import UsageError

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event
    from .concurrency_limits import ConcurrencyLimit


MAX_RESULT = 65536  # bytes of what a handler gave, where that is looked at


class HandlerFailed(Exception):
    """An event could not be handled now; the text says why, for the log. It will be tried again."""


class CannotSend(HandlerFailed):
    """Nothing can be made of this event for the handler, which says nothing about its target."""


def failure_of(error: BaseException) -> HandlerFailed:
    """What a person's code raised, whatever it is and however it words itself."""
    if isinstance(error, HandlerFailed):
        return error
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an exception whose text cannot be had, and which raises what it likes
        text = ""
    return HandlerFailed(f"{type(error).__name__}: {text}" if text else type(error).__name__)


# Gets why an event could not be handled, or nothing.
Ended = Callable[[HandlerFailed | None], None]


class RunCommand(Protocol):
    """Runs a command of a program of definitions in this process and returns its exit code.

    `values` are literal, whatever they hold; only those named in `typed` are read as a person's own words.
    """

    def __call__(
        self,
        program: str,
        words: Sequence[str],
        values: Mapping[str, Any],
        *,
        typed: Collection[str],
        environ: Mapping[str, str],
        stdin: TextIO,
        stdout: TextIO,
        stderr: TextIO,
    ) -> int: ...


class HandlerContext(NamedTuple):
    """What handlers are made in: the folder of their routes, the environment, and where their output goes.

    `hidden` are the variables of the environment that hold secrets. `wants_result`: the route makes an answer of it.
    `processes` share what a target may get.
    `envelopes` are the forms that they may name, `brokers` the kinds of brokers, `stored` finds a secret of the key
    store by its name.
    """

    folder: str
    environ: Mapping[str, str]
    hidden: frozenset[str]
    report: Callable[[str], None]
    timeout: float
    run_command: RunCommand
    wants_result: bool = False
    processes: int = 1
    envelopes: Mapping[str, shape.EnvelopeDefinition] = MappingProxyType({})
    brokers: Mapping[str, shape.BrokerDefinition] = MappingProxyType({})
    stored: Callable[[str], str] = str


class Handler(Protocol):
    """The limits are entered before `run`, in order. `run` raises `HandlerFailed`, and ends within `timeout`.

    It returns what the handler gave, as values of JSON, where the route or its table wants that.
    """

    kind: str
    timeout: float
    concurrency_limits: tuple[ConcurrencyLimit, ...]

    async def run(self, event: Event, job: str) -> Any: ...

    @property
    def needs_task(self) -> bool:
        """Whether it has to be run by a task of the loop. If not, `begin` does the same as `run`."""
        ...

    def start_without_task(self, event: Event, job: str, ended: Ended) -> None:
        """`ended` is called later, once, from the loop."""
        ...

    def configuration_warnings(self) -> list[str]: ...

    @property
    def overdue_runs(self) -> int: ...

    @property
    def is_stuck(self) -> bool: ...

    async def close(self) -> None: ...


class HandlerKind(Protocol):
    """A class of the registry. `shape` is that of its table, or where it is found, since shapes load pydantic."""

    shape: Any

    def __call__(self, table: Any, context: HandlerContext) -> Handler: ...


def make_handlers(
    tables: Sequence[shape.HandlerDefinition], context: HandlerContext, where: Callable[[int], str]
) -> list[Handler]:
    """`where` words the place of one of the tables, for errors: raises `UsageError` for what cannot be done."""
    handlers: list[Handler] = []
    for number, table in enumerate(tables):
        kind = cast("HandlerKind", registry.resolve_entry(registry.HANDLERS[table["handler"]]))
        try:
            handlers.append(kind(table, context))
        except UsageError as error:
            message = f"{where(number)}: {error.message}"
            raise type(error)(message, hint=error.hint, details=error.details) from None
    return handlers
