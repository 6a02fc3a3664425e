"""Shapes of the programs that run coding agents."""

from __future__ import annotations

from typing import Any, Required

from .base import Name, Shape
from .servers import ServerList


class HostDefinition(Shape, total=False):
    """A program that runs coding agents."""

    title: Required[Name]
    servers: ServerList


KINDS: dict[str, Any] = {"host": HostDefinition}
