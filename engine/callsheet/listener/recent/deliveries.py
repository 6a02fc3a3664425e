"""The last deliveries of a listener, in memory: what was sent, why it was refused, what its handlers did."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ...language.template import to_text
from ..queue.port import storable_headers
from .reasons import header_without_secrets, proof_steps, route_reasons, text_without_secrets

if TYPE_CHECKING:
    from ..dispatch.runner import RunResult
    from ..dispatch.verdict import DispatchVerdict
    from ..routing.route import RoutingTable
    from ..verify.event import Event
    from ..verify.rejection import Rejected
    from ..verify.signed_message import Headers
    from ..verify.source import Source

MOST = 1000  # deliveries
MAX_TEXT = 16384  # bytes of a body, and characters of what a handler printed, that are kept: 32 MB for all
_MINUTE, _MINUTES = 60, 60  # of the plot

Record = dict[str, Any]
# Where what the handler prints goes that runs in this context.
_output: ContextVar[list[str] | None] = ContextVar("output", default=None)


class RecentDeliveries:
    """Each is a record that JSON can hold. `changes` counts whatever is new of any of them."""

    def __init__(self) -> None:
        self.changes = 0
        self._number = 0
        self._records: deque[Record] = deque(maxlen=MOST)
        self._runs: OrderedDict[str, list[Record]] = OrderedDict()  # by the key of their event
        self._minutes: OrderedDict[int, Record] = OrderedDict()

    def add_event(
        self, event: Event, source: Source, verdict: DispatchVerdict, client: str, duration: float, table: RoutingTable
    ) -> None:
        """One that was genuine, whatever became of it. With an inbox its handlers may run later."""
        record = self._add(source, client, verdict.status, verdict.outcome, verdict.detail, event.headers, event.data)
        record.update(
            type=event.type,
            id=None if event.id is None else to_text(event.id),
            duration_ms=round(duration * 1000, 1),
            routes=route_reasons(table, event),
            runs=self._runs_of(event.key),
        )

    def add_refused(
        self, source: Source | None, error: Rejected, client: str, headers: Headers, query: bytes, data: bytes
    ) -> None:
        """A delivery that brought no event, with each step of the check."""
        record = self._add(source, client, error.status, error.reason, error.detail, headers, data)
        if source is not None:
            record["steps"] = proof_steps(source, headers, query, data, time.time())

    def _add(
        self,
        source: Source | None,
        client: str,
        status: int,
        outcome: str,
        reason: str,
        headers: Headers,
        data: bytes,
    ) -> Record:
        self.changes += 1
        self._number += 1
        now = time.time()
        record: Record = {
            "number": self._number,
            "time": now,
            "source": source.name if source is not None else "",
            "client": client,
            "status": status,
            "outcome": outcome,
            "reason": reason,
            "type": "",
            "id": None,
            "duration_ms": None,
            "size": len(data),
            "headers": [
                [name.decode("latin-1"), header_without_secrets(source, name, value)]
                for name, value in storable_headers(headers)
            ],
            "body": text_without_secrets(source, data[: 2 * MAX_TEXT])[:MAX_TEXT],
            "steps": [],
            "routes": [],
            "runs": [],
        }
        self._records.append(record)
        self._count(int(now // _MINUTE), "succeeded" if status < 300 else "refused" if status < 500 else "failed")
        return record

    def _count(self, minute: int, what: str) -> None:
        counts = self._minutes.setdefault(minute, {"succeeded": 0, "refused": 0, "failed": 0})
        counts[what] += 1
        while len(self._minutes) > _MINUTES:
            self._minutes.popitem(last=False)

    def _runs_of(self, key: str) -> list[Record]:
        found = self._runs.setdefault(key, [])
        self._runs.move_to_end(key)
        while len(self._runs) > MOST:
            self._runs.popitem(last=False)
        return found

    def find(self, number: int) -> Record | None:
        return next((record for record in self._records if record["number"] == number), None)

    def summaries(self) -> list[Record]:
        """Newest first, without what was sent."""
        names = ("number", "time", "source", "client", "status", "outcome", "reason", "type", "id", "duration_ms")
        return [{name: record[name] for name in names} for record in reversed(self._records)]

    def minutes(self) -> list[Record]:
        """The last hour, oldest first, each minute with its start in seconds."""
        last = int(time.time() // _MINUTE)
        empty = {"succeeded": 0, "refused": 0, "failed": 0}
        return [
            {"start": minute * _MINUTE, **self._minutes.get(minute, empty)}
            for minute in range(last - _MINUTES + 1, last + 1)
        ]

    def watched_report(self, report: Callable[[str], None]) -> Callable[[str], None]:
        """`report`, which also keeps what the handler of this context says."""

        def keep_and_report(text: str) -> None:
            lines = _output.get()
            if lines is not None and sum(map(len, lines)) < MAX_TEXT:
                lines.append(text[:MAX_TEXT])
            report(text)

        return keep_and_report

    @contextmanager
    def watch_run(self, event: Event, job: str, result: RunResult) -> Iterator[None]:
        """Around one run of a handler, which tells `result` how it ended."""
        lines: list[str] = []
        token = _output.set(lines)
        started = time.time()
        try:
            yield
        finally:
            _output.reset(token)
            self.changes += 1
            self._runs_of(event.key).append(
                {
                    "job": job,
                    "started": started,
                    "duration_ms": round((time.time() - started) * 1000, 1),
                    "failure": result.failed.get(job),
                    "output": [line.removeprefix(f"{job}: ") for line in lines],
                }
            )
