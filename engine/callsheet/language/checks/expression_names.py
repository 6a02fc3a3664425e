"""Whether expressions name what is there, and whether it is clear what a name in a filter means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...errors import did_you_mean
from ..locate import Path
from ..scopes import begins_in_all, marked_names, names_of_items, root_names
from ..template import TemplateError, expressions_in_text

Faults = Iterator[tuple[Path, str]]

# What expressions see besides the parameters of a command.
RESERVED = frozenset({"given", "named", "site", "output", "columns", "needed"})


def unusable_names(names: Collection[str], taken: Collection[str] = ()) -> Iterator[str]:
    """Why expressions could not use the names that a definition gives to something, for each where that is so."""
    for name in sorted(names):
        if name in RESERVED or name in taken:
            yield f"expressions see something else as {name!r}: give it another name"
        elif not name.isidentifier():
            yield f"{name!r} cannot be written in expressions: letters, digits and _ only"


def value_faults(value: Any, names: Collection[str], at: Path) -> Faults:
    """Of the placeholders in a (nested) value. They are told at the place of the whole value, each once."""
    told = dict.fromkeys(text for expression in _expressions(value) for text in _faults(expression, names))
    yield from ((at, text) for text in told)


def expression_faults(expression: str, names: Collection[str], at: Path) -> Faults:
    yield from ((at, text) for text in dict.fromkeys(_faults(expression, names)))


def part_faults(expression: str, names: Collection[str], at: Path) -> Faults:
    """Of an expression over a part of what is known, such as an answer: only `$name` is a name of the command."""
    unknown = (
        f"'${name}' is not known here{did_you_mean(name, names)}"
        for name in marked_names(expression)
        if name not in names
    )
    yield from ((at, text) for text in dict.fromkeys([*unknown, *_hidden(expression, names)]))


def _expressions(value: Any) -> Iterator[str]:
    """Those in placeholders; broken ones are none of this check's business."""
    if isinstance(value, str):
        try:
            yield from expressions_in_text(value)
        except TemplateError:
            return
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _expressions(part)


def _faults(expression: str, names: Collection[str]) -> Iterator[str]:
    for name in root_names(expression):
        if name not in names:
            yield f"{name!r} is not known here{did_you_mean(name, names)}"
    if begins_in_all(expression):
        yield "this reads everything that is known here, not an answer: name the answer with 'as' in a step"
    yield from _hidden(expression, names)


def _hidden(expression: str, names: Collection[str]) -> Iterator[str]:
    """Names in filters that the command knows too. Who writes `tag == $tag` has told the two apart."""
    marked = set(marked_names(expression))
    for name in names_of_items(expression):
        if name in names and name not in marked:
            yield f"{name!r} is taken from each item here: write ${name} for what the command knows, or @.{name}"
