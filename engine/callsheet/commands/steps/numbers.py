"""A number that may be an id, or the name of something else: a change takes neither until it is clear which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ...language.template import evaluate, to_text
from .matching import candidate_texts, match_expressions

if TYPE_CHECKING:
    from ...language.shape.steps import LookupDefinition

_SAID = re.compile(r"(id|name):(\d+)")


class Spoken(NamedTuple):
    """A person's word; `kind` is "id" or "name" where they said which, as in `id:10` and `name:10`."""

    word: str
    kind: str = ""


def spoken_number(word: str) -> Spoken:
    said = _SAID.fullmatch(word.strip())
    return Spoken(said[2], said[1]) if said else Spoken(word)


def is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def narrow_lookup(lookup: LookupDefinition, kind: str) -> LookupDefinition:
    """The lookup that compares with ids alone, or with names alone."""
    if not kind:
        return lookup
    every = match_expressions(lookup)
    value = lookup.get("value", every[0] if every else "@")
    chosen = [value] if kind == "id" else [each for each in every if each != value]
    return {**lookup, "match": chosen}


def candidates_called(lookup: LookupDefinition, word: str, items: list[Any]) -> list[Any]:
    """The candidates that have the number as anything they are found by."""
    return [item for item in items if any(word in candidate_texts(each, item) for each in match_expressions(lookup))]


def other_than(lookup: LookupDefinition, id: str, items: list[Any]) -> list[Any]:
    """Those that have another id."""
    return [item for item in items if to_text(evaluate(lookup.get("value", "@"), item)) != id]


def number_hint(word: str) -> str:
    return f"use id:{word} or name:{word}"
