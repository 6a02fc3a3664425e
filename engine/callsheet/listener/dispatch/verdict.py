"""What a sender is told of its delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .runner import Outcome


class Verdict(NamedTuple):
    status: int
    word: str
    detail: str = ""


ACCEPTED = Verdict(200, "accepted")
DUPLICATE = Verdict(200, "duplicate")


def failure(outcome: Outcome) -> Verdict:
    detail = "; ".join(f"{job}: {text}" for job, text in outcome.failed.items())
    return Verdict(503, "saturated", detail) if outcome.saturated else Verdict(500, "failed", detail)
