"""Shapes of what the rules of a policy are about."""

from __future__ import annotations

from typing import Annotated, Any, Required

from pydantic import Field

from .base import Name, Shape, pattern


class ContainerDefinition(Shape, total=False):
    """A kind of thing that holds others, such as a project: rules can name single ones by this kind's id."""

    help: Required[Name]
    keys: Required[
        Annotated[
            list[Name],
            Field(
                min_length=1,
                description="Parameters, and keys of a body at any depth, that name one or something it holds.",
            ),
        ]
    ]
    pattern: Required[
        Annotated[
            str,
            pattern(description="A value that tells which one it is: its first group. Others do not.", groups=1),
        ]
    ]
    key: Annotated[Name, Field(description="Where a value is an object, the key of it that holds the name.")]


KINDS: dict[str, Any] = {"container": ContainerDefinition}
