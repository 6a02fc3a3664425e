"""What a resource is called in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...language.shape.resources import ResourceDefinition


def title_of(id: str, definition: ResourceDefinition) -> str:
    """What one is called: its title, else its id in words."""
    return definition.get("title", id.replace("-", " "))


def plural_of(id: str, definition: ResourceDefinition) -> str:
    """What several are called."""
    return definition.get("plural", f"{title_of(id, definition)}s")
