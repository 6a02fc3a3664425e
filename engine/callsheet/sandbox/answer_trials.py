"""What commands, columns and look-ups take out of answers, against what a simulated site answers to their calls.

A site may answer more than its sandbox: a member that is not there is only told where another one was plainly meant, or
where the call itself says that it does not want it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from ..catalog.compile import UncompiledCatalog
from ..client.request.build import Builder
from ..errors import CallsheetError, UsageError
from ..language.checks.views import format_fault
from ..language.load import own_definitions
from ..language.merge import on_deployment
from ..language.problem import Finding, Problem
from ..language.scopes import comparisons_in, expressions_in
from ..language.template import texts_in
from ..language.value_shapes import Missed, ValueShape, missed_members, result_shape, shape_of
from .action_trials import SiteHere, TriedAction, ask_site, lists_in
from .entities import render_expression
from .made_requests import MadeRequests, Try, names_of_files
from .simulated_site import SandboxSite, SeedError, as_list

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.problem import Findings
    from ..language.source_file import Definition, Definitions, Path

_ADDRESS = "http://127.0.0.1:1"
_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_ANSWERS = 12  # of one call
_MOST_TRIES = 60  # of one call
_MOST_VALUES, _MOST_OPTIONAL = 60, 5  # of one parameter
_PERHAPS = ""
_KINDS = ("command", "view", "lookup", "part", "resource")
_SAID = ("when", "args", "body", "over", "files", "confirm", "fail", "note", "hint", "limit", "edit", "find")


class AnswerShapes(NamedTuple):
    """What a call is answered: as it is asked, and where it does not say which members it wants."""

    asked: ValueShape
    whole: ValueShape

    def part(self, expression: str) -> AnswerShapes:
        """What an expression takes out of them."""
        return AnswerShapes(*(result_shape(expression, {}, each) for each in self))

    @property
    def item(self) -> AnswerShapes | None:
        """One of what they list, or they themselves; None where nothing is known of it."""
        found = AnswerShapes(*(each.item or ValueShape() if each.kind == "array" else each for each in self))
        return found if found.asked.kind == "object" else None


Scope = dict[str, AnswerShapes]


def trial_problems_of_answers(program: str, definitions: Definitions) -> Iterator[Problem]:
    """Of one's own commands, columns, look-ups and resources; the definitions are sound."""
    own = [*own_definitions(definitions, *_KINDS)]
    if not own or not any(True for _ in definitions.of_kind("entity")):
        return
    catalog = UncompiledCatalog(program, definitions)
    told: set[tuple[str, str, Finding]] = set()
    for deployment in catalog.deployments.ids() or [""]:
        try:
            site = SandboxSite(cast("Catalog", catalog), deployment)
        except SeedError:
            continue  # it is told of the entity
        site.address = _ADDRESS
        try:
            for definition, finding in _AnswerTrial(site, definitions).problems(own):
                if (key := (definition.kind, definition.id, finding)) not in told:
                    told.add(key)
                    yield Problem(definition, finding)
        finally:
            site.close()


