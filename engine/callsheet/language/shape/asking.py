"""Shapes of what a person at a terminal is asked for."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Expression, Name, Shape, Value, reference
from .rules import KeyRule, Rules


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
    editor: Annotated[bool, Field(description="It is written in the person's editor, as Markdown.")]
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
        *(KeyRule(key, needs=("fields",)) for key in ("assign", "required", "values")),
        KeyRule("word", needs=("lookup",)),
    )
}
