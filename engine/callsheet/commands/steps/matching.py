"""Which candidates a person means by a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...language.template import evaluate, to_text

if TYPE_CHECKING:
    from ...language.shape.steps import LookupDefinition


class Candidates(NamedTuple):
    """`only` says that the service answered nothing else."""

    items: list[Any]
    only: bool


class Matches(NamedTuple):
    """Several are a question that only the person can answer. What is not `exact` is called something else."""

    items: list[Any]
    exact: bool


def matches_word(lookup: LookupDefinition, word: str, candidates: Candidates) -> Matches:
    """Those of the first expression that has the word as its value, else an only one, else those that contain it.

    Letters count the same in upper and lower case, unless that decides between several.
    """
    folded = word.strip().casefold()
    for expression in match_expressions(lookup):
        found = [item for item in candidates.items if folded in _folded(expression, item)]
        same = [item for item in found if word.strip() in candidate_texts(expression, item)]
        if found:
            return Matches(same if len(same) == 1 else found, exact=True)
    if candidates.only and "sole" in lookup:
        sole = [item for item in candidates.items if evaluate(lookup["sole"], _with_word(item, word))]
        if sole:
            return Matches(sole, exact=True)
    return Matches([item for item in candidates.items if contains_word(lookup, word, item)], exact=False)


def contains_word(lookup: LookupDefinition, word: str, item: Any) -> bool:
    folded = word.strip().casefold()
    return any(folded in text for expression in match_expressions(lookup) for text in _folded(expression, item))


def match_expressions(lookup: LookupDefinition) -> list[str]:
    """What a lookup compares with the word, in turn."""
    found: list[str] = lookup.get("match", [lookup.get("value", "@")])
    return found


def candidate_texts(expression: str, item: Any) -> list[str]:
    """What an expression finds in a candidate, as texts."""
    value = evaluate(expression, item)
    values = value if isinstance(value, list) else [value]
    return [to_text(item).strip() for item in values if item is not None]


def _folded(expression: str, item: Any) -> list[str]:
    return [text.casefold() for text in candidate_texts(expression, item)]


def _with_word(item: Any, word: str) -> dict[str, Any]:
    return {**(item if isinstance(item, dict) else {}), "word": word}