class _AnswerTrial:
    def __init__(self, site: SandboxSite, definitions: Definitions) -> None:
        self.site, self.definitions = site, definitions
        self.builder = Builder(site.catalog, SiteHere(site.deployment), site.catalog.program)
        self.described = {
            site.catalog.canonical_id("operation", id): (name, id)
            for name, table in site.catalog.entities.all().items()
            for id in on_deployment(table, site.deployment).get("actions", {})
        }
        self._answers: dict[str, list[Any]] = {}
        self._shown: dict[str, list[dict[Path, str]]] = {}  # by view, what each use of it finds to be missing

    def problems(self, own: Iterable[Definition]) -> Iterator[tuple[Definition, Finding]]:
        views = {each.id: each for each in own if each.kind == "view"}
        for each in own:
            yield from ((each, finding) for finding in self._findings(each) if finding.text != _PERHAPS)
        used = {here.get("view") for kind in ("command", "resource") for here in self._tables(kind)}
        for command in self._tables("command") if views.keys() & used else ():
            if command.get("view") in views:
                self._note_columns(command)
        for id, uses in self._shown.items():
            for path in uses[0] if id in views else ():
                texts = [each.get(path) for each in uses]
                if None not in texts and any(texts):
                    yield views[id], Finding(path, max(cast("list[str]", texts)))

    def _tables(self, kind: str) -> Iterator[Any]:
        for each in self.definitions.of_kind(kind):
            yield on_deployment(each.table, self.site.deployment)

    def _findings(self, definition: Definition) -> Findings:
        table: Any = on_deployment(definition.table, self.site.deployment)
        if "unavailable" in table:
            return
        match definition.kind:
            case "command":
                yield from self._command_findings(table)
            case "part":
                scope: Scope = {}
                last = yield from self._step_findings(table["step"], scope, ("step",))
                yield from self._column_findings(table["line"], last and last.item, ("line",))
            case "lookup":
                yield from self._candidate_findings(table)
            case "resource":
                yield from self._thing_findings(table)

    # Commands.

    def _command_findings(self, table: Any) -> Findings:
        yield from self._step_findings(_steps_of(table), {}, ("step",) if "step" in table else ())
        shown = self._shown_item(table) if "view" in table else None
        view = on_deployment(self.definitions["view", table["view"]].table, self.site.deployment) if shown else {}
        columns = view.get("columns", ())
        missed = {finding.path: finding.text for finding in self._column_findings(columns, shown, ())}
        if columns and len(missed) == len(columns) and not any(missed.values()):  # else it is told of the column
            yield Finding(("view",), f"{table['view']!r} shows nothing of what the sandbox answers")

    def _step_findings(
        self, steps: Iterable[Any], scope: Scope, at: Path
    ) -> Generator[Finding, None, AnswerShapes | None]:
        """Of each step in order; `scope` gets what they name. It returns what the last one answers."""
        last: AnswerShapes | None = None
        for place, step in enumerate(steps):
            where: Any = (*at, place) if at else ()
            for key in _SAID:
                yield from self._text_findings(step.get(key), scope, (*where, key))
            if "each" in step:
                yield from self._each_findings(step["each"], scope, (*where, "each"))
            last = (yield from self._answer_findings(step, scope, where)) if "call" in step else None
            named = step.get("as")
            for name in named if isinstance(named, dict) else [named] if named else ():
                scope.pop(name, None)
            if isinstance(named, str) and last is not None:
                scope[named] = last
        return last

    def _answer_findings(self, step: Any, scope: Scope, where: Path) -> Generator[Finding, None, AnswerShapes | None]:
        if {"save", "hold", "batch"} & step.keys():
            return None
        answers = self.answers(step)
        named = step.get("as")
        bound = named.items() if isinstance(named, dict) else ()
        parts: list[tuple[Path, str]] = [(("as", name), text) for name, text in bound]
        parts += [(("value",), step["value"])] if "value" in step else []
        for key, text in parts if answers is not None else ():
            yield from self._findings_in(text, scope, answers, (*where, *key))
        if answers is None or isinstance(named, dict):
            return None
        return answers.part(step["value"]) if "value" in step else answers

    def _each_findings(self, each: Any, scope: Scope, at: Path) -> Findings:
        yield from self._text_findings(f"{{{each['items']}}}", scope, (*at, "items"))
        inner = {name: answers for name, answers in scope.items() if name != each.get("item", "item")}
        asked, whole = ({name: answers[place] for name, answers in scope.items()} for place in (0, 1))
        listed = AnswerShapes(*(result_shape(each["items"], names, None) for names in (asked, whole)))
        if listed.asked.kind == "array" and listed.item is not None:
            inner[each.get("item", "item")] = listed.item
            if "name" in each:
                yield from self._findings_in(each["name"], scope, listed.item, (*at, "name"))
        yield from self._step_findings(each["step"], inner, (*at, "step"))

    def _text_findings(self, value: Any, scope: Scope, at: Path) -> Findings:
        texts = [value] if at[-1:] == ("when",) and value else [*expressions_in(value)] if value is not None else []
        for text in texts if scope else ():
            yield from self._findings_in(text, scope, None, at)

    def _findings_in(self, text: str, scope: Scope, answers: AnswerShapes | None, at: Path) -> Findings:
        """What an expression looks for in vain in what steps have named, or in the answers that it is of.

        Without a text where a real site may have it.
        """
        asked, whole = ({name: found[place] for name, found in scope.items()} for place in (0, 1))
        there = {missed.path: missed.text for missed in missed_members(text, whole, answers and answers.whole)}
        for missed in missed_members(text, asked, answers and answers.asked):
            yield Finding(at, missed.text or there.get(missed.path, _not_asked_for(missed)))

    # What is shown.

    def _note_columns(self, command: Any) -> None:
        """What a view shows nothing of, where the last answer of a command is shown as it is."""
        shown = self._shown_item(command)
        if shown is not None:
            view = on_deployment(self.definitions["view", command["view"]].table, self.site.deployment)
            missed = {finding.path: finding.text for finding in self._view_findings(view, shown)}
            self._shown.setdefault(command["view"], []).append(missed)

    def _shown_item(self, command: Any) -> AnswerShapes | None:
        """One of the things that a command shows; None where that is not known."""
        steps, scope, result = _steps_of(command), Scope(), command.get("result", "")
        if not steps or ({"value", "batch", "as", "each"} & steps[-1].keys() and not result):
            return None
        answers: AnswerShapes | None
        if result:
            list(self._step_findings(steps, scope, ()))
            names = [{name: found[place] for name, found in scope.items()} for place in (0, 1)]
            answers = AnswerShapes(*(_shape_of_value(result, each) for each in names))
        else:
            answers = self.answers(steps[-1], view=command) if "call" in steps[-1] else None
        return answers.part(command.get("items", "@")).item if answers is not None else None

    def _view_findings(self, view: Any, found: AnswerShapes) -> Findings:
        yield from self._column_findings(view.get("columns", ()), found, ("columns",))
        for place, detail in enumerate(view.get("detail", ())):
            at: Any = ("detail", place)
            yield from self._findings_in(detail.get("items", "@"), {}, found, (*at, "items"))
            item = found.part(detail.get("items", "@")).item
            yield from self._column_findings(detail.get("line", ()), item, (*at, "line"))
            if item is not None and "text" in detail:
                yield from self._findings_in(detail["text"], {}, item, (*at, "text"))

    def _column_findings(self, columns: Any, item: AnswerShapes | None, at: Path) -> Findings:
        for place, column in enumerate(columns if item is not None else ()):
            where: Any = (*at, place, "value")
            yield from self._findings_in(column["value"], {}, item, where)
            kind = result_shape(column["value"], {}, item.asked).kind if item is not None else ""
            if (fault := format_fault(column.get("format"), kind)) is not None:
                yield Finding((*at, place, "format"), fault)

    # Candidates and things.

    def _candidate_findings(self, table: Any) -> Findings:
        candidate = self._item_of(table)
        for key in ("where", "value", "label") if candidate is not None else ():
            yield from self._findings_in(table.get(key, "@"), {}, candidate, (key,))
        asked = {*texts_in([*table.get("args", {}).values()])}  # other words of a site are as somebody wrote them there
        for names, value in comparisons_in(table.get("where", "@")) if candidate is not None else ():
            words = asked & result_shape(".".join(names), {}, candidate and candidate.asked).words
            same = [word for word in words if isinstance(value, str) and word.casefold() == value.casefold()]
            if same and value not in words:
                yield Finding(("where",), f"{value!r} is written {same[0]!r} in `args` and in what the sandbox answers")
        compared = [(place, text) for place, text in enumerate(table.get("match", ())) if candidate is not None]
        found = [(place, [*missed_members(text, {}, candidate and candidate.asked)]) for place, text in compared]
        for place, missed in found:
            at: Any = ("match", place)
            if all(missed for _, missed in found):  # else it is another name of those that have one
                yield Finding(at, missed[0].text or f"no candidate of the sandbox has {missed[0].path!r}")

    def _thing_findings(self, table: Any) -> Findings:
        read = self.answers(table["read"]) if "call" in table.get("read", {}) else None
        thing = None if read is None else read.part(table["read"].get("value", "@")).item
        places: list[tuple[Any, str]] = [((key,), table[key]) for key in ("id", "name", "version") if key in table]
        places += [(("changed", "at"), table["changed"]["at"])] if "at" in table.get("changed", {}) else []
        fields = table.get("fields", ())
        own = [(("fields", name), text) for name, text in fields.items()] if isinstance(fields, dict) else []
        for shape, said in ((thing, [*places, *own]), (self._item_of(table.get("list", {})), places)):
            for at, text in said if shape is not None else ():
                if isinstance(text, str):
                    yield from self._findings_in(text, {}, shape, at)

    def _item_of(self, table: Any) -> AnswerShapes | None:
        if "call" not in table:
            return None
        answers = self.answers(table, whole="items" in table)
        return None if answers is None else answers.part(table.get("items", "@")).item

    # Answers.

    def answers(self, step: Any, *, view: Any = None, whole: bool = False) -> AnswerShapes | None:
        """What the site answers to a call with the arguments that are written out; None where that cannot be tried.

        The items of what comes in pages, unless the answer is wanted as a `whole`.
        """
        args = {name: value for name, value in step.get("args", {}).items() if not [*expressions_in(value)]}
        if view is not None:
            args |= self._needed(step, view)
        asked = self._items(step["call"], args, whole=whole)
        if asked is None:
            return None
        there = _member_names(asked)  # a list of those says what is wanted; any other chooses among things
        lists = [name for name, value in args.items() if isinstance(value, list) and there & {*texts_in(value)}]
        plain = {name: value for name, value in args.items() if name not in lists}
        unasked = self._items(step["call"], plain, whole=whole) if lists else None
        words = {word for text in texts_in([*step.get("args", {}).values()]) for word in _WORD.findall(text)}
        for shape in (asked, unasked or asked):
            _add_unknown(shape.item if shape.item is not None else shape, words)
        return AnswerShapes(asked, unasked or asked)

    def _needed(self, step: Any, command: Any) -> dict[str, Any]:
        columns = on_deployment(self.definitions["view", command["view"]].table, self.site.deployment)["columns"]
        needed = list(dict.fromkeys(name for column in columns for name in column.get("needs", ())))
        return {name: needed for name, value in step.get("args", {}).items() if value == "{needed}"}

    def _items(self, operation: str, args: Mapping[str, Any], *, whole: bool) -> ValueShape | None:
        bodies = self._bodies_of(operation, args)
        here = on_deployment(self.site.catalog.operations.get(operation), self.site.deployment)
        paging: Mapping[str, Any] = here.get("paginate") or {}
        if not whole and "items" in paging:
            bodies = [as_list(render_expression(paging["items"])(body)) for body in bodies]
        shape = shape_of(bodies, answer_of=operation)
        return shape if shape.kind else None

    def _bodies_of(self, operation: str, args: Mapping[str, Any]) -> list[Any]:
        id = self.site.catalog.canonical_id("operation", operation)
        key = f"{id} {msgspec.json.encode(args).decode()}"
        if key not in self._answers:
            self._answers[key] = found = list[Any]()
            enough = 0
            for body in self._tried(id, args) if id in self.described else ():
                found.append(body)
                enough += _says_something(body)
                if enough == _MOST_ANSWERS:
                    break
        return self._answers[key]

    def _tried(self, operation: str, args: Mapping[str, Any]) -> Iterator[Any]:
        name, id = self.described[operation]
        with suppress(UsageError):
            entity = self.site.entities[name]
            action = TriedAction(entity, id, entity.actions[id], self.builder.operation_call(id))
            requests = MadeRequests(self.site.entities, self.site.catalog, action)
            for each in islice(_tries(action, requests, args), _MOST_TRIES):
                with suppress(CallsheetError), self.site.state.taken_back():
                    arguments = {**each.arguments, **args}
                    request = self.builder.build_request(id, arguments, each.body, names_of_files(action.call))
                    reply = ask_site(self.site, request)
                    if reply.status < 400 and reply.status != 204:
                        yield reply.json()


