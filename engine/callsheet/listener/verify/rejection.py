"""Why a delivery was not accepted, and what the sender is told."""

from __future__ import annotations

NO_EVENT = 400
UNAVAILABLE = 503  # whether it is genuine cannot be told now


class Rejected(Exception):
    """`reason` is one of a few words, for figures; `detail` is for the log and is never sent."""

    __slots__ = ("detail", "reason", "status")

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.detail = detail


def not_genuine(reason: str, detail: str) -> Rejected:
    return Rejected(401, reason, detail)


def unreadable(detail: str) -> Rejected:
    return Rejected(NO_EVENT, "unreadable", detail)
