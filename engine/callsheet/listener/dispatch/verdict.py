"""What a sender is told of its delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .runner import RunResult


class Verdict(NamedTuple):
    status: int
    outcome: str
    detail: str = ""


ACCEPTED = Verdict(200, "accepted")
DUPLICATE = Verdict(200, "duplicate")


def failure(result: RunResult) -> Verdict:
    detail = "; ".join(f"{job}: {text}" for job, text in result.failed.items())
    return Verdict(503, "saturated", detail) if result.saturated else Verdict(500, "failed", detail)
