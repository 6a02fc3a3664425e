"""The shape of what the language remembers of its earlier versions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from .base import Shape


class RenamedDefinition(Shape, total=False):
    """What was called differently in one kind of definition, whose name is the id."""

    keys: Annotated[
        dict[str, str], Field(description="Key → what it is called now; `params.key` is one of the tables in `params`.")
    ]
    ids: Annotated[dict[str, str], Field(description="Id of a built-in definition → what it is called now.")]
    table: Annotated[str, Field(description="The table of a resource that such a definition is now.")]
    into: Annotated[dict[str, str], Field(description="Key → the table that it stands in now.")]
    gone: Annotated[dict[str, str], Field(description="Id of a definition that is gone → what to use instead.")]


KINDS: dict[str, Any] = {"renamed": RenamedDefinition}
