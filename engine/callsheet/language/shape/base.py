"""What the shapes of all kinds share: their keys, which go together, and those that a registry's entry brings."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Required, get_args, get_origin

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, StringConstraints
from typing_extensions import TypedDict, get_type_hints

from ...registry import REGISTRIES, resolve_entry

# What the shapes of all kinds share.
#
# A definition is a plain mapping at run time, typed by these `TypedDict`s; pydantic reads the same classes when
# definitions are checked and when the JSON Schema for editors is made. Nothing here is imported on the start-up
# path.


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
EXPECTED: dict[str, str] = {}
NEVER_QUOTED: set[str] = set()  # patterns: what does not fit them may be a secret


def fitting(pattern: str, expected: str, *, quoted: bool = True) -> Any:
    """Metadata of a text that has to fit a pattern. `expected` is what a person is told of one that does not.

    Not `quoted`: errors do not say what was given.
    """
    EXPECTED[pattern] = expected
    if not quoted:
        NEVER_QUOTED.add(pattern)
    return Field(pattern=pattern)


SomeWords = fitting(r"\S", "some words, not nothing")
Words = Annotated[Template, SomeWords]  # a template that is said to a person
HelpText = Annotated[str, SomeWords]
Value = Annotated[
    Any,
    Field(
        description="Any value; strings inside it may hold {expression} placeholders.",
        json_schema_extra={"format": "value"},
    ),
]
Name = Annotated[
    str,
    StringConstraints(min_length=1),
    fitting(r"^\S(.*\S)?$", "one line without blanks at its ends"),
    Field(json_schema_extra={"single_line": True}),
]
Word = Annotated[
    str,
    fitting(r"^[^\s-]\S*$", "one word that does not begin with -"),
    Field(description="A word of a command line."),
]
HeaderName = Annotated[
    str,
    fitting(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", "the name of a header: letters, digits and -"),
    Field(description="The name of a header."),
]
HeaderText = Annotated[
    str,
    fitting(r"^[\x20-\x7e]*$", "plain ASCII without line breaks"),
    Field(description="Plain ASCII without line breaks.", json_schema_extra={"format": "literal"}),
]
# Sent as it stands: nothing is filled into the texts in it.
LiteralValue = Annotated[Any, Field(json_schema_extra={"format": "literal"})]


def reference_to(kind: str, *, description: str) -> Any:
    """Metadata of a key whose value must be the id of a definition of `kind`."""
    return Field(description=description, json_schema_extra={"reference": kind})


def named_in(registry: str, *, description: str) -> Any:
    """Metadata of a template whose value is one of the names of a registry."""
    return Field(description=description, json_schema_extra={"format": "template", "named": registry})


def seeing_names(*names: str) -> Any:
    """Metadata of a key whose expressions see these names and nothing else."""
    return Field(json_schema_extra={"sees": list(names)})


def giving(*kinds: str) -> Any:
    """Metadata of a key whose expression has to give a value of one of these kinds, as `type` calls them, or null."""
    return Field(json_schema_extra={"gives": list(kinds)})


ItemsExpression = Annotated[Expression, giving("array", "object")]  # one thing alone is as good as a list of it
ListExpression = Annotated[Expression, giving("array")]
NumberExpression = Annotated[Expression, giving("number")]
ScalarExpression = Annotated[Expression, giving("string", "number")]


def file_path(*, description: str, is_template: bool = False) -> Any:
    """Metadata of the path of a file or a folder, which is used as it is written: no shell reads it."""
    form = {"format": "template"} if is_template else {}
    return Field(description=description, json_schema_extra={**form, "path": True})


def keyed_by(kind: str, *, description: str) -> Any:
    """Metadata of a table whose keys must be ids of definitions of `kind`."""
    return Field(description=description, json_schema_extra={"keys": kind})


def pattern_key(*, description: str, groups: int = 0, is_part: bool = False) -> Any:
    """Metadata of a regular expression, with at least so many groups; one that is part of another has none."""
    return Field(description=description, json_schema_extra={"format": "regex", "groups": groups, "part": is_part})


OperationId = Annotated[str, reference_to("operation", description="The operation it calls.")]
Args = Annotated[dict[str, Value], Field(description="The operation's parameters.")]


class Shape(TypedDict, total=False):
    """The base of every shape: unknown keys are refused."""

    __pydantic_config__ = STRICT  # type: ignore[misc] # how pydantic wants it; no key


# Which keys of a table go together. Each shape's module states its own; the check and the JSON Schema follow them.


class KeyRule(NamedTuple):
    """Of a table that has the key `having` (with one of `values`, where some are named).

    `needs`: it must have one of these as well. `without`: it must have none of these.
    """

    having: str
    values: tuple[Any, ...] = ()
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


Rules = dict[str, tuple[KeyRule, ...]]  # by the name of the shape


# Tables whose keys follow from the entry of a registry that they name: each entry brings the shape of its own.


BY_ENTRY = "by_entry"  # in a JSON Schema: the registry, the key that names the entry, the keys of all entries


class KeysOf:
    """Metadata of a shape with the keys that all entries of a registry share; `key` names the entry."""

    def __init__(self, registry: str, key: str) -> None:
        self.registry = registry
        self.key = key

    def __get_pydantic_core_schema__(self, shared: Any, handler: GetCoreSchemaHandler) -> Any:
        """The shape of a table of any entry, known now: entries may have been added."""
        keys = of_all = get_type_hints(shared, include_extras=True)
        for name in REGISTRIES[self.registry]:
            own = {
                key: _optional_hint(hint) for key, hint in _type_hints(self.registry, name).items() if key not in of_all
            }
            keys = keys | {key: hint | keys.get(key, hint) for key, hint in own.items()}
        make: Any = TypedDict
        whole = make(shared.__name__, keys, total=False)
        extra: Any = {BY_ENTRY: [self.registry, self.key, sorted(of_all)]}
        whole.__pydantic_config__ = ConfigDict(**STRICT, json_schema_extra=extra)
        whole.__doc__ = shared.__doc__
        return handler.generate_schema(whole)


def own_shape(registry: str, name: str) -> Any:
    """The shape of an entry's own table: its class, or where it is found."""
    shape: Any = getattr(resolve_entry(REGISTRIES[registry][name]), "shape")  # noqa: B009 -- what entries are is theirs
    return resolve_entry(shape) if isinstance(shape, str) else shape


def own_keys(registry: str, name: str) -> dict[str, bool]:
    """The keys of an entry's own table, and whether it cannot do without."""
    return {key: get_origin(hint) is Required for key, hint in _type_hints(registry, name).items()}


def _type_hints(registry: str, name: str) -> dict[str, Any]:
    return get_type_hints(own_shape(registry, name), include_extras=True)


def _optional_hint(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Required else hint


# The shape of what the language remembers of its earlier versions.


class RenamedDefinition(Shape, total=False):
    """What was called differently in one kind of definition, whose name is the id."""

    keys: Annotated[
        dict[str, str], Field(description="Key → what it is called now; `params.key` is one of the tables in `params`.")
    ]
    ids: Annotated[dict[str, str], Field(description="Id of a built-in definition → what it is called now.")]
    table: Annotated[str, Field(description="The table of a resource that such a definition is now.")]
    of: Annotated[str, Field(description="The kind whose table it is, if no resource: a key of this name tells which.")]
    into: Annotated[dict[str, str], Field(description="Key → the table that it stands in now.")]
    gone: Annotated[dict[str, str], Field(description="Id of a definition that is gone → what to use instead.")]


KINDS: dict[str, Any] = {"renamed": RenamedDefinition}
