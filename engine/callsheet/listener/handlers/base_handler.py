"""What all handlers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ... import registry
from ...durations import duration_seconds
from ...errors import UsageError
from ...language.compiled_jmespath import compile_condition
from . import Ended, HandlerContext, HandlerFailed
from .concurrency_limits import ConcurrencyLimit
from .event_content import EventEnvelope

if TYPE_CHECKING:
    from ...language.shape.listener import HandlerDefinition
    from ..verify.event import Event


class Base:
    """A handler, made from its table. `shape` is that of the table, or where it is found, since shapes load pydantic.

    `result_members` are all that a result of it has; nothing where that is anything.
    Its limits are entered before `run`, in order. Where it does not `needs_task`, `start_without_task` does the same.
    """

    kind = ""
    shape: Any = ".language.shape.listener:HandlerDefinition"
    needs_task = True
    imports_code = False  # of a person, when one is made
    result_members: tuple[str, ...] | None = ()

    def __init__(self, table: HandlerDefinition, context: HandlerContext) -> None:
        self.kind = table["handler"]
        self.table = cast("Mapping[str, Any]", table)  # each kind has keys of its own
        self.context = context
        self.timeout = duration_seconds(table["timeout"]) if "timeout" in table else context.timeout
        self.is_success = compile_condition(self.table["success"]) if "success" in self.table else None
        self.wants_result = context.wants_result or self.is_success is not None
        self.envelope = self._envelope_of_table()
        self.concurrency_limits: tuple[ConcurrencyLimit, ...] = (
            (ConcurrencyLimit(table["concurrency"]),) if "concurrency" in table else ()
        )

    def _envelope_of_table(self) -> EventEnvelope | None:
        if "send" in self.table:
            return EventEnvelope("", {"title": "", "send": self.table["send"]})
        name = self.table.get("envelope")
        return None if name is None else EventEnvelope(name, self.context.envelopes[name])

    def input_of(self, event: Event) -> bytes:
        """What goes to standard input, or into a file. Raises `HandlerFailed` where there is no form for it."""
        if self.envelope is not None:
            data, headers = self.envelope.make_content(event)
            return data + b"\n" if headers[b"content-type"].endswith(b"json") else data
        chosen = self.table.get("input", "event")
        if chosen == "raw":
            return event.data
        if chosen == "none":
            return b""
        text = event.record_text if chosen == "event" else event.payload_text
        return text.encode() + b"\n"

    def check_result(self, event: Event, result: Any, problem: str | None = None) -> Any:
        """`result`. Raises `HandlerFailed` where it is no success: by the table, else where there is a `problem`."""
        if self.is_success is None:
            if problem is not None:
                raise HandlerFailed(problem)
        elif not self.is_success({**event.fast_scope, "result": result}):
            raise HandlerFailed(problem or f"no success: {self.table['success']}")
        return result

    def variables_for_handler(self, prefix: str | None = None) -> dict[str, str]:
        """The variables that what is run gets to see: no secrets but those that its table names.

        `prefix` is that of a program whose own variables it has to see. Raises `UsageError` for one that is not set.
        """
        given = frozenset(self.table.get("secrets", ()))
        if missing := sorted(given - self.context.environ.keys()):
            raise UsageError(f"handler {self.kind!r}: secrets: {missing[0]} is not set")
        withheld = {name for name in self.context.hidden - given if prefix is None or not name.startswith(f"{prefix}_")}
        return {name: value for name, value in self.context.environ.items() if name not in withheld}

    async def run(self, event: Event, job: str) -> Any:
        """Ends within `timeout`. What the handler gave, as values of JSON, where the route or its table wants that.

        Raises `HandlerFailed`.
        """
        raise NotImplementedError

    def start_without_task(self, event: Event, job: str, ended: Ended) -> None:
        """`ended` is called later, once, from the loop."""
        raise NotImplementedError

    def configuration_warnings(self) -> list[str]:
        """What is allowed and may go wrong, for whoever has routes checked."""
        return []

    @property
    def overdue_runs(self) -> int:
        """Runs that exceeded their time, failed, and still keep a place."""
        return 0

    @property
    def is_stuck(self) -> bool:
        """Whether such runs keep all places, so that nothing can be handled until one of them ends."""
        return False

    async def close(self) -> None:
        """Nothing to give back."""


def make_handlers(
    tables: Sequence[HandlerDefinition], context: HandlerContext, where: Callable[[int], str]
) -> list[Base]:
    """`where` words the place of one of the tables, for errors: raises `UsageError` for what cannot be done."""
    handlers: list[Base] = []
    for number, table in enumerate(tables):
        kind = cast("type[Base]", registry.resolve_entry(registry.HANDLERS[table["handler"]]))
        try:
            handlers.append(kind(table, context))
        except UsageError as error:
            message = f"{where(number)}: {error.message}"
            raise type(error)(message, hint=error.hint, details=error.details) from None
    return handlers
