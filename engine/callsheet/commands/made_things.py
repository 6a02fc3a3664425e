"""What a command makes: in a journal by which `undo` removes it again, as its resource says."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..client.request.http_request import Json
from ..errors import CallsheetError, Conflict, NotFound, UsageError, count_of
from ..language.merge import on_deployment
from ..language.template import to_text
from .execute import refuse_when_read_only
from .journal import Journal, MadeThing, Recorded, new_journal, time_of_entry
from .resources import Things
from .steps.dispatcher import StepDispatcher
from .steps.each_item import Numbered, Work, run_for_each
from .steps.recording import JOURNAL, new_path

if TYPE_CHECKING:
    from ..client.request.http_request import Request
    from ..language.shape.steps import Each, ItemStep
    from .context import Context
    from .resources import Thing
    from .steps.recording import Recording

_NAMED = 5  # in a question
Rows = list[dict[str, Any]]


def state_of_thing(things: Things, thing: Thing) -> dict[str, Any]:
    """By which it can be told whether somebody changed it."""
    changed = things.changed_of(thing)
    time = None if changed is None else changed.isoformat()
    return {"fields": things.fields_of(thing), "version": things.version_of(thing), "changed": time}


class MadeThings:
    """What one run makes, and what that is when the run ends."""

    def __init__(self, run: Recording) -> None:
        self._run = run
        self._journal: Journal | None = None
        self._own = ExitStack()
        self._is_of_items = False  # the items that are at work have a journal, or none is kept of them
        self._made: list[tuple[Things, MadeThing]] = []
        self._adding = threading.Lock()

    @cached_property
    def _makers(self) -> dict[str, list[Things]]:
        """Operation → the resources of what it makes. One that may be repeated finds what was there before, too."""
        dispatcher, found = self._run.dispatcher, dict[str, list[Things]]()
        for id, table in self._run.context.catalog.resources.all().items():
            here: Any = on_deployment(table, self._run.context.site().deployment)
            if "unavailable" not in here and here.keys() >= {"create", "read", "delete"}:
                things = Things(dispatcher, id)
                if things.supports("create") and things.supports("delete"):
                    for call in (here["create"]["call"], *here.get("made_by", ())):
                        if not dispatcher.may_repeat(call):
                            found.setdefault(call, []).append(things)
        return found

    def can_make(self, steps: Sequence[ItemStep]) -> bool:
        """Whether a step makes what can be removed again."""
        return any(step.get("call") in self._makers for step in steps)

    @contextmanager
    def in_journal(self, journal: Journal | None, *, can_undo: bool) -> Iterator[None]:
        """What is made meanwhile goes into the journal of the items; into none where they have none."""
        before = self._journal, self._is_of_items, self._made
        self._journal, self._is_of_items, self._made = journal, True, []
        try:
            yield
        finally:
            self._write_states(can_undo=can_undo)
            self._journal, self._is_of_items, self._made = before

    @contextmanager
    def in_own_journal(self) -> Iterator[None]:
        """What is made is in a journal of its own, which nobody misses where nothing was."""
        try:
            with self._own:
                try:
                    yield
                finally:
                    if self._journal is not None and self._made:
                        self._write_states()
                        self._journal.write_counts(done=len(self._made), failed=0)
        finally:
            if self._journal is not None and not self._made:
                os.remove(self._journal.path)
                self._run.context.journaling.path = None

    def before_sending(self, step: ItemStep, request: Request) -> Things | None:
        """What the request makes; None where that is nothing, or cannot be removed. Its journal is there before it."""
        dispatcher, call = self._run.dispatcher, step["call"]
        if dispatcher.dry or dispatcher.may_repeat(call) or call not in self._makers:
            return None
        body = request.body.value if isinstance(request.body, Json) else {}
        fitting = (each for each in self._makers[call] if _says_fixed(each.definition["create"], call, body))
        things = next(fitting, None)
        if things is not None and not self._is_of_items and self._journal is None:
            self._open_journal(step)
        return things if self._journal is not None else None

    def _open_journal(self, step: ItemStep) -> None:
        run, context = self._run, self._run.context
        path = run.scope.get(JOURNAL)
        if not path and not context.journaling.keeps_journal(1, has_undo=True):
            return
        self._journal = self._own.enter_context(new_journal(path or new_path(context, run.command["journal"])))
        context.journaling.path = self._journal.path
        service = run.dispatcher.builder.operation_call(step["call"]).service
        head = {
            "program": context.program,
            "command": run.command["journal"],
            "step": 0,
            "site": context.site().base_url(service),
            "started": time_of_entry(),
            "undo": False,
            "values": {},
        }
        self._journal.write_head(head, [])

    def add_answer(self, things: Things, arguments: Mapping[str, Any], answer: Any) -> None:
        """What was made, and under which parents: as the arguments of the request said, or else the answer."""
        create: Any = things.definition["create"]
        given = {id: f"{{{id.replace('-', '_')}}}" for id in things.parent_resources}
        names = {template: id for id, template in given.items()}
        said = {names[part]: to_text(arguments[name]) for name, part in create.get("args", {}).items() if part in names}
        for thing in answer if isinstance(answer, list) else [answer]:
            try:
                parents = {**things.parents_of(thing), **said}
                made = MadeThing(things.resource, things.id_of(thing), parents, things.name_of(thing))
            except CallsheetError:  # a service that does not tell what it made: it is made all the same
                continue
            with self._adding:
                if self._journal is not None:
                    self._journal.thing_made(made)
                    self._made.append((things, made))

    def _write_states(self, *, can_undo: bool = False) -> None:
        journal, context = self._journal, self._run.context
        if journal is None:
            return
        for things, each in self._made:
            try:
                journal.thing_made(each, state_of_thing(things, things.read_thing(each.id, each.parents)))
            except CallsheetError as error:
                context.note(f"{things.title} {each.words} could not be read again: {error.message}")
        context.note_once(context.journaling.journal_note(journal.path, has_undo=can_undo or bool(self._made)))


def _says_fixed(create: Any, call: str, body: Any) -> bool:
    """Whether a body says what the body of a resource's new things always says: operations make several kinds."""
    fixed = create.get("body", {}) if create["call"] == call else {}
    fixed = fixed if isinstance(fixed, dict) else {}
    return isinstance(body, dict) and all(
        body.get(key) == value for key, value in fixed.items() if isinstance(value, str) and "{" not in value
    )


