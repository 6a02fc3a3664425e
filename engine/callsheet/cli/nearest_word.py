"""Which word of a site was meant by one that the site refused: the closest of those that complete the parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..commands.context import Context
from ..errors import CallsheetError, closest
from ..language.parameters import TAKEN_AWAY
from ..language.queries import EXCEPT
from ..language.template import TemplateError
from ..patterns import pattern
from .options import argument_name

if TYPE_CHECKING:
    from ..language.shape.commands import Param

_REFUSED = 400
_WORD = pattern(r"\w+")
_QUOTED = pattern(r"'([^']+)'|\"([^\"]+)\"")


def nearest_word(
    context: Context, params: Sequence[Param], values: Mapping[str, Any], error: CallsheetError
) -> str | None:
    """A hint with the word that was meant, where the site's answer is about a parameter that lists its words.

    The site is asked for them only then: it checks words itself, and most commands are right.
    """
    if error.status != _REFUSED:
        return None
    told = " ".join((error.message.rpartition(f"{_REFUSED}:")[2], *error.details))
    quoted = {one or other for one, other in _QUOTED.findall(told)}
    named = {word.casefold() for word in _WORD.findall(told)}
    for param in params:
        for word in _typed(param, values.get(param["name"])):
            about = word in quoted or (param["name"] in named and not quoted)
            if about and (found := _closest(context, param, params, values, word)):
                shown = argument_name(param) if param.get("kind") == "argument" else f"--{param['name']}"
                return f"{shown}: did you mean {found!r}?"
    return None


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
    return pattern is not None and re.fullmatch(pattern, word) is not None and not word.isdecimal()


def _closest(
    context: Context, param: Param, params: Sequence[Param], values: Mapping[str, Any], word: str
) -> str | None:
    """None where the site has the word, has none that is near, or does not tell."""
    lookup = param.get("suggest", param.get("lookup"))
    if lookup is None or ("suggest" not in param and not _was_taken_as_it_is(context, lookup, word)):
        return None
    from .completion.refresh import words_of
    from .completion.suggested import dependencies, suggested

    with suppress(CallsheetError, TemplateError, KeyError, TypeError, ValueError):
        site = context.site()
        table = suggested(context.catalog, lookup, site.deployment)
        needed = None if table is None else dependencies(table, params, values, site.setting)
        if needed is None:
            return None
        asked = [{"name": each["name"], "lookup": each.get("lookup")} for each in params if each["name"] in needed]
        known = [found for found, _ in words_of(context, {"lookup": lookup, "needed": needed, "params": asked})]
        if word.casefold() not in map(str.casefold, known):
            return next(iter(closest(word, known)), None)
    return None
