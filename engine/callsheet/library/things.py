"""The things of a site by their resources: found by a word, or listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..commands.resources import Things
from ..commands.steps.dispatcher import StepDispatcher
from ..commands.steps.lookup import Lookups
from ..errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from .session import ScriptCall, Session


class Thing:
    """One thing. The fields of its resource are attributes, as the service has them; `raw` is all that it answered."""

    def __init__(self, things: Things, raw: dict[str, Any], call: ScriptCall) -> None:
        self._things = things
        self._call = call
        self.raw = raw

    @property
    def id(self) -> str:
        return self._things.id_of(self.raw)

    @property
    def name(self) -> str | None:
        return self._things.name_of(self.raw)

    @property
    def fields(self) -> dict[str, Any]:
        """What can be said when one is made, by name."""
        return self._things.fields_of(self.raw)

    @property
    def body_markdown(self) -> str:
        """The text that the thing is about, as Markdown. Raises `UsageError` for one that has none."""
        body, format = self._things.definition.get("body"), self._things.body_format
        if body is None or format is None:
            raise UsageError(f"a {self._things.title} has no text")
        value = self.fields[body["field"]]
        return self._call.as_markdown(value, format) if value else ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        fields = self.fields
        if name in fields:
            return fields[name]
        raise AttributeError(f"a {self._things.title} has no {name!r}{did_you_mean(name, fields)}")

    def __dir__(self) -> list[str]:
        return sorted({"id", "name", "fields", "raw", "body_markdown", *self.fields})

    def __repr__(self) -> str:
        return f"<{self._things.title} {self.id}>"

    def _repr_html_(self) -> str:
        from .session import record_table

        view = self._things.definition.get("view")
        return record_table(self.raw, self._call.catalog.views.get(view) if view else None, self._call.formats())


class ResourceThings:
    """All things of one resource. What they belong to is given by the names of other resources."""

    def __init__(self, session: Session, name: str) -> None:
        if session.catalog.resources.find(name) is None:
            known = sorted(session.catalog.resources.ids())
            near = did_you_mean(name, known)
            raise UsageError(
                f"{session.base.program} has no resource {name!r}{near}", hint=f"it has {', '.join(known)}"
            )
        self._session = session
        self._name = name

    def get(self, word: str, **parents: str) -> Thing:
        """The one thing that a word names as it does on the command line: an id, a name, an address."""
        call = self._session.new_call()
        with self._session.closing_on_error(call):
            things, ids = self._things_with_parents(call, parents)
            if call.catalog.lookups.find(self._name) is not None:
                scope = {**things.expression_scope(ids), "site": call.site().name}
                lookups = Lookups(call, things.dispatcher, exact=True)
                return Thing(
                    things, things.read_thing(str(lookups.find_candidate(self._name, word, scope).value), ids), call
                )
            return Thing(things, things.find_thing(word, ids), call)

    def list(self, **parents: str) -> Iterator[Thing]:
        """Each of them; a page is asked for when it is needed."""
        call = self._session.new_call()
        with self._session.closing_on_error(call):
            things, ids = self._things_with_parents(call, parents)
            for raw in things.list_things(ids):
                yield Thing(things, raw, call)

    def __repr__(self) -> str:
        return f"<things of {self._name}>"

    def _things_with_parents(self, call: ScriptCall, parents: Mapping[str, str]) -> tuple[Things, dict[str, str]]:
        """With the ids of what is meant by each parent's word."""
        dispatcher = StepDispatcher(call)
        things = Things(dispatcher, self._name)
        lookups = Lookups(call, dispatcher, exact=True)
        ids: dict[str, str] = {}
        for name, word in parents.items():
            if name not in things.parent_resources:
                near = did_you_mean(name, things.parent_resources)
                hint = f"it belongs to: {', '.join(things.parent_resources) or 'nothing'}"
                raise UsageError(f"a {things.title} belongs to no {name!r}{near}", hint=hint)
            known = call.catalog.lookups.find(name) is not None
            ids[name] = str(lookups.find_candidate(name, word, things.expression_scope(ids)).value) if known else word
        return things, ids
