"""Searching an entity with a query: which items it means, in which order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from .entities import RefusedError, compile_render, condition_holds, names_used, render_expression
from .query_languages import (
    Clause,
    Condition,
    Empty,
    Function,
    Grammar,
    Joined,
    Negation,
    Operand,
    Predicate,
    Query,
    QuerySyntaxError,
    Values,
)

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.sandbox import QueryDefinition, QueryField, QueryFunction
    from ..language.template import Scope
    from .entities import Entities, Entity
    from .list_pages import Window
    from .state import Item


# Moments that queries name: dates, spans back from now, and where days, weeks, months and years start and end.


_SPAN = re.compile(r"(?P<sign>[+-]?)(?P<number>\d{1,6})(?P<unit>[yMwdhm]?)")
_UNITS = {"w": timedelta(weeks=1), "d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
_DATE = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::\d{2})?)?\Z")


def parse_item_time(text: str) -> datetime:
    """A time as items keep it (ISO 8601); a bare date is its first minute."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        match = re.match(r"(.*[+-]\d\d)(\d\d)\Z", text)
        found = datetime.fromisoformat(f"{match[1]}:{match[2]}" if match else text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def moment_of_word(text: str, now: datetime) -> datetime:
    """What a query writes as a date: `2026-01-31`, `2026/01/31 09:30`, `-7d`, `4w 2d`; raises `ValueError`."""
    written = text.strip()
    match = _DATE.match(written)
    if match:
        year, month, day, hour, minute = (int(part) if part else 0 for part in match.groups())
        return datetime(year, month, day, hour, minute, tzinfo=now.tzinfo)
    if written.isdigit() and len(written) > 6:
        return datetime.fromtimestamp(int(written) / 1000, tz=UTC)
    return now + parse_time_span(written, "m")


def parse_time_span(text: str, usual: str) -> timedelta:
    """`-7d`, `4w 2d`, `1d 12h`: one sign for all parts; raises `ValueError`."""
    total, position = timedelta(), 0
    sign = -1 if text.startswith("-") else 1
    compact = text.replace(" ", "")
    while position < len(compact):
        match = _SPAN.match(compact, position)
        unit = (match["unit"] or usual) if match else ""
        if match is None or unit not in _UNITS or (match["sign"] and position):
            raise ValueError(text)
        total += int(match["number"]) * _UNITS[unit]
        position = match.end()
    if not compact:
        raise ValueError(text)
    return sign * total


def edge_of_period(unit: str, *, end: bool, now: datetime, shift: str = "") -> datetime:
    """Where the day, week (from Sunday), month or year of now starts or ends, moved by `-1`, `+2w` and the like."""
    start = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        start -= timedelta(days=(start.weekday() + 1) % 7)
    elif unit == "month":
        start = start.replace(day=1)
    elif unit == "year":
        start = start.replace(month=1, day=1)
    start = _shifted_time(start, shift, unit)
    return _shifted_time(start, "1", unit) - timedelta(milliseconds=1) if end else start


def _shifted_time(start: datetime, shift: str, unit: str) -> datetime:
    if not shift:
        return start
    match = _SPAN.fullmatch(shift.strip())
    if match is None:
        raise ValueError(shift)
    number = int(match["number"]) * (-1 if match["sign"] == "-" else 1)
    letter = match["unit"] or {"day": "d", "week": "w", "month": "M", "year": "y"}[unit]
    if letter in _UNITS:
        return start + number * _UNITS[letter]
    months = start.year * 12 + start.month - 1 + (number * 12 if letter == "y" else number)
    return start.replace(year=months // 12, month=months % 12 + 1)


# Comparing the values of a field with the words of a query, by the field's kind.


Comparison = Callable[[Sequence[Any]], bool]
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}
_EQUAL = ("=", "in")
_UNEQUAL = ("!=", "not in")
_EMPTINESS = {"is": True, "=": True, "is not": False, "!=": False}


class OperatorError(Exception):
    """The field's kind has no such comparison."""


def comparison_of(field: QueryField, operator: str, wanted: list[str] | None, now: datetime) -> Comparison:
    """Whether the values of a field fit. `wanted` is None where they are compared with nothing.

    Raises `OperatorError`, and `ValueError` with the word that is none of the field's kind.
    """
    if wanted is None:
        if operator not in _EMPTINESS:
            raise OperatorError(operator)
        return (lambda values: not values) if _EMPTINESS[operator] else bool
    kind = field.get("kind", "name")
    return _KINDS[kind](operator, wanted, now)


def _compare_names(operator: str, wanted: list[str], _: datetime) -> Comparison:
    """Words are equal whatever their letters; what has no value is unequal to nothing."""
    known = {word.casefold() for word in wanted}
    if operator in _EQUAL:
        return lambda values: any(str(value).casefold() in known for value in values)
    if operator in _UNEQUAL:
        return lambda values: bool(values) and not any(str(value).casefold() in known for value in values)
    if operator in ("~", "!~"):
        return _compare_text(operator, wanted, _)
    raise OperatorError(operator)


def _compare_keys(operator: str, wanted: list[str], now: datetime) -> Comparison:
    if operator not in _ORDER:
        return _compare_names(operator, wanted, now)
    compare, limit = _ORDER[operator], key_parts(wanted[0])

    def holds(values: Sequence[Any]) -> bool:
        return any(key_parts(str(value))[0] == limit[0] and compare(key_parts(str(value)), limit) for value in values)

    return holds


def key_parts(text: str) -> tuple[str, int]:
    head, _, number = text.casefold().rpartition("-")
    return head, int(number) if number.isdigit() else 0


def _compare_numbers(operator: str, wanted: list[str], _: datetime) -> Comparison:
    numbers = [_number_of_word(word) for word in wanted]
    if operator in _ORDER:
        compare = _ORDER[operator]
        return lambda values: any(compare(float(value), numbers[0]) for value in values)
    if operator in _EQUAL:
        return lambda values: any(float(value) in numbers for value in values)
    if operator in _UNEQUAL:
        return lambda values: bool(values) and not any(float(value) in numbers for value in values)
    raise OperatorError(operator)


def _number_of_word(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(word) from None


def _compare_dates(operator: str, wanted: list[str], now: datetime) -> Comparison:
    moments = [moment_of(word, now) for word in wanted]
    if operator in _ORDER:
        compare = _ORDER[operator]
        return lambda values: any(compare(parse_item_time(str(value)), moments[0]) for value in values)
    if operator in _EQUAL:
        return lambda values: any(parse_item_time(str(value)) in moments for value in values)
    if operator in _UNEQUAL:
        return lambda values: bool(values) and not any(parse_item_time(str(value)) in moments for value in values)
    raise OperatorError(operator)


def moment_of(word: str, now: datetime) -> datetime:
    try:
        return parse_item_time(word) if "T" in word else moment_of_word(word, now)
    except ValueError:
        raise ValueError(word) from None


def _compare_text(operator: str, wanted: list[str], _: datetime) -> Comparison:
    """All words must be there, in any order; words in quotation marks together, and `*` stands for any letters."""
    if operator not in ("~", "!~"):
        raise OperatorError(operator)
    patterns = [re.compile(pattern) for word in wanted for pattern in _text_patterns(word)]

    def holds(values: Sequence[Any]) -> bool:
        text = " ".join(str(value) for value in values).casefold()
        return all(pattern.search(text) for pattern in patterns)

    if operator == "~":
        return holds
    return lambda values: bool(values) and not holds(values)


def _text_patterns(text: str) -> list[str]:
    found = []
    for phrase, word in re.findall(r'"([^"]*)"|(\S+)', text.casefold()):
        parts = re.findall(r"[\w*?]+", phrase or word)
        if parts:
            found.append(r"\W+".join(rf"\b{_wildcard_pattern(part)}" for part in parts) + ("" if word else r"\b"))
    return found


def _wildcard_pattern(word: str) -> str:
    return re.escape(word).replace(r"\*", r"\w*").replace(r"\?", r"\w")


_KINDS: dict[str, Callable[[str, list[str], datetime], Comparison]] = {
    "name": _compare_names,
    "key": _compare_keys,
    "number": _compare_numbers,
    "date": _compare_dates,
    "text": _compare_text,
}


# Conditions on what a field was, and on when and by whom it was changed.


Mistake = Literal["syntax", "field", "value", "function", "operator"]
_DAY = "on"
_LONG_AGO = parse_item_time("0001-01-02")


class Search(Protocol):
    """The query that a condition belongs to."""

    now: datetime
    entities: Entities
    people: str
    refs: Mapping[str, str]

    def operand_words(self, name: str, field: QueryField, operand: Operand | None) -> list[str]: ...

    def refusal_for(self, kind: Mistake, **told: Any) -> RefusedError: ...

    def referred_item(self, entity: str, id: Any) -> Any: ...


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
            raise search.refusal_for("operator", field=name, operator=clause.operator)
        self.target = search.refs.get(self.member)
        self.operator = clause.operator
        self.wanted = self._compared_words(name, field, clause.operand)
        self.predicates = {each.word: self._predicate_test(name, field, each) for each in clause.predicates}

    def _compared_words(self, name: str, field: QueryField, operand: Operand | None) -> set[str] | None:
        """None stands for nothing: the field was empty."""
        if operand is None or isinstance(operand, Empty):
            return None
        return {word.casefold() for word in self.search.operand_words(name, field, operand)}

    def _predicate_test(self, name: str, field: QueryField, predicate: Predicate) -> Any:
        if predicate.word in ("from", "to"):
            return self._compared_words(name, field, predicate.operand)
        items = predicate.operand.items if isinstance(predicate.operand, Values) else (predicate.operand,)
        words = [word for item in items for word in self.search.operand_words(name, {}, item)]
        if predicate.word == "by":
            people = [self.search.entities.find_item(self.search.people, word) for word in words]
            return {person["id"] for person in people if person}
        try:
            return [moment_of(word, self.search.now) for word in words]
        except ValueError as error:
            raise self.search.refusal_for("value", field=name, value=str(error)) from None

    def __call__(self, scope: Mapping[str, Any]) -> bool:
        periods = self._periods_of(scope)
        if self.operator == "changed":
            return any(self._is_change(before, after) for before, after in pairwise(periods))
        found = any(self._was_during(period) for period in periods)
        return not found if "not" in self.operator else found

    def _periods_of(self, scope: Mapping[str, Any]) -> list[Period]:
        changes = [each for each in scope.get("history") or [] if each["field"] == self.member]
        end = self.search.now + timedelta(days=1)
        if not changes:
            value = self._raw_value(scope)
            return [Period(value, _LONG_AGO, end, None)]
        times = [parse_item_time(each["at"]) for each in changes]
        found = [Period(changes[0].get("from"), _LONG_AGO, times[0], None)]
        for place, change in enumerate(changes):
            until = times[place + 1] if place + 1 < len(times) else end
            found.append(Period(change.get("to"), times[place], until, change.get("by")))
        return found

    def _raw_value(self, scope: Mapping[str, Any]) -> Any:
        value = scope.get(self.member or "")
        return value.get("id") if isinstance(value, dict) else value

    def _has_value(self, value: Any, wanted: set[str] | None) -> bool:
        if wanted is None:
            return value is None
        return bool(wanted & {word.casefold() for word in self._names_of(value)})

    def _names_of(self, value: Any) -> list[str]:
        if value is None:
            return []
        item = self.search.referred_item(self.target, value) if self.target else None
        if not isinstance(item, dict) or self.target is None:
            return [str(value)]
        return [item["id"], *self.search.entities[self.target].names_of(item)]

    def _was_during(self, period: Period) -> bool:
        return self._has_value(period.value, self.wanted) and self._fits_period(period, period.start, period.end)

    def _is_change(self, before: Period, after: Period) -> bool:
        came = "from" not in self.predicates or self._has_value(before.value, self.predicates["from"])
        went = "to" not in self.predicates or self._has_value(after.value, self.predicates["to"])
        return came and went and self._fits_period(after, after.start, after.start)

    def _fits_period(self, period: Period, start: datetime, end: datetime) -> bool:
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


# Searching a entity with a query: which items it means, in which order.


Test = Callable[[Mapping[str, Any]], bool]
_DEEPEST = 10


class Searcher:
    """Reads queries with the languages that the definitions describe, and applies them to the items of a entity."""

    def __init__(self, catalog: Catalog, entities: Entities) -> None:
        self.entities = entities
        self.languages: dict[str, QueryDefinition] = catalog.query_languages.all()
        self.people = {name: it["me"] for name, it in entities.simulations.items() if "me" in it}
        self.grammars = {
            name: Grammar(frozenset(language.get("reserved", ())), language.get("numbered"))
            for name, language in self.languages.items()
        }

    def parse_query(self, entity: Entity, text: str) -> Query:
        """Raises `RefusedError` in the words of the language."""
        rules = entity.query
        if rules is None:
            raise RefusedError(400, f"{entity.name} takes no query")
        try:
            return self.grammars[rules["language"]].parse_query(text)
        except QuerySyntaxError as error:
            raise self.refusal_of(entity, "syntax", message=str(error)) from None

    def search_page(
        self, entity: Entity, text: str, scope: Scope, place: Window, items: Iterable[Item], usual: str | None = None
    ) -> tuple[list[Item], int]:
        """The items of one page, and how many there are in all; `usual` sorts where the query does not."""
        search = _Search(self, entity, scope)
        query = self.parse_query(entity, text)
        matches = search.test_of(query.where) if query.where is not None else None
        keys = search.sort_keys(query, usual)
        found: list[tuple[tuple[Any, ...], str]] = []
        for item in items:
            seen = search.scope_of(item)
            if matches is None or matches(seen):
                found.append((tuple(key(seen) for key in keys), str(item["id"])))
        for place_of_key in reversed(range(len(keys))):
            found.sort(key=lambda entry, at=place_of_key: entry[0][at], reverse=keys[place_of_key].descending)  # type: ignore[misc]
        wanted = [id for _, id in found[place.start : place.start + place.size]]
        there = (self.entities.state.get(entity.name, id) for id in wanted)
        return [item for item in there if item is not None], len(found)

    def refusal_of(self, entity: Entity, kind: Mistake, **told: Any) -> RefusedError:
        language = self.languages[entity.query["language"]] if entity.query else None
        template = language.get("errors", {}).get(kind, "{message}") if language else "{message}"
        return RefusedError(400, str(compile_render(template)({"message": "", **told})))


class SortKey:
    """What items are compared by; those without a value come last, whichever way."""

    def __init__(self, value: Callable[[Mapping[str, Any]], Any], *, descending: bool, numbered: bool = False) -> None:
        self.value = value
        self.numbered = numbered  # a word, a hyphen and a number, which counts
        self.descending = descending

    def __call__(self, scope: Mapping[str, Any]) -> tuple[Any, ...]:
        value = self.value(scope)
        first = value[0] if isinstance(value, list) and value else value
        if first is None or first == []:
            return (not self.descending, 0, "")
        if self.numbered:
            return (self.descending, *key_parts(str(first)))
        number = isinstance(first, int | float)
        return (self.descending, 0 if number else 1, first if number else str(first).casefold())


class _Search:
    """One query at work: fields and functions by name, and what items refer to, read once."""

    def __init__(self, searcher: Searcher, entity: Entity, scope: Scope) -> None:
        self.searcher = searcher
        self.entities = searcher.entities
        self.entity = entity
        self.scope = scope
        self.now: datetime = parse_item_time(scope["now"])
        self.rules = entity.query or {"language": "", "fields": {}}
        self.language = searcher.languages[self.rules["language"]]
        self.needed: set[str] = set()
        self.people = searcher.people.get(entity.product, "")
        self.refs: Mapping[str, str] = entity.refs
        self.depth = 0  # of queries in queries
        self._items: dict[tuple[str, str], Item | None] = {}

    def test_of(self, clause: Clause) -> Test:
        if isinstance(clause, Negation):
            inner = self.test_of(clause.clause)
            return lambda scope: not inner(scope)
        if isinstance(clause, Joined):
            parts = [self.test_of(each) for each in clause.clauses]
            decide = all if clause.word == "and" else any
            return lambda scope: decide(part(scope) for part in parts)
        return self.condition_test(clause)

    def condition_test(self, clause: Condition) -> Test:
        name, field = self.find_field(clause.field.name)
        if clause.operator.startswith("was") or clause.operator == "changed":
            return HistoryCondition(self, name, field, clause)
        if field.get("kind") == "query":
            return self.kept_query(name, field, clause)
        operand = clause.operand
        if isinstance(operand, Empty) or clause.operator in ("is", "is not"):
            wanted: list[str] | None = None
        else:
            wanted = self.operand_words(name, field, operand)
        try:
            compare: Comparison = comparison_of(field, clause.operator, wanted, self.now)
        except OperatorError:
            raise self.refusal_for("operator", field=name, operator=clause.operator) from None
        except ValueError as error:
            raise self.refusal_for("value", field=name, value=str(error)) from None
        value = self.value_of(field)
        return lambda scope: compare(_flat_values(value(scope)))

    def kept_query(self, name: str, field: QueryField, clause: Condition) -> Test:
        """What fits the query that is kept under one of these names."""
        if clause.operator not in ("=", "!=", "in", "not in"):
            raise self.refusal_for("operator", field=name, operator=clause.operator)
        self.depth += 1
        kept = [
            self.entities.find_item(field["entity"], word) for word in self.operand_words(name, field, clause.operand)
        ]
        texts = [str((item or {}).get(field["value"]) or "") for item in kept]
        if self.depth > _DEEPEST:
            raise self.refusal_for("value", field=name, value=", ".join(texts))
        queries = [self.searcher.parse_query(self.entity, text).where for text in texts]
        tests = [self.test_of(query) for query in queries if query is not None]
        self.depth -= 1
        everything = len(tests) < len(queries)  # one of them has no conditions
        wanted = clause.operator in ("=", "in")
        return lambda scope: (everything or any(test(scope) for test in tests)) is wanted

    def find_field(self, name: str) -> tuple[str, QueryField]:
        """A field by its name, following other names of it; refused where there is none."""
        fields = self.rules["fields"]
        found = fields.get(name.lower())
        if found is None:
            raise self.refusal_for("field", field=name)
        return name, fields[found["like"]] if "like" in found else found

    def value_of(self, field: QueryField) -> Callable[[Mapping[str, Any]], Any]:
        text = field["value"]
        self.needed |= names_used(f"{{{text}}}") & (self.entity.refs.keys() | self.entity.children.keys())
        return render_expression(text)

    def operand_words(self, name: str, field: QueryField, operand: Operand | None) -> list[str]:
        """The words that a field is compared with, functions called."""
        if isinstance(operand, Values):
            return [word for item in operand.items for word in self.operand_words(name, field, item)]
        if isinstance(operand, Function):
            return self.call_function(operand)
        if operand is None or isinstance(operand, Empty):
            return []
        self.check_value(name, field, operand.text)
        return [operand.text]

    def check_value(self, name: str, field: QueryField, word: str) -> None:
        if "entity" in field and self.entities.find_item(field["entity"], word) is None:
            raise self.refusal_for("value", field=name, value=word)

    def call_function(self, function: Function) -> list[str]:
        rules = self.language.get("functions", {}).get(function.name.lower())
        if rules is None:
            raise self.refusal_for("function", function=function.name)
        arguments = list(function.arguments)
        known = {**self.scope, "arguments": arguments}
        if "edge" in rules:
            return [self.moment_text(rules, arguments, function.name)]
        if "entity" in rules:
            names = render_expression(rules.get("names", "id"))
            items = self.entities.state.items(rules["entity"])
            where = rules.get("where", "`true`")
            return [
                str(each)
                for item in items
                if condition_holds(where, {**known, "item": item})
                for each in _flat_values(names(item))
            ]
        return [str(each) for each in _flat_values(render_expression(rules["value"])(known))]

    def moment_text(self, rules: QueryFunction, arguments: list[str], name: str) -> str:
        shift = arguments[0] if arguments else ""
        try:
            if rules["edge"] == "now":
                return (self.now + parse_time_span(shift or "0m", "d")).isoformat()
            return edge_of_period(rules["unit"], end=rules["edge"] == "end", now=self.now, shift=shift).isoformat()
        except ValueError:
            raise self.refusal_for("function", function=name) from None

    def sort_keys(self, query: Query, usual_value: str | None = None) -> list[SortKey]:
        found = []
        for sorting in query.order:
            _, field = self.find_field(sorting.field.name)
            found.append(
                SortKey(
                    self.value_of_sort(field), descending=bool(sorting.descending), numbered=field.get("kind") == "key"
                )
            )
        if not found and usual_value is not None:
            key = render_expression(usual_value)
            return [SortKey(lambda item: key({"item": item}), descending=False)]
        if not found and (usual := self.rules.get("sort")):
            word, _, direction = usual.partition(" ")
            found.append(SortKey(self.value_of_sort(self.find_field(word)[1]), descending=direction == "desc"))
        return found

    def value_of_sort(self, field: QueryField) -> Callable[[Mapping[str, Any]], Any]:
        text = field.get("sort") or field["value"]
        self.needed |= names_used(f"{{{text}}}") & (self.entity.refs.keys() | self.entity.children.keys())
        return render_expression(text)

    def scope_of(self, item: Item) -> Mapping[str, Any]:
        """The item, with the items that it refers to in the place of their ids, and those that belong to it."""
        if not self.needed:
            return item
        seen = dict(item)
        for name in self.needed:
            if name in self.entity.refs:
                seen[name] = self.referred_item(self.entity.refs[name], item.get(name))
            else:
                child = self.entity.children[name]["entity"]
                parts = self.entities.state.items(child, str(item["id"]))
                seen[name] = [self._with_own(child, part) for part in parts]
        return seen

    def referred_item(self, entity: str, id: Any) -> Any:
        if isinstance(id, list):
            return [found for each in id if (found := self.referred_item(entity, each))]
        if id is None:
            return None
        key = (entity, str(id))
        if key not in self._items:
            self._items[key] = self._with_own(entity, self.entities.state.get(*key))
        return self._items[key]

    def _with_own(self, entity: str, item: Item | None) -> Item | None:
        """The item with those that it refers to itself, as they are."""
        if item is None:
            return None
        own = {name: (target, item.get(name)) for name, target in self.entities[entity].refs.items()}
        state = self.entities.state
        return {**item, **{name: state.get(target, id) for name, (target, id) in own.items() if isinstance(id, str)}}

    def refusal_for(self, kind: Mistake, **told: Any) -> RefusedError:
        return self.searcher.refusal_of(self.entity, kind, **told)


def sortable_value(value: Any) -> tuple[int, Any]:
    """Numbers before words before nothing."""
    if value is None:
        return (2, "")
    return (0, value) if isinstance(value, int | float) else (1, str(value).casefold())


def _flat_values(value: Any) -> list[Any]:
    """Values that are there: of lists, at any depth."""
    if value is None:
        return []
    if isinstance(value, list):
        return [each for item in value for each in _flat_values(item)]
    return [value]
