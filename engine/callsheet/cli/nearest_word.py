"""Which word of a site was meant by one that the site refused: the closest of those that complete the parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..commands.context import Context
from ..errors import CallsheetError, NoMatch, closest_names
from ..language.parameters import TAKEN_AWAY
from ..language.queries import EXCEPT
from ..language.template import TemplateError
from ..patterns import lazy_pattern
from .options import argument_name

if TYPE_CHECKING:
    from ..language.shape.commands import Param

_REFUSED = (400, 404)
_WORD = lazy_pattern(r"\w+")
_QUOTED = lazy_pattern(r"'([^']+)'|\"([^\"]+)\"")


def nearest_word(
    context: Context, params: Sequence[Param], values: Mapping[str, Any], error: CallsheetError
) -> str | None:
    """A hint with the word that was meant, where the site's answer is about a parameter that lists its words.

    The site is asked for them only then: it checks words itself, and most commands are right.
    """
    if isinstance(error, NoMatch):
        told, unknown = error.message, True
        if error.details or "did you mean" in told:  # it was compared with what there is
            return None
    elif error.status in _REFUSED:
        told, unknown = " ".join((error.message.rpartition(f"{error.status}:")[2], *error.details)), False
    else:
        return None
    quoted = [one or other for one, other in _QUOTED.findall(told)]
    named = {word.casefold() for word in _WORD.findall(told)}
    for param in params:
        for word in _typed(param, values.get(param["name"])):
            about = word in quoted or (param["name"] in named and not quoted)
            if about and (found := _closest(context, param, params, values, word, unknown=unknown)):
                shown = argument_name(param) if param.get("kind") == "argument" else f"--{param['name']}"
                return f"{shown}: did you mean {found!r}?"
    return _word_of_query(context, params, values, quoted)


def _word_of_query(
    context: Context, params: Sequence[Param], values: Mapping[str, Any], quoted: Sequence[str]
) -> str | None:
    """A field, a function or a value that was meant by a quoted word of what was typed, in a command with a query."""
    languages = dict.fromkeys(param["query"] for param in params if "query" in param)
    typed = "\n".join(word for param in params for word in _typed({**param, "split": False}, values.get(param["name"])))
    for language in (context.catalog.get("query", id) for id in languages):
        for word in (each for each in quoted if each in typed):
            near: list[str] = []
            for field in (each for each in quoted if each != word and not near):
                near = closest_names(word, _listed(context, language.get("values"), {"field": field, "start": word[0]}))
            if not near:
                near = closest_names(word, [*language.get("names", ()), *_listed(context, language.get("words"), {})])
            if near and near[0].casefold() != word.casefold():
                return f"{word}: did you mean {near[0]!r}?"
    return None


def _listed(context: Context, lookup: str | None, needed: Mapping[str, str]) -> list[str]:
    """The words that the site lists; none where it does not tell."""
    from .completion.refresh import words_of

    with suppress(CallsheetError, TemplateError, KeyError, TypeError, ValueError):
        if lookup is not None:
            return [word for word, _ in words_of(context, {"lookup": lookup, "needed": needed, "params": []})]
    return []


def _typed(param: Param, given: Any) -> Iterator[str]:
    for text in given if isinstance(given, list | tuple) else [given]:
        if isinstance(text, str):
            for word in text.split(",") if param.get("split") else [text]:
                yield word.strip().removeprefix(
                    EXCEPT if param.get("excludes") else TAKEN_AWAY if param.get("removes") else ""
                )


def _was_taken_as_it_is(context: Context, lookup: str, word: str) -> bool:
    """Whether a word that looks like an id was not looked up; a number is near no other one."""
    pattern = context.catalog.get("lookup", lookup).get("pattern")
    return pattern is not None and re.fullmatch(pattern, word) is not None and not any(map(str.isdigit, word))


def _closest(
    context: Context, param: Param, params: Sequence[Param], values: Mapping[str, Any], word: str, *, unknown: bool
) -> str | None:
    """None where the site has the word, has none that is near, or does not tell. An `unknown` one was looked up."""
    lookup = param.get("suggest", param.get("lookup"))
    if lookup is None or not (unknown or "suggest" in param or _was_taken_as_it_is(context, lookup, word)):
        return None
    from .completion.refresh import words_of
    from .completion.suggested import suggested_words, values_depended_on

    with suppress(CallsheetError, TemplateError, KeyError, TypeError, ValueError):
        site = context.site()
        table = suggested_words(context.catalog, lookup, site.deployment)
        needed = None if table is None else values_depended_on(table, params, values, site.setting)
        if needed is None:
            return None
        asked = [{"name": each["name"], "lookup": each.get("lookup")} for each in params if each["name"] in needed]
        rows = words_of(context, {"lookup": lookup, "needed": needed, "params": asked})
        known = {found: found for found, _ in rows}
        if unknown:  # things that are called by ids have their names beside these; a name may be one of its words
            names = [name for row in rows for name in row if name]
            known |= {part: name for name in names for part in (*name.split(), name)}
        if word.casefold() not in map(str.casefold, known):
            return next((known[found] for found in closest_names(word, known)), None)
    return None