class Removal:
    """Takes back what a journal says was made: what was not changed since is removed, the last one first."""

    def __init__(self, context: Context, found: Recorded, *, force: bool) -> None:
        self._context, self._found, self._force = context, found, force
        self._dispatcher = StepDispatcher(context)
        self.made = list(found.made.values())[::-1]
        known = context.catalog.resources.all()
        for each in self.made:
            if each.resource not in known:
                raise UsageError(f"{found.path} has a {each.resource}, which this program does not know")
        self._things = {each.resource: Things(self._dispatcher, each.resource) for each in self.made}

    @property
    def words(self) -> str:
        """What is removed."""
        names = [f"{self._things[each.resource].title} {each.words}" for each in self.made[:_NAMED]]
        more = [f"{len(self.made) - _NAMED} more"] if len(self.made) > _NAMED else []
        return ", ".join([*names, *more])

    def check_before_sending(self) -> None:
        """Raises what the policy refuses, and asks where it wants that."""
        if not self._dispatcher.dry:
            refuse_when_read_only(self._context)
        for each in self.made:
            self._dispatcher.check_before_sending(self._removal_request(each))

    def _removal_request(self, each: MadeThing) -> Request:
        things = self._things[each.resource]
        scope = {**things.expression_scope(each.parents), "id": each.id, "found": {}}
        return things.request_of_verb("delete", scope)

    def remove_all(self) -> tuple[Rows, CallsheetError | None]:
        """A row for each that is gone, and what is to be told of the others."""
        items = [Numbered(number, each.words) for number, each in enumerate(self.made)]
        each: Each = {"items": "@", "step": [], "done": "removed {done} of {total}"}
        return run_for_each(self._context, Work(items, self._removing, each, {}, 1))

    def _removing(self, item: Numbered) -> _Removing:
        return _Removing(self, self.made[item.number])

    def remove_thing(self, each: MadeThing) -> str:
        things = self._things[each.resource]
        if self._dispatcher.dry:
            self._dispatcher.print_curl(things.definition["delete"]["call"], self._removal_request(each))
            return "removed"
        try:
            thing = things.read_thing(each.id, each.parents)
        except NotFound:
            return "was removed already"
        if not self._force:
            self._refuse_changed(things, each, thing)
        things.delete_thing(thing, each.parents)
        return "removed"

    def _refuse_changed(self, things: Things, each: MadeThing, thing: Thing) -> None:
        hint = "--force removes it all the same, with what was changed since"
        left = self._found.state_of_made(each)
        if left is None:
            raise Conflict("it is not known whether it was changed since", hint=hint)
        if differences := list(value_differences(left, state_of_thing(things, thing))):
            raise Conflict(f"changed since: {', '.join(differences)}", hint=hint)
        own = {(other.resource, other.id) for other in self.made}
        came_with_it = set(_named_in(thing))  # such as the first page of a space
        for id in things.child_resources:
            try:
                children = Things(self._dispatcher, id)
            except UsageError:  # this deployment has no such things
                continue
            known = children.definition.keys()  # what people write has a time, and files come with a text
            if (
                not known >= {"changed", "delete"}
                or "content" in known
                or children.parent_resources[0] != things.resource
            ):
                continue
            below = children.list_things({**each.parents, things.resource: each.id}, ids_only=True)
            try:
                found = [*map(children.id_of, below)]
            except UsageError:  # what can only be listed by one who says more
                continue
            others = sum((id, one) not in own and one not in came_with_it for one in found)
            if others:
                raise Conflict(f"{count_of(others, children.title)} would go with it", hint=hint)


def _named_in(thing: Thing) -> Iterator[str]:
    """The ids of other things that it says of itself."""
    for part in thing.values() if isinstance(thing, Mapping) else ():
        named = part.get("id") if isinstance(part, Mapping) else part
        if isinstance(named, str):
            yield named


class _Removing:
    def __init__(self, whole: Removal, made: MadeThing) -> None:
        self.notes: list[str] = []
        self._whole, self._made = whole, made

    def run(self) -> dict[str, Any]:
        return {"id": self._made.words, "done": self._whole.remove_thing(self._made)}


def value_differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Where two values differ, by the keys that lead there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from value_differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path or "its value"
