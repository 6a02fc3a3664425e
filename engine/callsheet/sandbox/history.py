"""Conditions on what a field was, and on when and by whom it was changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from .conditions import moment_of
from .moments import parse_item_time
from .queries.query_model import Condition, Empty, Operand, Predicate, Values

if TYPE_CHECKING:
    from ..language.shape.sandbox import QueryField
    from .entities import Entities
    from .refusal import RefusedError

Mistake = Literal["syntax", "field", "value", "function", "operator"]
_DAY = "on"
_LONG_AGO = parse_item_time("0001-01-02")


class Search(Protocol):
    """The query that a condition belongs to."""

    now: datetime
    entities: Entities
    people: str
    refs: Mapping[str, str]

    def operand(self, name: str, field: QueryField, operand: Operand | None) -> list[str]: ...

    def refuse(self, kind: Mistake, **told: Any) -> RefusedError: ...

    def referred(self, entity: str, id: Any) -> Any: ...


class Period(NamedTuple):
    """A value, and from when until when the field had it, and who gave it."""

    value: Any
    start: datetime
    end: datetime
    by: str | None


class HistoryCondition:
    """`was` and `changed`, with their predicates, over the changes that items keep."""

    def __init__(self, search: Search, name: str, field: QueryField, clause: Condition) -> None:
        self.search = search
        self.member = field.get("history")
        if self.member is None:
            raise search.refuse("operator", field=name, operator=clause.operator)
        self.target = search.refs.get(self.member)
        self.operator = clause.operator
        self.wanted = self._words(name, field, clause.operand)
        self.predicates = {each.word: self._predicate(name, field, each) for each in clause.predicates}

    def _words(self, name: str, field: QueryField, operand: Operand | None) -> set[str] | None:
        """None stands for nothing: the field was empty."""
        if operand is None or isinstance(operand, Empty):
            return None
        return {word.casefold() for word in self.search.operand(name, field, operand)}

    def _predicate(self, name: str, field: QueryField, predicate: Predicate) -> Any:
        if predicate.word in ("from", "to"):
            return self._words(name, field, predicate.operand)
        items = predicate.operand.items if isinstance(predicate.operand, Values) else (predicate.operand,)
        words = [word for item in items for word in self.search.operand(name, {}, item)]
        if predicate.word == "by":
            people = [self.search.entities.find(self.search.people, word) for word in words]
            return {person["id"] for person in people if person}
        try:
            return [moment_of(word, self.search.now) for word in words]
        except ValueError as error:
            raise self.search.refuse("value", field=name, value=str(error)) from None

    def __call__(self, scope: Mapping[str, Any]) -> bool:
        periods = self._periods(scope)
        if self.operator == "changed":
            return any(self._is_change(before, after) for before, after in pairwise(periods))
        found = any(self._was(period) for period in periods)
        return not found if "not" in self.operator else found

    def _periods(self, scope: Mapping[str, Any]) -> list[Period]:
        changes = [each for each in scope.get("history") or [] if each["field"] == self.member]
        end = self.search.now + timedelta(days=1)
        if not changes:
            value = self._raw(scope)
            return [Period(value, _LONG_AGO, end, None)]
        times = [parse_item_time(each["at"]) for each in changes]
        found = [Period(changes[0].get("from"), _LONG_AGO, times[0], None)]
        for place, change in enumerate(changes):
            until = times[place + 1] if place + 1 < len(times) else end
            found.append(Period(change.get("to"), times[place], until, change.get("by")))
        return found

    def _raw(self, scope: Mapping[str, Any]) -> Any:
        value = scope.get(self.member or "")
        return value.get("id") if isinstance(value, dict) else value

    def _is(self, value: Any, wanted: set[str] | None) -> bool:
        if wanted is None:
            return value is None
        return bool(wanted & {word.casefold() for word in self._names(value)})

    def _names(self, value: Any) -> list[str]:
        if value is None:
            return []
        item = self.search.referred(self.target, value) if self.target else None
        if not isinstance(item, dict) or self.target is None:
            return [str(value)]
        return [item["id"], *self.search.entities[self.target].names_of(item)]

    def _was(self, period: Period) -> bool:
        return self._is(period.value, self.wanted) and self._fits(period, period.start, period.end)

    def _is_change(self, before: Period, after: Period) -> bool:
        came = "from" not in self.predicates or self._is(before.value, self.predicates["from"])
        went = "to" not in self.predicates or self._is(after.value, self.predicates["to"])
        return came and went and self._fits(after, after.start, after.start)

    def _fits(self, period: Period, start: datetime, end: datetime) -> bool:
        asked = self.predicates
        if "by" in asked and period.by not in asked["by"]:
            return False
        if "before" in asked and not start < asked["before"][0]:
            return False
        if "after" in asked and not end > asked["after"][0]:
            return False
        days = asked.get(_DAY)
        if days and not (start < days[0] + timedelta(days=1) and end >= days[0]):
            return False
        return "during" not in asked or (start <= asked["during"][-1] and end >= asked["during"][0])
