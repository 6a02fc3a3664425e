"""Shapes of what a person at a terminal is asked for."""

from __future__ import annotations

from typing import Annotated, Required

from pydantic import Field

from .base import Args, Expression, Name, OperationId, Shape, Template, Value, reference
from .key_rules import KeyRule, Rules


class Start(Shape, total=False):
    """What stands in the editor at first: the rich text of something that is read before, as Markdown."""

    call: Required[OperationId]
    args: Args
    value: Required[Annotated[Expression, Field(description="The rich text in the answer.")]]
    format: Required[Annotated[Template, Field(description="Its format: storage, adf or wiki.")]]
    before: Annotated[
        Template, Field(description="What stands above it, such as front matter; sees found, the answer.")
    ]


class Ask(Shape, total=False):
    """How a missing value is asked for at a terminal. Required ones are asked for without it too."""

    question: Annotated[str, Field(description="Default: the name and the help of the parameter.")]
    when: Annotated[Expression, Field(description="Only where this is true; it sees what was given.")]
    lookup: Annotated[
        str, reference("lookup", description="Its candidates are offered. Default: the parameter's own lookup.")
    ]
    word: Annotated[Expression, Field(description="Of a candidate: the word that is given for it.")]
    # `with` would be the natural name, but is a keyword of Python
    sees: Annotated[dict[Name, Value], Field(description="Names that the arguments of the lookup see beside.")]
    editor: Annotated[bool, Field(description="It is written in the person's editor, or piped in, as Markdown.")]
    start: Start
    fields: Annotated[
        str,
        reference("lookup", description="In the editor, its candidates stand above the text, as lines NAME: VALUE."),
    ]
    assign: Annotated[Name, Field(description="With `fields`: the parameter that takes the lines, as NAME=VALUE.")]
    required: Annotated[Expression, Field(description="With `fields`, of a candidate: whether it needs a value.")]
    values: Annotated[Expression, Field(description="With `fields`, of a candidate: the names of the values it takes.")]


RULES: Rules = {
    "Ask": (
        KeyRule("fields", needs=("editor", "assign")),
        KeyRule("start", needs=("editor",), without=("fields",)),
        *(KeyRule(key, needs=("fields",)) for key in ("assign", "required", "values")),
        KeyRule("word", needs=("lookup",)),
    )
}
