"""What a sender is told of its delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .runner import RunResult


class DispatchVerdict(NamedTuple):
    status: int
    outcome: str
    detail: str = ""


ACCEPTED = DispatchVerdict(200, "accepted")
DUPLICATE = DispatchVerdict(200, "duplicate")
INTERRUPTED = DispatchVerdict(500, "failed", "interrupted")


def failure(result: RunResult) -> DispatchVerdict:
    detail = "; ".join(f"{job}: {text}" for job, text in result.failed.items())
    return DispatchVerdict(503, "saturated", detail) if result.saturated else DispatchVerdict(500, "failed", detail)
