"""A person's word → the id that the service wants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import NoMatch, UsageError, did_you_mean
from ...language.deployment import on_deployment
from ...language.template import evaluate, fill, to_text
from .addresses import found_in_url, is_url
from .dispatcher import EVERY_PAGE, ONE_PAGE, Dispatcher
from .unknown import Unknown

if TYPE_CHECKING:
    from ..context import Context

_LISTED = 10


class Match(NamedTuple):
    """The id, and the candidate it was taken from where there was one."""

    value: Any
    item: Any = None


class Lookups:
    """The lookups of one run; a candidate list is asked for once."""

    def __init__(self, context: Context, wire: Dispatcher) -> None:
        self.context = context
        self.dispatcher = wire
        self._answers: dict[str, list[Any]] = {}

    def definition(self, id: str) -> dict[str, Any]:
        return on_deployment(self.context.catalog.get("lookup", id), self.context.site().deployment)

    def resolve(self, id: str, word: str, scope: Mapping[str, Any]) -> Any:
        return self.find(id, word, scope).value

    def find(self, id: str, word: str, scope: Mapping[str, Any]) -> Match:
        """Raises `UsageError` naming the candidates when none, or several, match."""
        lookup = self.definition(id)
        if not word.strip():
            raise UsageError(f"{word!r} is no {lookup['title']}", hint=lookup.get("hint"))
        keyword = _keyword(lookup, word)
        if keyword is not None:
            return Match(self._keyword_value(lookup, keyword, word, scope))
        if is_url(word) and not self.context.is_literal(word):
            return Match(found_in_url(self.context, word, lookup))
        if "pattern" in lookup and (found := re.fullmatch(lookup["pattern"], word)):
            return Match(found.groupdict().get("id", word))
        if "call" not in lookup:
            raise UsageError(f"{word!r} is no {lookup['title']}", hint=lookup.get("hint"))
        candidates = self._candidates(lookup, {**scope, "word": word})
        if candidates is None:
            return Match(_unknown(lookup.get("value", "@"), lookup, word))
        return _choose(lookup, word, candidates)

    def _keyword_value(
        self, lookup: dict[str, Any], keyword: dict[str, Any], word: str, scope: Mapping[str, Any]
    ) -> Any:
        if "call" not in keyword:
            return None
        answer = self._ask(keyword, {**scope, "word": word}, every=False)
        value = keyword.get("value", lookup.get("value", "@"))
        return _unknown(value, lookup, word) if answer is None else evaluate(value, answer)

    def _candidates(self, lookup: dict[str, Any], scope: Mapping[str, Any]) -> list[Any] | None:
        """None in a dry run that does not ask."""
        answer = self._ask(lookup, scope, every=bool(lookup.get("all")))
        if answer is None:
            return None
        items = evaluate(lookup["items"], answer) if "items" in lookup else answer
        where = lookup.get("where")
        return [item for item in items or () if where is None or evaluate(where, item)]

    def _ask(self, table: dict[str, Any], scope: Mapping[str, Any], *, every: bool) -> Any:
        arguments = fill(table.get("args", {}), scope) or {}
        request = self.dispatcher.build(table["call"], arguments)
        if self.dispatcher.held_back(request, final=False):
            self.dispatcher.print(table["call"], request)
            return None
        key = request.method + request.url
        if key not in self._answers:
            self._answers[key] = self.dispatcher.answer(table["call"], request, EVERY_PAGE if every else ONE_PAGE)
        return self._answers[key]


def _unknown(value: str, lookup: dict[str, Any], word: str) -> Unknown:
    """What a dry run shows, as in `<accountId of "Robin Sample">`."""
    return Unknown(f'{lookup["title"] if value == "@" else value} of "{word}"')


def _keyword(lookup: dict[str, Any], word: str) -> dict[str, Any] | None:
    for name, keyword in lookup.get("keywords", {}).items():
        if name.casefold() == word.strip().casefold():
            found: dict[str, Any] = keyword
            return found
    return None


def _choose(lookup: dict[str, Any], word: str, candidates: list[Any]) -> Match:
    matching = _matching(lookup, word, candidates)
    value = lookup.get("value", "@")
    by_value = {to_text(evaluate(value, item)): item for item in matching}
    if len(by_value) == 1:
        item = next(iter(by_value.values()))
        return Match(evaluate(value, item), item)
    if by_value:
        raise _several(lookup, word, list(by_value.values()))
    raise _none(lookup, word, candidates)


def _matching(lookup: dict[str, Any], word: str, candidates: list[Any]) -> list[Any]:
    """Those of the first expression that has the word as its value, else those that contain it, else an only one."""
    folded = word.strip().casefold()
    expressions = lookup.get("match", [lookup.get("value", "@")])
    for expression in expressions:
        exact = [item for item in candidates if folded in _texts(evaluate(expression, item))]
        if exact:
            return exact
    if lookup.get("partial"):
        parts = [
            item
            for item in candidates
            if any(folded in text for expression in expressions for text in _texts(evaluate(expression, item)))
        ]
        if parts:
            return parts
    if len(candidates) == 1 and "sole" in lookup and evaluate(lookup["sole"], {"word": word}):
        return candidates
    return []


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [to_text(item).strip().casefold() for item in values if item is not None]


def _label(lookup: dict[str, Any], item: Any) -> str:
    value = to_text(evaluate(lookup["value"], item)) if "value" in lookup else ""
    label = to_text(evaluate(lookup["label"], item)) if "label" in lookup else ""
    return f"{label} ({value})" if value and label and label != value else label or value


def _several(lookup: dict[str, Any], word: str, items: list[Any]) -> UsageError:
    listed = [_label(lookup, item) for item in items]
    return UsageError(
        f'{len(items)} candidates match "{word}", expected one {lookup["title"]}: {_joined(listed)}',
        hint=f"say it exactly, or give the {lookup.get('value', 'id')}",
    )


def _none(lookup: dict[str, Any], word: str, candidates: list[Any]) -> NoMatch:
    listed = [_label(lookup, item) for item in candidates]
    names = [to_text(evaluate(lookup.get("label", "@"), item)) for item in candidates]
    message = f'no {lookup["title"]} matches "{word}"{did_you_mean(word, names)}'
    return NoMatch(message, details=[f"available: {_joined(listed)}"] if listed else (), hint=lookup.get("hint"))


def _joined(labels: list[str]) -> str:
    more = f"; and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    return "; ".join(labels[:_LISTED]) + more
