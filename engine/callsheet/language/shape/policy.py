"""Shapes of what the rules of a policy are about."""

from __future__ import annotations

from typing import Annotated, Any, Required

from pydantic import Field

from .base import Expression, Name, Shape, keyed_by, pattern


class ContainerDefinition(Shape, total=False):
    """A kind of thing that requests are about, such as a project: rules can name single ones by this kind's id."""

    help: Required[Name]
    keys: Annotated[
        list[Name],
        Field(
            min_length=1,
            description="Parameters, and keys of a body at any depth, that name one or something it holds.",
        ),
    ]
    bodies: Annotated[
        dict[Name, Expression],
        keyed_by(
            "operation",
            description="Operations whose whole body tells which one it is, and by what expression; null where none.",
        ),
    ]
    pattern: Required[
        Annotated[
            str,
            pattern(description="A value that tells which one it is: its first group. Others do not.", groups=1),
        ]
    ]
    within: Annotated[
        list[str],
        Field(
            description="Paths, perhaps behind a method, of requests about something by its id: not saying where it is."
        ),
    ]
    searches: Annotated[
        list[str],
        Field(
            description="Paths, perhaps behind a method, where a query decides what is found: without one it is all."
        ),
    ]
    queries: Annotated[list[Name], Field(description="Parameters, and keys of a body, that hold a query.")]
    fields: Annotated[
        list[Name], Field(description="Fields that restrict a query to some, by what `pattern` finds in their values.")
    ]
    query_pattern: Annotated[
        str,
        pattern(description="In the place of `pattern` in a query, where that can say another name, too.", groups=1),
    ]
    key: Annotated[Name, Field(description="Where a value is an object, the key of it that holds the name.")]


KINDS: dict[str, Any] = {"container": ContainerDefinition}
