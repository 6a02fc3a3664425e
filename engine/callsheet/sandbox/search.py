"""Searching a entity with a query: which items it means, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .conditions import Comparison, OperatorError, comparison, key_parts
from .history import HistoryCondition, Mistake
from .moments import edge_of_period, parse_item_time, parse_time_span
from .queries.lexer import QuerySyntaxError
from .queries.parser import Grammar
from .queries.query_model import Clause, Condition, Empty, Function, Joined, Negation, Operand, Query, Values
from .refusal import RefusedError
from .rendering import compile_render, condition_holds, names_used, render_expression

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.sandbox import QueryDefinition, QueryField, QueryFunction
    from ..language.template import Scope
    from .entities import Entities, Entity
    from .paging import Window
    from .state import Item

Test = Callable[[Mapping[str, Any]], bool]
_DEEPEST = 10


class Searcher:
    """Reads queries with the languages that the definitions describe, and applies them to the items of a entity."""

    def __init__(self, catalog: Catalog, entities: Entities) -> None:
        self.entities = entities
        self.languages: dict[str, QueryDefinition] = catalog.all("query")
        self.people = {name: it["me"] for name, it in entities.simulations.items() if "me" in it}
        self.grammars = {
            name: Grammar(frozenset(language.get("reserved", ())), language.get("numbered"))
            for name, language in self.languages.items()
        }

    def parse(self, entity: Entity, text: str) -> Query:
        """Raises `RefusedError` in the words of the language."""
        rules = entity.query
        if rules is None:
            raise RefusedError(400, f"{entity.name} takes no query")
        try:
            return self.grammars[rules["language"]].parse(text)
        except QuerySyntaxError as error:
            raise self.refusal(entity, "syntax", message=str(error)) from None

    def page(
        self, entity: Entity, text: str, scope: Scope, place: Window, items: Iterable[Item], usual: str | None = None
    ) -> tuple[list[Item], int]:
        """The items of one page, and how many there are in all; `usual` sorts where the query does not."""
        search = _Search(self, entity, scope)
        query = self.parse(entity, text)
        matches = search.test(query.where) if query.where is not None else None
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

    def refusal(self, entity: Entity, kind: Mistake, **told: Any) -> RefusedError:
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

    def test(self, clause: Clause) -> Test:
        if isinstance(clause, Negation):
            inner = self.test(clause.clause)
            return lambda scope: not inner(scope)
        if isinstance(clause, Joined):
            parts = [self.test(each) for each in clause.clauses]
            decide = all if clause.word == "and" else any
            return lambda scope: decide(part(scope) for part in parts)
        return self.condition(clause)

    def condition(self, clause: Condition) -> Test:
        name, field = self.field(clause.field.name)
        if clause.operator.startswith("was") or clause.operator == "changed":
            return HistoryCondition(self, name, field, clause)
        if field.get("kind") == "query":
            return self.kept_query(name, field, clause)
        operand = clause.operand
        if isinstance(operand, Empty) or clause.operator in ("is", "is not"):
            wanted: list[str] | None = None
        else:
            wanted = self.operand(name, field, operand)
        try:
            compare: Comparison = comparison(field, clause.operator, wanted, self.now)
        except OperatorError:
            raise self.refuse("operator", field=name, operator=clause.operator) from None
        except ValueError as error:
            raise self.refuse("value", field=name, value=str(error)) from None
        value = self.value_of(field)
        return lambda scope: compare(_flat(value(scope)))

    def kept_query(self, name: str, field: QueryField, clause: Condition) -> Test:
        """What fits the query that is kept under one of these names."""
        if clause.operator not in ("=", "!=", "in", "not in"):
            raise self.refuse("operator", field=name, operator=clause.operator)
        self.depth += 1
        kept = [self.entities.find(field["entity"], word) for word in self.operand(name, field, clause.operand)]
        texts = [str((item or {}).get(field["value"]) or "") for item in kept]
        if self.depth > _DEEPEST:
            raise self.refuse("value", field=name, value=", ".join(texts))
        queries = [self.searcher.parse(self.entity, text).where for text in texts]
        tests = [self.test(query) for query in queries if query is not None]
        self.depth -= 1
        everything = len(tests) < len(queries)  # one of them has no conditions
        wanted = clause.operator in ("=", "in")
        return lambda scope: (everything or any(test(scope) for test in tests)) is wanted

    def field(self, name: str) -> tuple[str, QueryField]:
        """A field by its name, following other names of it; refused where there is none."""
        fields = self.rules["fields"]
        found = fields.get(name.lower())
        if found is None:
            raise self.refuse("field", field=name)
        return name, fields[found["like"]] if "like" in found else found

    def value_of(self, field: QueryField) -> Callable[[Mapping[str, Any]], Any]:
        text = field["value"]
        self.needed |= names_used(f"{{{text}}}") & (self.entity.refs.keys() | self.entity.children.keys())
        return render_expression(text)

    def operand(self, name: str, field: QueryField, operand: Operand | None) -> list[str]:
        """The words that a field is compared with, functions called."""
        if isinstance(operand, Values):
            return [word for item in operand.items for word in self.operand(name, field, item)]
        if isinstance(operand, Function):
            return self.call(operand)
        if operand is None or isinstance(operand, Empty):
            return []
        self.check_value(name, field, operand.text)
        return [operand.text]

    def check_value(self, name: str, field: QueryField, word: str) -> None:
        if "entity" in field and self.entities.find(field["entity"], word) is None:
            raise self.refuse("value", field=name, value=word)

    def call(self, function: Function) -> list[str]:
        rules = self.language.get("functions", {}).get(function.name.lower())
        if rules is None:
            raise self.refuse("function", function=function.name)
        arguments = list(function.arguments)
        known = {**self.scope, "arguments": arguments}
        if "edge" in rules:
            return [self.moment(rules, arguments, function.name)]
        if "entity" in rules:
            names = render_expression(rules.get("names", "id"))
            items = self.entities.state.items(rules["entity"])
            where = rules.get("where", "`true`")
            return [
                str(each)
                for item in items
                if condition_holds(where, {**known, "item": item})
                for each in _flat(names(item))
            ]
        return [str(each) for each in _flat(render_expression(rules["value"])(known))]

    def moment(self, rules: QueryFunction, arguments: list[str], name: str) -> str:
        shift = arguments[0] if arguments else ""
        try:
            if rules["edge"] == "now":
                return (self.now + parse_time_span(shift or "0m", "d")).isoformat()
            return edge_of_period(rules["unit"], end=rules["edge"] == "end", now=self.now, shift=shift).isoformat()
        except ValueError:
            raise self.refuse("function", function=name) from None

    def sort_keys(self, query: Query, usual_value: str | None = None) -> list[SortKey]:
        found = []
        for sorting in query.order:
            _, field = self.field(sorting.field.name)
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
            found.append(SortKey(self.value_of_sort(self.field(word)[1]), descending=direction == "desc"))
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
                seen[name] = self.referred(self.entity.refs[name], item.get(name))
            else:
                child = self.entity.children[name]["entity"]
                parts = self.entities.state.items(child, str(item["id"]))
                seen[name] = [self._with_own(child, part) for part in parts]
        return seen

    def referred(self, entity: str, id: Any) -> Any:
        if isinstance(id, list):
            return [found for each in id if (found := self.referred(entity, each))]
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

    def refuse(self, kind: Mistake, **told: Any) -> RefusedError:
        return self.searcher.refusal(self.entity, kind, **told)


def sortable(value: Any) -> tuple[int, Any]:
    """Numbers before words before nothing."""
    if value is None:
        return (2, "")
    return (0, value) if isinstance(value, int | float) else (1, str(value).casefold())


def _flat(value: Any) -> list[Any]:
    """Values that are there: of lists, at any depth."""
    if value is None:
        return []
    if isinstance(value, list):
        return [each for item in value for each in _flat(item)]
    return [value]