def _tries(action: TriedAction, requests: MadeRequests, args: Mapping[str, Any]) -> Iterator[Try]:
    """With other values of what has to be given, then with something of what may be: a site can want that, too."""
    first = requests.first_try()
    yield first
    for is_required in (True, False):
        for param in action.call.documented_params:
            name = param["name"]
            if bool(param.get("required")) == is_required and name not in args:
                values = requests.values_of(name)[: _MOST_VALUES if is_required else _MOST_OPTIONAL]
                yield from (first._replace(arguments={**first.arguments, name: value}) for value in values)


def _add_unknown(shape: ValueShape, words: Iterable[str]) -> None:
    """What a call names and no answer has at any place: parts that only a real site adds where they are asked for."""
    there = _member_names(shape)
    shape.members |= {word: ValueShape() for word in words if word not in there}


def _member_names(shape: ValueShape) -> set[str]:
    """At any place below."""
    found, waiting = set[str](), [shape]
    while waiting:
        each = waiting.pop()
        found |= each.members.keys()
        waiting += [*each.members.values(), *([each.item] if each.item is not None else [])]
    return found


def _shape_of_value(value: Any, names: Mapping[str, ValueShape]) -> ValueShape:
    """What is known of a value with placeholders, by what these names are."""
    if isinstance(value, dict):
        return ValueShape({"object"}, {key: _shape_of_value(part, names) for key, part in value.items()})
    if isinstance(value, str) and (expressions := [*expressions_in(value)]):
        is_whole = value == f"{{{expressions[0]}}}"
        return result_shape(expressions[0], names, None) if is_whole else ValueShape({"string"})
    return shape_of([value])


def _says_something(body: Any) -> bool:
    """Whether it is no list without items."""
    lists = [*lists_in(body)]
    return any(lists) if lists else bool(body)


def _steps_of(table: Any) -> list[Any]:
    steps: list[Any] = table.get("step", [table] if "call" in table else [])
    return steps


def _not_asked_for(missed: Missed) -> str:
    return f"{missed.path!r} is not asked for: the list in `args` says which members the answer has"
