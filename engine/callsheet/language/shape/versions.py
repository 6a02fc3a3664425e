"""Shapes of changes to things that have versions: what is no change, and what somebody else changed meanwhile."""

from __future__ import annotations

from typing import Annotated, Required

from pydantic import Field

from .base import Args, Expression, OperationId, Shape, Template, Value, Words


class OnConflict(Shape, total=False):
    """What happens when a change is refused because the thing is no longer what was read.

    The step that read it runs again. When `unchanged` is then what it was, the change is sent once more on top of the
    new state; otherwise the command fails with `fail`, which sees the new state, and `who` if `call` found it.
    """

    step: Required[Annotated[str, Field(description="The `as` of the step that read it.")]]
    unchanged: Required[Annotated[Expression, Field(description="Of what was read: what must not have changed.")]]
    call: Annotated[OperationId, Field(description="Operation that names who changed it.")]
    args: Args
    who: Annotated[Expression, Field(description="The name in the answer of `call`.")]
    fail: Required[Template]


class UnlessSame(Shape, total=False):
    """Nothing is sent where the request would say what was read: its answer is then what was read."""

    step: Required[Annotated[str, Field(description="The `as` of the step that read it.")]]
    body: Required[
        Annotated[
            dict[str, Value],
            Field(description="What the body is where nothing is to be changed; sees what would be sent as `asked`."),
        ]
    ]
    apart: Annotated[list[str], Field(description="Keys of the body that are not compared: its next version.")]
    note: Annotated[Words, Field(description="Said instead; where that is nothing, nothing is said.")]
