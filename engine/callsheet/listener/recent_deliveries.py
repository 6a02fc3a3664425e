"""The last deliveries of a listener, in memory: why each was refused, which routes took it, how its handlers ended."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..language.compiled_jmespath import compile_condition
from ..language.template import to_text
from .newest_only import NewestOnly
from .queue.queue_port import storable_headers
from .routes import is_for_type
from .verify.payload import Rejected
from .verify.proofs import PlainToken, SignatureProof

if TYPE_CHECKING:
    from .dispatcher import DispatchVerdict, RunResult
    from .routes import Route, RoutingTable
    from .verify.event import Event
    from .verify.proofs import Headers
    from .verify.signed_tokens import TokenVerifier
    from .verify.source import Source

# Why a delivery was refused, step by step, and why a route did or did not take an event.

_SHOWN = 200  # characters of the bytes that have to be signed
_BEGINNING = 12  # characters of a signature
Step = dict[str, Any]


def text_without_secrets(source: Source | None, data: bytes) -> str:
    """Some senders send their secret as it is, in a header or in the body: it is shown nowhere."""
    proof = source.proof if source is not None else None
    for secret in proof.keys if isinstance(proof, PlainToken) else ():
        data = data.replace(secret, b"(not shown)")
    return data.decode("utf-8", "backslashreplace")


def header_without_secrets(source: Source | None, name: bytes, value: bytes) -> str:
    """A token in a header is a credential for as long as it is valid."""
    if source is not None and source.tokens is not None and name == source.tokens.header.lower().encode():
        return "(not shown)"
    return text_without_secrets(source, value)


def proof_steps(source: Source, headers: Headers, query: bytes, data: bytes, now: float) -> list[Step]:
    """What was looked at, in order: `ok` is whether it is as it has to be, or nothing where it only informs."""
    steps = [_proof_step(f"POST {source.path}, {len(data)} bytes")]
    if source.tokens is not None:
        steps.extend(_token_steps(source, source.tokens, headers, query, data, now))
    if source.proof is not None:
        steps.extend(_proof_steps(source, headers, query, data, now))
    if not source.is_verified:
        steps.append(_proof_step("this source is served without a secret or a key set: nothing is verified"))
    return steps


def _proof_step(text: str, *, ok: bool | None = None) -> Step:
    return {"ok": ok, "text": text}


def _token_steps(
    source: Source, tokens: TokenVerifier, headers: Headers, query: bytes, data: bytes, now: float
) -> Iterator[Step]:
    """The token's own header is only read here, to say what it names."""
    from jwt import InvalidTokenError, get_unverified_header

    try:
        token = tokens.token_of(headers, data)
    except Rejected as refused:
        yield _proof_step(refused.detail, ok=False)
        return
    try:
        named = get_unverified_header(token)
    except InvalidTokenError:
        yield _proof_step(f"{tokens.place} is not a signed token (JWT): it has no header that can be read", ok=False)
        return
    yield _proof_step(f"a token: alg={str(named.get('alg'))[:40]} kid={str(named.get('kid'))[:80]}")
    try:
        assert source.find_key is not None  # noqa: S101 - else it verifies no tokens
        claims, _ = tokens.verified_claims(token, source.find_key, now)
        tokens.check_request(claims, source.path, query)
    except Rejected as refused:
        yield _proof_step(refused.detail, ok=False)
    else:
        yield _proof_step("signature and claims of the token", ok=True)


def _proof_steps(source: Source, headers: Headers, query: bytes, data: bytes, now: float) -> Iterator[Step]:
    proof, request = source.proof, source.request_of(query)
    assert proof is not None  # noqa: S101 - the caller asked
    if isinstance(proof, SignatureProof):
        try:
            candidates = proof.signed.sent_signatures(headers, data)
            beginnings = ", ".join(f"{each[:_BEGINNING].decode('latin-1')}..." for each in candidates)
            yield _proof_step(f"signatures in {proof.signed.name}: {beginnings or 'none'}", ok=bool(candidates))
            message = proof.signed.signed_message(headers, data, now, request)
        except Rejected as refused:
            yield _proof_step(refused.detail, ok=False)
            return
        rest = "..." if len(message) > _SHOWN else ""
        shown = message[:_SHOWN].decode("utf-8", "backslashreplace") + rest
        yield _proof_step(f"{len(message)} bytes have to be signed ({proof.algorithm}): {shown}")
    what = proof.what if isinstance(proof, SignatureProof) else "secret"
    try:
        for number, matches in enumerate(proof.matching_secrets(headers, data, now, request), 1):
            yield _proof_step(f"{what} {number} {'matches' if matches else 'does not match'}", ok=matches)
    except Rejected as refused:
        yield _proof_step(refused.detail, ok=False)


def route_reasons(table: RoutingTable, event: Event) -> list[dict[str, Any]]:
    """Each route, whether it took the event, and why not."""
    plan = table.plan_of_event(event)
    if not plan.wanted:
        why = "the type is not among those of --events" if plan.known else "the source defines no such type"
        return [{"route": route.name, "took": False, "why": why} for route in table.routes]
    return [_route_reason(route, event) for route in table.routes]


def _route_reason(route: Route, event: Event) -> dict[str, Any]:
    definition = route.definition
    why = ""
    if event.source.name not in definition.get("source", (event.source.name,)):
        why = f"it takes events of {', '.join(definition['source'])}"
    elif not is_for_type(definition, event.source.name, event.type):
        why = f"it takes the types {', '.join(definition['on'])}"
    elif "when" in definition and not compile_condition(definition["when"])(event.fast_scope):
        why = f"its condition does not hold: {definition['when']}"
    return {"route": route.name, "took": not why, "why": why}


# The last deliveries of a listener, in memory: what was sent, why it was refused, what its handlers did.

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
        self._runs: NewestOnly[str, list[Record]] = NewestOnly(MOST)  # by the key of their event
        self._minutes: NewestOnly[int, Record] = NewestOnly(_MINUTES)

    def add_event(
        self, event: Event, source: Source, verdict: DispatchVerdict, client: str, duration: float, table: RoutingTable
    ) -> None:
        """One that was genuine, whatever became of it. With an inbox its handlers may run later."""
        record = self._add_delivery(
            source, client, verdict.status, verdict.outcome, verdict.detail, event.headers, event.data
        )
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
        record = self._add_delivery(source, client, error.status, error.reason, error.detail, headers, data)
        if source is not None:
            record["steps"] = proof_steps(source, headers, query, data, time.time())

    def _add_delivery(
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
        self._count_minute(
            int(now // _MINUTE), "succeeded" if status < 300 else "refused" if status < 500 else "failed"
        )
        return record

    def _count_minute(self, minute: int, what: str) -> None:
        counts = self._minutes[minute] = self._minutes.get(minute, {"succeeded": 0, "refused": 0, "failed": 0})
        counts[what] += 1

    def _runs_of(self, key: str) -> list[Record]:
        found = self._runs[key] = self._runs.get(key, [])
        return found

    def find_delivery(self, number: int) -> Record | None:
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
