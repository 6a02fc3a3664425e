"""What the shapes of all kinds share.

A definition is a plain mapping at run time, typed by these `TypedDict`s; pydantic reads the same classes when
definitions are checked and when the JSON Schema for editors is made. Nothing here is imported on the start-up path.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

STRICT = ConfigDict(extra="forbid", strict=True)

Expression = Annotated[
    str,
    Field(description="A JMESPath expression.", json_schema_extra={"format": "jmespath"}),
]
# One that may be the same whatever it is applied to.
AnyExpression = Annotated[Expression, Field(json_schema_extra={"format": "jmespath", "constant": True})]
Template = Annotated[
    str,
    Field(
        description="Text with {expression} placeholders; {{ and }} are literal braces.",
        json_schema_extra={"format": "template"},
    ),
]
SOME_WORDS = r"\S"
Words = Annotated[Template, StringConstraints(pattern=SOME_WORDS)]  # a template that is said to a person
Value = Annotated[
    Any,
    Field(
        description="Any value; strings inside it may hold {expression} placeholders.",
        json_schema_extra={"format": "value"},
    ),
]
Name = Annotated[
    str,
    StringConstraints(min_length=1, pattern=r"^\S(.*\S)?$"),
    Field(json_schema_extra={"single_line": True}),
]
HeaderName = Annotated[
    str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"), Field(description="The name of a header.")
]
HeaderText = Annotated[
    str, StringConstraints(pattern=r"^[\x20-\x7e]*$"), Field(description="Plain ASCII without line breaks.")
]


def reference(kind: str, *, description: str) -> Any:
    """Metadata of a key whose value must be the id of a definition of `kind`."""
    return Field(description=description, json_schema_extra={"reference": kind})


def named(registry: str, *, description: str) -> Any:
    """Metadata of a template whose value is one of the names of a registry."""
    return Field(description=description, json_schema_extra={"format": "template", "named": registry})


def seeing(*names: str) -> Any:
    """Metadata of a key whose expressions see these names and nothing else."""
    return Field(json_schema_extra={"sees": list(names)})


def keyed_by(kind: str, *, description: str) -> Any:
    """Metadata of a table whose keys must be ids of definitions of `kind`."""
    return Field(description=description, json_schema_extra={"keys": kind})


def pattern(*, description: str, groups: int = 0) -> Any:
    """Metadata of a regular expression, with at least so many groups."""
    return Field(description=description, json_schema_extra={"format": "regex", "groups": groups})


OperationId = Annotated[str, reference("operation", description="The operation it calls.")]
Args = Annotated[dict[str, Value], Field(description="The operation's parameters.")]


class Shape(TypedDict, total=False):
    """The base of every shape: unknown keys are refused."""

    __pydantic_config__ = STRICT  # type: ignore[misc] # how pydantic wants it; no key
