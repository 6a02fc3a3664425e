"""What a sender is told of its delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..handlers.reply import MadeReply
    from .runner import RunResult


class DispatchVerdict(NamedTuple):
    """`reply` is an answer that a route made."""

    status: int
    outcome: str
    detail: str = ""
    reply: MadeReply | None = None


ACCEPTED = DispatchVerdict(200, "accepted")
DUPLICATE = DispatchVerdict(200, "duplicate")
INTERRUPTED = DispatchVerdict(500, "failed", "interrupted")


def verdict_of(result: RunResult) -> DispatchVerdict:
    """With the answer of the first route that made one; one that refuses counts only where nothing else failed."""
    if result.failed:
        return failure(result)
    reply = next(iter(result.replies.values()), None)
    return ACCEPTED if reply is None else ACCEPTED._replace(status=reply.status, reply=reply)


def failure(result: RunResult) -> DispatchVerdict:
    detail = "; ".join(f"{job}: {text}" for job, text in result.failed.items())
    if result.failed.keys() <= result.replies.keys():
        reply = next(reply for job, reply in result.replies.items() if job in result.failed)
        return DispatchVerdict(reply.status, "failed", detail, reply)
    return DispatchVerdict(503, "saturated", detail) if result.saturated else DispatchVerdict(500, "failed", detail)
