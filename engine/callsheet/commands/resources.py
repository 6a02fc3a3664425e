"""The things of one resource: listed, read, found by a word, made, changed and deleted as its definition says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..durations import duration_seconds
from ..errors import NoMatch, UsageError, count_of, did_you_mean
from ..language.desugar import plural_of, title_of
from ..language.merge import check_available, on_deployment
from ..language.parameters import to_identifier
from ..language.scopes import names_in
from ..language.template import evaluate, fill_template, fill_text, to_text
from .steps.parameter_scope import of_the_run

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..client.request.http_request import FileToSend, Request
    from ..language.shape.resources import ResourceDefinition
    from .steps.dispatcher import StepDispatcher


_NOTHING: tuple[Any, ...] = (None, "", [], {})


def is_same_value(now: Any, wanted: Any) -> bool:
    """Members that nobody names, the order of lists, `10` for `"10"`, and empty for nothing are no difference."""
    if wanted in _NOTHING or now in _NOTHING:
        return wanted in _NOTHING and now in _NOTHING
    if isinstance(wanted, Mapping) and isinstance(now, Mapping):
        return all(is_same_value(now.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(now, list):
        left = list(now)
        for item in wanted:
            match = next((place for place, other in enumerate(left) if is_same_value(other, item)), None)
            if match is None:
                return False
            del left[match]
        return not left
    if isinstance(wanted, bool) or isinstance(now, bool) or isinstance(wanted, Mapping | list):
        return bool(type(now) is type(wanted) and now == wanted)
    return not isinstance(now, Mapping | list) and to_text(now) == to_text(wanted)


# Things of one kind on a site: listed, found, read, made, changed and deleted as their resource says.
#
# things = Things(StepDispatcher(context), "version") for version in things.all({"project": "10000"}): ... made =
# things.create({"name": "2.0"}, {"project": "10000"}) things.update(made, {"released": True})
#
# A thing is the JSON that the service answers, untouched. Its `parents` are a table: resource → id. Every request
# goes through the run's policy, quota and log; in a dry run what changes is printed, and the answer is None.


Thing = Any  # the JSON of one thing
Parents = Mapping[str, str]  # resource → id
Fields = Mapping[str, Any]  # field → value, as requests have them
Verb = Literal["create", "update", "delete", "content", "replace", "order"]

_MARGIN = "1m"
_ISO = "%Y-%m-%dT%H:%M:%S.000Z"


class Difference(NamedTuple):
    """One field that is not what is wanted."""

    field: str
    was: Any
    wanted: Any


class Things:
    """All things of one resource. Raises `UsageError` for a resource that the site's deployment does not have."""

    def __init__(self, dispatcher: StepDispatcher, id: str) -> None:
        context = dispatcher.context
        deployment = context.site().deployment
        self.dispatcher, self.resource = dispatcher, id
        self.definition: ResourceDefinition = on_deployment(context.catalog.resources.get(id), deployment)
        self.title, self.plural = title_of(id, self.definition), plural_of(id, self.definition)
        check_available(self.definition, self.plural, deployment)

    # What is known of a thing

    @property
    def parent_resources(self) -> list[str]:
        """The resources that a thing belongs to; the first is the one under which things are listed."""
        return list(self.definition.get("parent", {}))

    @cached_property
    def child_resources(self) -> list[str]:
        """The resources whose things belong to things of this one, without itself."""
        every = self.dispatcher.context.catalog.resources.all().items()
        return [id for id, each in every if self.resource in each.get("parent", {}) and id != self.resource]

    @cached_property
    def file_resource(self) -> str | None:
        """The resource of the files that things have, if they have any."""
        found = (id for id in self.child_resources if "content" in self.dispatcher.context.catalog.resources.get(id))
        return next(found, None)

    @cached_property
    def field_expressions(self) -> dict[str, str]:
        """Field → where a thing has it. These can be given when one is made."""
        fields = self.definition.get("fields", {})
        return dict(fields) if isinstance(fields, dict) else {name: f'"{name}"' for name in fields}

    def field_at(self, where: str | None) -> str | None:
        """The field that a thing has at a place, such as where its name is."""
        return next((name for name, part in self.field_expressions.items() if part.strip('"') == where), None)

    @property
    def name_field(self) -> str | None:
        return self.field_at(self.definition.get("name"))

    @property
    def changeable_fields(self) -> list[str]:
        """Those of the fields that can be changed."""
        fixed = self.definition.get("fixed", ())
        return [name for name in self.field_expressions if name not in fixed] if self.supports("update") else []

    @property
    def late_fields(self) -> list[str]:
        """Those that only a change sends, so that a new thing gets them once it is there."""
        from ..language.checks.resources import fields_picked, sends_all_fields

        create = self.definition.get("create", {})
        said = {name for _, name in fields_picked(create)}
        return [name for name in self.changeable_fields if not sends_all_fields(create) and name not in said]

    def supports(self, verb: Literal["list", "read"] | Verb) -> bool:
        """Whether the resource says how, and the site's deployment has the operation."""
        call: Any = self.definition.get(verb)
        if call is None or "call" not in call:
            return call is not None
        try:
            self.dispatcher.builder.operation_call(call["call"])
        except UsageError:
            return False
        return True

    def id_of(self, thing: Thing) -> str:
        """Raises `UsageError` for an answer that does not say it."""
        id = self._expression_value("id", thing, "id")
        if id is None:
            raise UsageError(f"the site answered a {self.title} without {self.definition.get('id', 'id')}")
        return to_text(id)

    def name_of(self, thing: Thing) -> str | None:
        name = self._expression_value("name", thing)
        return None if name is None else to_text(name)

    def parents_of(self, thing: Thing, listed_under: Parents | None = None) -> dict[str, str]:
        """The ids of its parents; those that it does not tell are those that it was listed under."""
        parent_ids = {id: evaluate(where, thing) for id, where in self.definition.get("parent", {}).items()}
        under = listed_under or {}
        known = {id: under.get(id) if found is None else to_text(found) for id, found in parent_ids.items()}
        return {id: found for id, found in known.items() if found is not None}

    def fields_of(self, thing: Thing) -> dict[str, Any]:
        """Its fields in the form that can be sent back; null for what it does not have."""
        return {name: evaluate(where, thing) for name, where in self.field_expressions.items()}

    def resolve_field(self, field: str, value: Any) -> Any:
        """The id of the thing that a word means, in a field that names another thing; else the value itself.

        Raises `UsageError` where nothing, or more than one thing, is called so.
        """
        resource = self.definition.get("refers", {}).get(field)
        if not isinstance(resource, list):
            return value if resource is None or not isinstance(value, str) else self._find_id(resource, value)
        found: dict[str, list[Any]] = {id: [] for id in resource}
        for word in map(to_text, value if isinstance(value, list) else [value]):
            kind, _, name = word.partition(":")
            of, name = (kind, name.strip()) if kind in found else (resource[0], word)
            found[of].append(to_text(self._find_id(of, name)))
        return found

    def words_of_field(self, field: str, value: Any) -> Any:
        """What a file says of such a field."""
        resources = self.definition.get("refers", {}).get(field)
        if not isinstance(resources, list) or not isinstance(value, Mapping):
            return value
        pairs = ((id, to_text(each)) for id in resources for each in value.get(id) or ())
        return [each if id == resources[0] else f"{id}:{each}" for id, each in pairs]

    # Things beside a thing, with its id, such as who may see it

    @cached_property
    def parts(self) -> dict[str, Things]:
        """By what a file calls them."""
        return {name: Things(self.dispatcher, id) for name, id in self.definition.get("parts", {}).items()}

    def part_of(self, name: str, id: str) -> Fields:
        """The fields of a part of a thing with this id."""
        return self.parts[name].fields_of(self._read_part(name, id))

    def set_part(self, name: str, id: str, fields: Fields) -> None:
        self.parts[name].update_thing(self._read_part(name, id), fields)

    def _read_part(self, name: str, id: str) -> Thing:
        return {**self.parts[name].read_thing(id), "id": id}

    def part_fields(self, name: str, said: Any) -> Fields:
        """What a file says of a part, as requests have it. Raises `UsageError` for what there is not."""
        if not isinstance(said, Mapping):
            raise UsageError(f"expected a table of {', '.join(self.parts[name].field_expressions)}")
        self.parts[name].check_fields(said)
        return {field: self.parts[name].resolve_field(field, value) for field, value in said.items()}

    @cached_property
    def _find_id(self) -> Callable[[str, str], Any]:
        from .steps.lookup import Lookups

        lookups = Lookups(self.dispatcher.context, self.dispatcher, exact=True)
        return lambda resource, word: lookups.resolve_word(resource, word, {})

    def changed_of(self, thing: Thing) -> datetime | None:
        """When it was changed last, where its service tells."""
        changed = self.definition.get("changed")
        text = evaluate(changed["at"], thing) if changed else None
        try:
            found = datetime.fromisoformat(text) if isinstance(text, str) else None
        except ValueError:
            return None
        return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found

    def rank_of(self, thing: Thing) -> float | None:
        """Its place among others with the same parent, where its service tells."""
        where = self.definition.get("order", {}).get("at")
        rank = evaluate(where, thing) if where else None
        return rank if isinstance(rank, int | float) and not isinstance(rank, bool) else None

    def version_of(self, thing: Thing) -> Any:
        """What each change makes greater; None where the service does not count."""
        return self._expression_value("version", thing)

    @property
    def body_format(self) -> str | None:
        """The format of the rich text that a thing is about; its field is `definition["body"]["field"]`."""
        body = self.definition.get("body")
        return str(fill_text(body["format"], self.expression_scope({}))) if body else None

    def field_differences(self, thing: Thing, wanted: Fields) -> list[Difference]:
        """The fields that are not what is wanted; what a service adds by itself is no difference."""
        is_now = self.fields_of(thing)
        self.check_fields(wanted)
        return [
            Difference(name, is_now[name], value)
            for name, value in wanted.items()
            if not is_same_value(is_now[name], value)
        ]

    # What is asked

    def list_things(
        self,
        parents: Parents | None = None,
        *,
        since: datetime | None = None,
        query: str | None = None,
        ids_only: bool = False,
        inside: Thing = None,
    ) -> Iterator[Thing]:
        """Every thing under these parents, page by page as they come; all of the site where none is needed.

        `since` leaves out what was not changed after it, where `asks_since`; `query` is a condition of the service's
        own language. With `ids_only` a thing may have nothing but its id and parents. `inside` is the first parent as
        it was read, for things that stand in it. Raises `UsageError` where a parent is missing.
        """
        listing = self.definition.get("list")
        if listing is None:
            raise UsageError(f"{self.plural} cannot be listed", hint=f"read one {self.title} by its id")
        if "inside" in listing:
            items = iter(evaluate(listing["inside"], inside or self._parent_thing(parents or {})) or [])
        else:
            args = {**listing.get("args", {}), **(listing.get("ids", {}) if ids_only else {})}
            scope = {**self.expression_scope(parents or {}), "since": self._since_text(since), "query": query}
            body = fill_template(listing["body"], scope) if "body" in listing else None
            items = self._list_items(listing["call"], fill_template(args, scope) or {}, body, parents or {})
        if since is not None and self.definition.get("changed", {}).get("newest_first"):
            asked = self._asked_from(since)
            items = takewhile(lambda item: (self.changed_of(item) or asked) >= asked, items)
        where = listing.get("where")
        yield from (item for item in items if where is None or evaluate(where, item))

    @property
    def asks_since(self) -> bool:
        """Whether the service can be asked for what was changed since a time."""
        return self._is_listed_by("since")

    @property
    def takes_query(self) -> bool:
        """Whether a condition of the service's own language narrows its list."""
        return self._is_listed_by("query")

    def _is_listed_by(self, name: str) -> bool:
        listing = self.definition.get("list", {})
        return name in names_in([listing.get("args"), listing.get("body")])

    def read_thing(self, id: str, parents: Parents | None = None, version: Any = None) -> Thing:
        """One thing, as it was at a version. Raises `NotFound` where there is none with this id."""
        call = self._call_of_verb("read")
        scope = {**self.expression_scope(parents or {}), "id": id, "version": version}
        request = self.dispatcher.build_request(call["call"], fill_template(call.get("args", {}), scope) or {})
        answer = self.dispatcher.fetch_answer(call["call"], request)
        return evaluate(call["value"], answer) if "value" in call else answer

    def find_thing(self, word: str, parents: Parents | None = None) -> Thing:
        """The thing with this id or name. Raises `UsageError` naming those that are near where none or several fit."""
        names: list[str] = []
        found: dict[str, Thing] = {}
        for thing in self.list_things(parents):
            id, name = self.id_of(thing), self.name_of(thing)
            names.append(name or id)
            if word == id or (name is not None and name.casefold() == word.casefold()):
                found[id] = thing
        if word in found or len(found) == 1:
            return found.get(word) or next(iter(found.values()))
        if found:
            ids = ", ".join(found)
            raise UsageError(f'"{word}" matches {count_of(len(found), self.title)}: {ids}', hint="use the id")
        raise NoMatch(f'no {self.title} matches "{word}"{did_you_mean(word, names)}')

    # What changes something

    def create_thing(
        self, fields: Fields, parents: Parents | None = None, files: Sequence[FileToSend | str] = ()
    ) -> Thing:
        """What the service answers about the new thing, which may be no more than its id."""
        self.check_fields(fields)
        scope = {**self.expression_scope(parents or {}), "fields": dict(fields), "files": list(files)}
        answer = self._send_change("create", scope)
        return answer[0] if isinstance(answer, list) and answer else answer

    def update_thing(self, thing: Thing, fields: Fields, parents: Parents | None = None) -> Thing:
        """Change these fields of a thing as it was read; a service with versions refuses it where that is old."""
        self.check_fields(fields)
        whole = {name: value for name, value in self.fields_of(thing).items() if value is not None}
        scope = {**self._scope_of_thing(thing, parents), "fields": dict(fields), "whole": {**whole, **fields}}
        return self._send_change("update", scope)

    def delete_thing(self, thing: Thing, parents: Parents | None = None) -> None:
        self._send_change("delete", self._scope_of_thing(thing, parents))

    def order_thing(self, thing: Thing, parents: Parents, *, after: str | None, before: str | None) -> None:
        """Put a thing behind another one with the same parent, or before one."""
        self._send_change("order", {**self._scope_of_thing(thing, parents), "after": after, "before": before})

    def replace_file(self, thing: Thing, file: FileToSend, fields: Fields, parents: Parents | None = None) -> None:
        """Put the bytes of another file into what is one."""
        self._send_change("replace", {**self._scope_of_thing(thing, parents), "fields": dict(fields), "files": [file]})

    def save_file(self, thing: Thing, path: str, parents: Parents | None = None) -> None:
        """Write the bytes of a file to this path."""
        self.dispatcher.save_file(
            self.request_of_verb("content", self._scope_of_thing(thing, parents)), path, named=True
        )

    def request_of_verb(self, verb: Verb, scope: Mapping[str, Any]) -> Request:
        """The request of a verb, checked and not sent."""
        call = self._call_of_verb(verb)
        takes_body = "body" in self.dispatcher.builder.operation_call(call["call"]).operation and "files" not in call
        body = fill_template(call.get("body", "{fields}" if takes_body and "fields" in scope else None), scope)
        files = fill_template(call.get("files"), scope) or []
        return self.dispatcher.build_request(
            call["call"], fill_template(call.get("args", {}), scope) or {}, body, files
        )

    def find_unfit(self, fields: Fields, parents: Parents, *, are_all: bool) -> list[str]:
        """What the document does not allow of these fields, in words; unless they are all, one may be missing."""
        from ..client.request.json_body import UnfitBody

        if "body" not in self.definition.get("create", {}):
            return []
        try:
            self.request_of_verb("create", {**self.expression_scope(parents), "fields": dict(fields), "files": []})
        except UnfitBody as error:
            faults = [fault for fault in error.faults if are_all or not fault.missing]
            return [fault.in_words(".".join(map(str, fault.path)) or "body") for fault in faults]
        return []

    def _send_change(self, verb: Verb, scope: Mapping[str, Any]) -> Any:
        request, operation = self.request_of_verb(verb, scope), self._call_of_verb(verb)["call"]
        self.dispatcher.check_before_sending(request)
        if self.dispatcher.held_back(request, final=True):
            self.dispatcher.print_curl(operation, request)
            return None
        return self.dispatcher.fetch_answer(operation, request)

    def _call_of_verb(self, verb: Literal["read"] | Verb) -> Any:
        call: Any = self.definition.get(verb)
        if call is None:
            words = {"content": "have no content", "replace": "cannot be replaced"}
            raise UsageError(f"{self.plural} {words.get(verb, f'cannot be {verb}d'.replace('readd', 'read'))}")
        return call

    def check_fields(self, fields: Fields) -> None:
        """Raises `UsageError` for a field that there is not."""
        for name in fields:
            if name not in self.field_expressions:
                raise UsageError(f"a {self.title} has no field {name!r}{did_you_mean(name, self.field_expressions)}")

    def _expression_value(self, key: Literal["id", "name", "version"], thing: Thing, default: str | None = None) -> Any:
        where = self.definition.get(key, default)
        return None if where is None else evaluate(where, thing)

    def _scope_of_thing(self, thing: Thing, parents: Parents | None) -> dict[str, Any]:
        return {**self.expression_scope(self.parents_of(thing, parents)), "id": self.id_of(thing), "found": thing}

    def expression_scope(self, parents: Parents) -> dict[str, Any]:
        """What every expression sees: the site, and each parent, null where it is not given."""
        given = {to_identifier(id): parents.get(id) for id in self.parent_resources}
        return {"site": of_the_run(self.dispatcher.context)["site"], **given}

    def _since_text(self, since: datetime | None) -> str | None:
        if since is None:
            return None
        asked, format = self._asked_from(since), self.definition.get("changed", {}).get("format", _ISO)
        return asked.strftime(format.replace("%s", str(int(asked.timestamp()))))

    def _asked_from(self, since: datetime) -> datetime:
        margin = self.definition.get("changed", {}).get("margin", _MARGIN)
        return since.astimezone(UTC) - timedelta(seconds=duration_seconds(margin))

    def _parent_thing(self, parents: Parents) -> Thing:
        first = self.parent_resources[0]
        if first not in parents:
            raise self._needs_parent()
        return Things(self.dispatcher, first).read_thing(parents[first], parents)

    def _needs_parent(self) -> UsageError:
        first = self.parent_resources[0]
        under = title_of(first, self._resources.resources.get(first))
        return UsageError(f"{self.plural} are listed under one {under}", hint=f"say which {first}")

    @property
    def _resources(self) -> Catalog:
        return self.dispatcher.context.catalog

    def _list_items(self, operation: str, arguments: dict[str, Any], body: Any, parents: Parents) -> Iterator[Thing]:
        from ..client.listed import list_in_answer
        from ..client.request.build import MissingArguments

        try:
            request = self.dispatcher.build_request(operation, arguments, body)
        except MissingArguments:
            if self.parent_resources and self.parent_resources[0] not in parents:
                raise self._needs_parent() from None
            raise
        under, plan = self.definition["list"].get("items"), self.dispatcher.page_plan(operation)
        if under is None and plan is not None:
            yield from self.dispatcher.stream_items(plan, request)
        else:
            answer = self.dispatcher.fetch_answer(operation, request)
            yield from list_in_answer(evaluate(under, answer) if under else answer, under)


def parents_first(catalog: Catalog, wanted: Sequence[str] = ()) -> list[str]:
    """Resources in an order in which each comes after those that it belongs to; all of them where none is wanted."""
    every = catalog.resources.all()
    done: dict[str, None] = {}

    def add(id: str, way: frozenset[str]) -> None:
        for parent in every[id].get("parent", {}):
            if parent not in way and parent not in done:
                add(parent, way | {id})
        done.setdefault(id)

    for id in every:
        add(id, frozenset({id}))
    return [id for id in done if not wanted or id in wanted]
