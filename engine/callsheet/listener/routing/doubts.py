"""What is allowed in routes and may go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .unreachable import warnings

if TYPE_CHECKING:
    from .route_set import RouteSet


def doubts(rules: RouteSet, only: Sequence[str]) -> list[str]:
    """`only` are the types that are handled at all."""
    return [*warnings(rules, only), *doubts_of_handlers(rules)]


def doubts_of_handlers(rules: RouteSet) -> list[str]:
    jobs = [job for route in rules.routes for job in route.jobs]
    return [f"handler {job.id}: {text}" for job in jobs for text in job.handler.doubts()]
