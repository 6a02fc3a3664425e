"""What a simulated site answers to requests that are made here for it: actions that never do what they are for."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..catalog.compile import UncompiledCatalog
from ..client.http.reply import Reply
from ..client.pagination.fetch_pages import fetch_pages
from ..client.pagination.paging_plan import plan_of
from ..client.request.build import Builder
from ..errors import CallsheetError, UsageError
from ..language.load import own_definitions
from ..language.merge import on_deployment
from ..language.problem import Finding, Problem
from ..language.scopes import expressions_in, functions_in, names_in, paths_in, plain_paths, root_names
from .entities import render_expression
from .made_requests import Arguments, MadeRequests, Path, Reached, Try, content_of, names_of_files
from .simulated_site import SandboxRequest, SandboxSite, SeedError, as_list

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..client.request.http_request import Request
    from ..client.request.operation_call import Call
    from ..language.problem import Findings
    from ..language.shape.sandbox import ActionHere, EntityDefinition, Listing
    from ..language.source_file import Definitions
    from .entities import Entity
    from .state import Item

_ADDRESS = "http://127.0.0.1:1"
_MOST_STATES = 12  # that others of the actions lead to
_PASSED = 10_000  # more than an action has conditions
# Of conditions with other functions the values that are tried say nothing.
_MET_BY_VALUES = {"contains", "starts_with", "ends_with", "length", "not_null", "keys", "to_string", "to_number"}
_PUT_IN = ("@items", "@members")  # what an answer has in their place stands elsewhere
_PLAIN_PATH = re.compile(r"(?:item\.)?(\w+)\.\w+(?:\.\w+)*")

Rows = Mapping[tuple[str, str], bytes]  # the items of a site, by entity and id


def trial_problems_of_actions(program: str, definitions: Definitions) -> Iterator[Problem]:
    """Of the entities that are only somebody's own, and their commands; the definitions are sound.

    A shipped one with changes takes more to be led into every state that it has: its own tests do that.
    """
    own = {
        (each.kind, each.id): each
        for each in own_definitions(definitions, "entity", "command")
        if each.kind == "command" or not any(file.shipped for file in each.files)
    }
    catalog = UncompiledCatalog(program, definitions)
    told: set[tuple[str, str, Finding]] = set()
    for deployment in catalog.deployments.ids() or [""]:
        try:
            site = SandboxSite(cast("Catalog", catalog), deployment)
        except SeedError as error:
            yield Problem(definitions["entity", error.entity], Finding(error.path, error.text))
            return
        site.address = _ADDRESS
        try:
            for found in _SiteTrial(site, own).findings():
                if found not in told:
                    told.add(found)
                    yield Problem(own[found[:2]], found[2])
        finally:
            site.close()


class SiteHere:
    """The site, as building a request sees it."""

    def __init__(self, deployment: str) -> None:
        self.deployment = deployment

    def base_url(self, service: str) -> str:
        del service
        return _ADDRESS


def ask_site(site: SandboxSite, request: Request) -> Reply:
    """As a client would, without a server between."""
    content, media = content_of(request)
    headers = {name.lower(): value for name, value in request.headers} | {"content-type": media}
    answer = site.answer_request(SandboxRequest(request.method, request.url.removeprefix(_ADDRESS), headers, content))
    body = answer.body if isinstance(answer.body, bytes) else msgspec.json.encode(answer.body)
    told = {name.lower(): value for name, value in answer.headers} | {"content-type": "application/json"}
    return Reply(request, answer.status, told, b"" if answer.body is None else body, request.url)


@dataclass
class TriedAction:
    """One action, and what became of the requests that were made for it."""

    entity: Entity
    operation: str
    definition: ActionHere
    call: Call
    refusals: Counter[tuple[Reached, str]] = field(default_factory=Counter)
    crash: str = ""
    done: Request | None = None  # one that was not refused
    changed: Request | None = None  # one that changed something
    listed: Arguments | None = None  # what a list that is not empty was asked for with
    answer: Any = None  # one that is not empty
    made: list[tuple[str, Item]] = field(default_factory=list)  # new items, with their entities
    touched: set[str] = field(default_factory=set)  # the entities of what was changed
    blocked: Reached = ()  # what refused each request
    left_out: tuple[Reached, str] | None = None  # what refuses whoever gives this part

    @property
    def listing(self) -> Listing | None:
        return self.definition.get("list")

    @property
    def at(self) -> Path:
        return ("actions", self.operation)

    def note_left_out(self, reached: Reached, path: Path | None, body: Any) -> None:
        """That a condition holds only for those who leave out what the action is about to use."""
        if reached[0] == "check" and path is not None and path[0] == "body" and not _has_part(body, path[1:]):
            used = [each for change in self.definition.get("do", ()) for each in paths_in(change.get("to", {}))]
            if ".".join(path) in used:
                self.left_out = (reached, path[-1])

    def place_of(self, reached: Reached) -> int:
        """How many conditions come before this one."""
        found = [*self.definition.get("find", ())]
        match reached:
            case ("find", name):
                return 1 + found.index(str(name))
            case ("check", place):
                return 1 + len(found) + int(place)
        return 0 if reached == ("body",) else _PASSED - 1

    @property
    def is_hard_to_meet(self) -> bool:
        """Whether a function decides, or what stands in a list: then no value that is tried may fit."""
        match self.blocked:
            case ("find", name):
                search = self.definition["find"][str(name)]
                by = search.get("by", "")  # behind a bracket are members of a list: which, nothing tells
                return bool(functions_in(by)) or "[" in by[1:] or _is_hard(search.get("where", ""))
            case ("check", _):
                there = (self.definition, *self.definition.get("cases", ()))
                return any(_is_hard(check["unless"]) for each in there for check in each.get("check", ()))
        return self.blocked == ("body",)

    @property
    def answers_something(self) -> bool:
        return bool(self.definition.get("view") or self.definition.get("reply"))

    @property
    def is_proved(self) -> bool:
        """Whether it was seen to do what it is for."""
        changes = bool(self.changed) or "do" not in self.definition
        answers = self.listed is not None if self.listing else bool(self.answer) or not self.answers_something
        return bool(self.crash) or (self.done is not None and changes and answers)

    @property
    def optional_params(self) -> list[str]:
        """Those that choose among the items of its list, and nobody has to give."""
        read = {rest[0] for first, *rest in plain_paths(self.definition["list"].get("where", "")) if rest}
        params = self.call.documented_params
        return [each["name"] for each in params if each["name"] in read and not each.get("required")]


class _SiteTrial:
    """All actions of some entities of a site; what a request changes is taken back before the next."""

    def __init__(self, site: SandboxSite, own: Iterable[tuple[str, str]]) -> None:
        self.site = site
        self.builder = Builder(site.catalog, SiteHere(site.deployment), site.catalog.program)
        self.own = [site.entities[id] for kind, id in own if kind == "entity"]
        self.commands = [id for kind, id in own if kind == "command"]
        self.actions = [*self._actions_here()]
        self._seen: dict[tuple[str, str], bool] = {}  # entity and member: whether it ever had members itself
        self._remember_members(site.state.content())

    def findings(self) -> Iterator[tuple[str, str, Finding]]:
        for action in self.actions:
            self._try_action(action)
        for action in self.actions:
            for requests in self._states_for(action):
                with self.site.state.taken_back():
                    for request in requests:
                        self._ask_site(request)
                    self._try_action(action)
                if action.is_proved:
                    break
        for entity in self.own:
            yield from (("entity", entity.name, finding) for finding in self._entity_findings(entity))
        for action in self.actions:
            yield from (("entity", action.entity.name, finding) for finding in self._action_findings(action))
        for command in self.commands:
            yield from (("command", command, finding) for finding in self._command_findings(command))

    def _actions_here(self) -> Iterator[TriedAction]:
        """Those of operations that the deployment has; what somebody wrote in Python is not run to check it."""
        for entity in self.own:
            for operation, action in entity.actions.items():
                if any("run" in change for part in (action, *action.get("cases", ())) for change in part.get("do", ())):
                    continue
                with suppress(UsageError):
                    yield TriedAction(entity, operation, action, self.builder.operation_call(operation))

    def _states_for(self, action: TriedAction) -> Iterator[list[Request]]:
        """What was done to the things that an action looks at, before it does something."""
        if action.is_proved:
            return
        seen = {action.entity.name, *(search["entity"] for search in action.definition.get("find", {}).values())}
        others = [each for each in self.actions if each is not action and each.touched & seen]
        requests = [each.changed for each in others if each.changed is not None]
        pairs = itertools.permutations(requests, 2)
        yield from itertools.islice(itertools.chain(([each] for each in requests), map(list, pairs)), _MOST_STATES)

    # Requests, and what becomes of them.

    def _try_action(self, action: TriedAction) -> None:
        """Part by part of a request, until each condition holds; then anything by chance."""
        requests = MadeRequests(self.site.entities, self.site.catalog, action)
        best = requests.first_try()
        passed = self._try_request(action, best)
        while passed < _PASSED and action.crash == "":
            reached, before = self.site.actions.reached if passed >= 0 else ("do",), passed
            for each in requests.variants(best, reached):
                passed = self._try_request(action, each)
                if passed > before:
                    action.note_left_out(reached, requests.only_path(reached), each.body)
                    best = each
                    break
            else:
                action.blocked = reached
                break
        for each in requests.draws(best):
            if action.is_proved:
                return
            self._try_request(action, each)

    def _try_request(self, action: TriedAction, tried: Try) -> int:
        """How many conditions held; none where no command could send it."""
        try:
            request = self.builder.build_request(
                action.operation, tried.arguments, tried.body, names_of_files(action.call)
            )
        except CallsheetError:
            return -1
        state = self.site.state
        with state.taken_back():
            changes_something = {"do", "repeat", "cases"} & action.definition.keys()
            before, changes = state.content() if changes_something else {}, state.changes
            reply = self._ask_site(request)
            after = state.content() if state.changes != changes else before
        self._judge_reply(action, tried.arguments, request, reply)
        if reply.status >= 400:
            return action.place_of(self.site.actions.reached)
        if before != after:
            action.changed = action.changed or request
            action.touched |= {key[0] for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
            action.made = [(key[0], msgspec.json.decode(after[key])) for key in after.keys() - before.keys()]
            self._remember_members(after)
        return _PASSED

    def _judge_reply(self, action: TriedAction, arguments: Arguments, request: Request, reply: Reply) -> None:
        if reply.status >= 500:
            action.crash = f"{request.method} {request.path}: {reply.text}"
        if reply.status >= 400:
            action.refusals[self.site.actions.reached, f"{reply.status} {reply.text}"] += 1
            return
        action.done = request
        try:
            body = reply.json() if action.call.operation.get("reply", "json") == "json" else None
        except CallsheetError as error:
            action.crash = f"{request.method} {request.path} as the operation says: {error}"
            return
        is_listed = any(map(bool, lists_in(body)))
        if action.listed is None and is_listed:
            action.listed = arguments
        if action.answer is None and (is_listed or not action.listing):
            action.answer = body or None

    def _ask_site(self, request: Request) -> Reply:
        return ask_site(self.site, request)

    def _remember_members(self, rows: Rows) -> None:
        names = {entity.name for entity in self.own}
        for (entity, _), data in rows.items():
            for name, value in msgspec.json.decode(data).items() if entity in names else ():
                self._seen[entity, name] = self._seen.get((entity, name), False) or isinstance(value, dict | list)

    # What they say of the definitions.

    def _entity_findings(self, entity: Entity) -> Findings:
        state, definition = self.site.entities.state, self.site.catalog.entities.get(entity.name)
        items = list(state.items(entity.name))
        if len(items) < len(entity.seed):
            yield Finding(
                ("id",), f"is the same for several items: of {len(entity.seed)} in the seed {len(items)} are left"
            )
            return
        for place, item in enumerate(items):
            for member, other in entity.refs.items():
                for id in as_list(item.get(member)):
                    if id is not None and state.get(other, str(id)) is None:
                        text = f"no {other} of the seed has the id {id!r}"
                        yield Finding(("seed", place, member), text, (("entity", other),))
        for name, child in entity.children.items():
            kept = list(state.items(child["entity"]))
            if kept and all(item.get("of") is None for item in kept):
                text = f"no {child['entity']} says in its member `of` what it belongs to: there are none"
                yield Finding(("children", name), text, (("entity", child["entity"]),))
        yield from self._view_findings(entity, on_deployment(definition, self.site.deployment))

    def _view_findings(self, entity: Entity, here: EntityDefinition) -> Findings:
        for name, view in here.get("views", {}).items():
            for text in expressions_in(view):
                found = _PLAIN_PATH.fullmatch(text.strip())
                if found and found[1] not in entity.refs and self._seen.get((entity.name, found[1])) is False:
                    fault = f"{found[1]!r} has no members in any item: `refs` says of what it is the id"
                    yield Finding(("views", name), fault)

    def _action_findings(self, action: TriedAction) -> Findings:
        tried = sum(action.refusals.values())
        if action.crash:
            yield Finding(action.at, f"cannot answer {action.crash}")
        elif action.left_out is not None:
            place, name = action.left_out
            yield Finding((*action.at, *place), f"refuses whoever gives {name!r}: `unless` says what has to be so")
        elif action.done is None and tried and not action.is_hard_to_meet:
            last = Counter({text: n for (reached, text), n in action.refusals.items() if reached == action.blocked})
            said = (last or Counter(text for _, text in action.refusals)).most_common(1)[0][0]
            yield Finding(
                (*action.at, *action.blocked), f"refused each of {tried} requests made for it, at last with {said}"
            )
        elif action.done is not None and action.changed is None and _changes_plainly(action.definition):
            yield Finding((*action.at, "do"), f"changes nothing, as in {action.done.method} {action.done.path}")
        elif action.done is not None and not action.answer and not action.listing and action.answers_something:
            key = "view" if "view" in action.definition else "reply"
            yield Finding((*action.at, key), "is empty in each answer that was tried")
        elif listing := action.listing:
            yield from self._list_findings(action, listing, (*action.at, "list"))
        yield from self._owner_findings(action)

    def _owner_findings(self, action: TriedAction) -> Findings:
        """New items that no list shows."""
        lists = [each.listing for each in self.actions if each.listing]
        whole = {each["entity"] for each in lists if "of" not in each}
        parts = {each["entity"] for each in lists if "of" in each}
        parts |= {child["entity"] for entity in self.own for child in entity.children.values()}
        for name in dict.fromkeys(name for name, item in action.made if item.get("of") is None):
            if name in parts - whole:
                yield Finding((*action.at, "do"), f"a new {name} does not say in its member `of` what it belongs to")

    def _list_findings(self, action: TriedAction, listing: Listing, at: Path) -> Findings:
        items = list(self.site.entities.state.items(listing["entity"]))
        if action.done is None or not items:
            return
        if action.listed is None and ("only" in listing or "items" not in names_in(listing.get("envelope", "{items}"))):
            return
        if _is_hard(listing.get("where", "")):
            return
        if action.listed is None:
            yield Finding(at, f"is empty whatever is asked for, and the site has {len(items)} of {listing['entity']}")
            return
        for name in action.optional_params:
            rest = {key: value for key, value in action.listed.items() if key != name}
            if self._list_of(action, rest):
                action.listed = rest
        needed = [name for name in action.optional_params if name in action.listed]
        if needed:
            text = f"finds nothing where {needed[0]!r} is not given, and nobody has to: !(params.{needed[0]}) || ..."
            yield Finding((*at, "where"), text)
            return
        yield from self._choice_findings(action, action.listed, at)
        yield from self._page_findings(action, action.listed, at)

    def _choice_findings(self, action: TriedAction, arguments: Arguments, at: Path) -> Findings:
        """Parameters that choose among the items, and choose none whatever they are."""
        requests = MadeRequests(self.site.entities, self.site.catalog, action)
        for name in action.optional_params:
            values = [each for each in requests.values_of(name) if each != ""]  # as if it were not given
            tried = [self._list_of(action, {**arguments, name: value}) for value in values]
            if any(each is not None for each in tried) and not any(tried):
                yield Finding((*at, "where"), f"finds nothing whatever {name!r} is")

    def _list_of(self, action: TriedAction, arguments: Arguments) -> bool | None:
        """Whether something is listed; nothing where that cannot be asked for."""
        try:
            reply = self._ask_site(self.builder.build_request(action.operation, arguments))
            return any(map(bool, lists_in(reply.json()))) if reply.status < 400 else None
        except CallsheetError:
            return None

    def _page_findings(self, action: TriedAction, arguments: Arguments, at: Path) -> Findings:
        """Whether all items come, where each is a page."""
        plan = plan_of(self.site.catalog, action.call)
        if plan is None or action.call.method != "GET":
            return
        request = self.builder.build_request(action.operation, arguments)
        try:
            whole = [len(page.items) for page in fetch_pages(self._ask_site, plan, request, workers=1)]
            if plan.size is None or len(whole) != 1:
                return
            parts = [len(page.items) for page in fetch_pages(self._ask_site, plan, request, size=1, workers=1)]
        except CallsheetError as error:
            yield Finding(at, f"cannot be read page by page: {error}")
            return
        if sum(parts) != sum(whole):
            yield Finding(
                at, f"ends after {sum(parts)} of {sum(whole)} items in pages of one: what says that more follow?"
            )

    def _command_findings(self, id: str) -> Findings:
        """What a command looks for in an answer of the sandbox, and never finds."""
        catalog = self.site.catalog
        command = on_deployment(catalog.commands.get(id), self.site.deployment)
        operation = catalog.canonical_id("operation", command.get("call", ""))
        action = next((each for each in self.actions if each.call.id == operation and each.answer), None)
        if action is None or "result" in command or "paginate" in action.call.operation:
            return
        rows = action.answer
        for key in ("value", "items"):
            if key in command:
                shown = action.listing.get("envelope") if action.listing else action.definition.get("reply")
                rows = render_expression(command[key])(rows)
                if (
                    rows is None
                    and isinstance(shown, dict)
                    and not shown.keys() & {*root_names(command[key]), *_PUT_IN}
                ):
                    yield Finding((key,), f"finds nothing in what the sandbox answers to {operation}")
                if rows is None:
                    return
        values = [column.get("value", "") for column in catalog.views.get(command["view"]).get("columns", ())]
        if rows and values and all(values) and not _has_any(rows, values):
            yield Finding(("view",), f"{command['view']!r} shows nothing of what the sandbox answers to {operation}")


def _changes_plainly(action: ActionHere) -> bool:
    """Whether a change makes something, or sets what has nothing to do with how it was before."""
    return any(
        "create" in each or ("patch" in each and each["patch"] not in names_in(each.get("to", {})))
        for each in action.get("do", ())
        if "each" not in each and not _is_hard(each.get("when", ""))
    )


def _is_hard(condition: str) -> bool:
    """Whether values that are tried may miss what it wants: a form, a time, what is made of several."""
    return not functions_in(condition) <= _MET_BY_VALUES


def _has_any(rows: Any, values: list[str]) -> bool:
    return any(render_expression(value)(row) is not None for row in as_list(rows) for value in values)


def _has_part(body: Any, path: Path) -> bool:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body is not None


def lists_in(body: Any) -> Iterator[list[Any]]:
    if isinstance(body, list):
        yield body
    for value in body.values() if isinstance(body, dict) else ():
        yield from lists_in(value)
