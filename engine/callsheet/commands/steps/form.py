"""A text with fields above it, as a person fills it in: lines `NAME: VALUE` between two dashes, then the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import UsageError, did_you_mean

_FENCE = "---"
_MOST_VALUES = 20
_HEAD = """\
# Lines that start with # are ignored, and so are fields without a value.
# The text goes below the second line of dashes, as Markdown. An empty file sends nothing.
"""


class FormField(NamedTuple):
    """`values` are those that it takes, where the service says so."""

    name: str
    required: bool = False
    values: Sequence[str] = ()


def form(fields: Sequence[FormField]) -> str:
    """What is shown at first: the required fields, then the others."""
    ordered = sorted(fields, key=lambda field: not field.required)
    return f"{_FENCE}\n{_HEAD}{''.join(line for field in ordered for line in _lines(field))}{_FENCE}\n\n"


def _lines(field: FormField) -> Iterator[str]:
    notes = ["required"] if field.required else []
    if field.values:
        more = ", ..." if len(field.values) > _MOST_VALUES else ""
        notes.append(f"one of: {', '.join(field.values[:_MOST_VALUES])}{more}")
    if notes:
        yield f"# {'; '.join(notes)}\n"
    yield f"{field.name}:\n"


def read_form(text: str, fields: Sequence[FormField]) -> tuple[list[str], str]:
    """`NAME=VALUE` words and the text below. Raises `UsageError` with the line that is wrong."""
    lines = text.split("\n")
    fences = [place for place, line in enumerate(lines) if line.strip() == _FENCE][:2]
    if len(fences) < 2 or any(line.strip() for line in lines[: fences[0]]):
        raise UsageError(f"the fields have to stand between two lines of {_FENCE}, above the text")
    known = {field.name.casefold(): field for field in fields}
    words = [
        _word(line, number, known)
        for number, line in enumerate(lines[fences[0] + 1 : fences[1]], fences[0] + 2)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    given = {word.partition("=")[0] for word in words if word}
    lacking = [field.name for field in fields if field.required and field.name not in given]
    if lacking:
        raise UsageError(f"a value is needed for {', '.join(lacking)}")
    return [word for word in words if word], "\n".join(lines[fences[1] + 1 :]).strip("\n")


def _word(line: str, number: int, known: dict[str, FormField]) -> str:
    name, colon, value = line.partition(":")
    while colon and name.strip().casefold() not in known and ":" in value:  # a name may hold colons itself
        more, colon, value = value.partition(":")
        name = f"{name}:{more}"
    if not colon:
        raise UsageError(f"line {number}: expected NAME: VALUE, not {line.strip()!r}")
    field = known.get(name.strip().casefold())
    if field is None:
        near = did_you_mean(name.strip(), [each.name for each in known.values()])
        raise UsageError(f"line {number}: no field {name.strip()!r}{near}")
    value = value.strip()
    if value and field.values:
        _check_value(value, field, number)
    return f"{field.name}={value}" if value else ""


def _check_value(value: str, field: FormField, number: int) -> None:
    """One of those that the service names, or several with commas between."""
    known = {each.casefold() for each in field.values}
    if value.casefold() in known:
        return
    for piece in map(str.strip, value.split(",")):
        if piece and piece.casefold() not in known:
            near = did_you_mean(piece, field.values)
            raise UsageError(f"line {number}: {field.name}: unknown value {piece!r}{near}")
