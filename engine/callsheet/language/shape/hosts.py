"""Shapes of the programs that run coding agents."""

from __future__ import annotations

from typing import Any, Required

from .base import Name, Shape
from .guards import GuardDefinition
from .servers import ServerList


class HostDefinition(Shape, total=False):
    """A program that runs coding agents."""

    title: Required[Name]
    servers: ServerList
    guard: GuardDefinition


KINDS: dict[str, Any] = {"host": HostDefinition}
