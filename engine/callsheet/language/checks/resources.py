"""Whether what is said of a thing holds together, and whether what agents are offered is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ...paths import stays_below
from ...registry import EDITED, FOR_AGENTS, PAGING, READ_MORE
from ..conditions import fixed_truth
from ..load import shipped_table
from ..merge import ON, deployment_variants, said_by_deployment
from ..parameters import is_required, to_identifier, tool_name
from ..problem import Finding, Findings
from ..safety import CHANGES, class_of_operation
from ..scopes import looks_at_all, names_in, root_names
from ..shape import KINDS
from ..source_file import PARTS, RESOURCE, Definition, Definitions, Path
from ..template import texts_in
from ..value_kinds import kind_of_result
from .body_schemas import resolved_schema, written_values
from .commands import value_misfit
from .references import allowed_keys, unusable_names, value_faults
from .requests import CallChecker, answers_list, class_of_command

if TYPE_CHECKING:
    from ..shape.agents import AgentsTable, GuardDefinition, ServerList, Suggestion
    from ..shape.commands import Param
    from ..shape.resources import ResourceHere


# Whether what agents are offered is there: commands that can be tools, their parameters, the names of an address.


_NAME = re.compile(r"\{([a-z_]+)\}")


# Name of a tool in lower case → the commands that would be called so.
ToolNames = dict[str, list[str]]


def tools_by_name(definitions: Definitions) -> ToolNames:
    found: ToolNames = {READ_MORE: [READ_MORE.replace("_", " ")]}
    for each in filter(_can_be_offered, definitions.of_kind("command")):
        found.setdefault(tool_name_of(each).casefold(), []).append(each.id)
    return found


def tool_name_of(command: Definition) -> str:
    """What agents know a command by."""
    return tool_name(command.table.get("agents", {}).get("name", command.id))


def _can_be_offered(command: Definition) -> bool:
    return not command.table.get("hidden") and command.table.get("builtin", "") in ("", *FOR_AGENTS)


def name_findings(_: Definitions, command: Definition, *, tools: ToolNames) -> Findings:
    """Agents know tools by names without spaces and hyphens, in which two may become the same."""
    name = tool_name_of(command)
    first, *others = tools.get(name.casefold(), [command.id])
    if command.id in others:
        text = f"agents know {first!r} as {name!r} already: give this another name in its table `agents`"
        yield Finding((), text, (("command", first),))


def tool_findings(_: Definitions, command: Definition) -> Findings:
    """A command that says how it is offered can be offered; the parameters that it names are its own."""
    offered = command.table.get("agents")
    if offered is None:
        return
    yield from _for_agents(command, ("agents",))
    known, values = _param_names(command), offered.get("values", {})
    for place, name in enumerate(offered.get("params", ())):
        if name not in known:
            text = f"{command.id} has no parameter {name!r}{did_you_mean(name, known)}"
            yield Finding(("agents", "params", place), text)
    for name in _needed_names(command) if "params" in offered else ():
        if name not in offered["params"] and name not in values:
            text = f"{command.id} cannot do without {name!r}: name it here, or in `values`"
            yield Finding(("agents", "params"), text)
    yield from _value_findings(command, values, set(), ("agents",))


def toolset_findings(definitions: Definitions, toolset: Definition) -> Findings:
    if ("group", toolset.id) in definitions and not toolset.files[-1].shipped:
        yield Finding((), "the group of this name is a set already: give it another name", (("group", toolset.id),))
    for place, id in enumerate(toolset.table["commands"]):
        command = definitions.get(("command", id))
        yield from _for_agents(command, ("commands", place)) if command else ()


def agents_findings(
    definitions: Definitions, resource: Definition, aliases: Mapping[str, str], addresses: Mapping[str, Definition]
) -> Findings:
    """Reading a thing by its address only reads, uses no name that the address does not have, and is the only such."""
    table: AgentsTable = resource.table["agents"]
    at, names = "agents", set(_NAME.findall(table["uri"]))
    if (other := addresses[_address_form(table["uri"])]) is not resource:
        text = f"resource {other.id!r} is at this address already"
        yield Finding((at, "uri"), text, ((RESOURCE, other.id),))
    yield from _reading_findings(definitions, table, names, (at,), aliases)
    used = {name for value in table.get("values", {}).values() for name in names_in(value)}
    yield from (Finding((at, "uri"), f"nothing uses {{{name}}}") for name in sorted(names - used))
    command = definitions.get(("command", table["command"]))
    needed = [name for name in _needed_names(command) if name not in table.get("values", {})] if command else []
    if needed:
        yield Finding((at, "values"), f"{table['command']} cannot do without {', '.join(map(repr, needed))}")
    for name, suggestion in table.get("complete", {}).items():
        if name not in names:
            yield Finding((at, "complete", name), f"the address has no name {name!r}{did_you_mean(name, names)}")
        yield from _reading_findings(definitions, suggestion, {"word"}, (at, "complete", name), aliases)


def first_at_addresses(definitions: Definitions) -> dict[str, Definition]:
    """The first resource that agents read at each address."""
    found: dict[str, Definition] = {}
    for resource in definitions.of_kind(RESOURCE):
        if "agents" in resource.table:
            found.setdefault(_address_form(resource.table["agents"]["uri"]), resource)
    return found


def _address_form(uri: str) -> str:
    return _NAME.sub("{}", uri)


def _reading_findings(
    definitions: Definitions,
    table: AgentsTable | Suggestion,
    names: set[str],
    at: tuple[str, ...],
    aliases: Mapping[str, str],
) -> Iterator[Finding]:
    command = definitions.get(("command", table["command"]))
    if command is None:
        return
    yield from _for_agents(command, (*at, "command"))
    if class_of_command(definitions, command, aliases) in CHANGES:
        yield Finding((*at, "command"), f"{command.id} changes something; reading an address must not")
    yield from _value_findings(command, table.get("values", {}), names, at)


def _value_findings(
    command: Definition, values: Mapping[str, Any], names: set[str], at: tuple[str, ...]
) -> Iterator[Finding]:
    known = _param_names(command)
    params = {param["name"]: param for param in command.table.get("params", ())}
    for name, value in values.items():
        if name not in known:
            yield Finding((*at, "values", name), f"{command.id} has no parameter {name!r}{did_you_mean(name, known)}")
        elif (fault := _fault_of_value(params.get(name), value)) is not None:
            yield Finding((*at, "values", name), fault)
        for used in dict.fromkeys(names_in(value)):
            if used not in names:
                yield Finding((*at, "values", name), f"{used!r} is not known here{did_you_mean(used, names)}")


def _fault_of_value(param: Param | None, value: Any) -> str | None:
    """Why a parameter cannot have a value that is written out."""
    if param is None or any(isinstance(text, str) and "{" in text for text in texts_in(value)):
        return None
    if param.get("kind") == "flag":
        return None if isinstance(value, bool) else f"expected true or false, not {value!r}"
    values = value if isinstance(value, list) and param.get("multiple") else [value]
    return next((fault for each in values if (fault := value_misfit(param, each))), None)


def page_address_findings(_: Definitions, address: Definition) -> Findings:
    """The page of a thing is another for each."""
    table = address.table
    for at, here in said_by_deployment(table):
        if "url" in here and not {*names_in(here["url"])}:
            yield Finding((*at, "url"), "is the same page for every thing: use {word} in it")
        if "://" in here.get("url", ""):
            yield Finding((*at, "url"), "is added to the address of the site: write the path and the query alone")


def _needed_names(command: Definition) -> list[str]:
    """Of the parameters without which a command does nothing."""
    return [each["name"] for each in command.table.get("params", ()) if is_required(each)]


def container_findings(definitions: Definitions, container: Definition) -> Findings:
    """A key or a path that no operation has: a rule about such a container would match nothing, and say so nowhere."""
    if all(file.shipped for file in container.files):
        return
    table = container.table
    if not table.keys() & {"keys", "bodies", "queries"}:
        yield Finding((), "no request would be about one: needs 'keys', 'bodies' or 'queries'")
    for key in ("within", "searches"):
        for place, path in enumerate(table.get(key, ())):
            if "/" not in path:
                yield Finding((key, place), f"expected a path such as /v1/things/*, not {path!r}")
            if "{" in path:
                yield Finding((key, place), f"takes {path!r} as it stands: write * in the place of what is in braces")
    yield from _segment_findings(definitions, container)
    for id in table.get("bodies", ()):
        operation = definitions.get(("operation", id))
        here = (operation.table, *deployment_variants(operation.table).values()) if operation is not None else ()
        if operation is not None and not any("body" in each for each in here):
            yield Finding(("bodies", id), f"{id} takes no body", (("operation", id),))
    names = _names_in_requests(definitions)
    for key in ("keys", "queries"):
        for place, name in enumerate(table.get(key, ())):
            if name not in names:
                yield Finding(
                    (key, place), f"no operation has a parameter or member {name!r}{did_you_mean(name, names)}"
                )


def _segment_findings(definitions: Definitions, container: Definition) -> Findings:
    """Words of paths that no operation has in its own."""
    paths = [
        str(here.get("http", here.get("base", "")))
        for kind in ("operation", "product")
        for each in definitions.of_kind(kind)
        for here in (each.table, *deployment_variants(each.table).values())
    ]
    known = {segment for path in paths for segment in path.partition(" ")[2].split("/") + path.split("/")}
    for key in ("within", "searches"):
        for place, path in enumerate(container.table.get(key, ())):
            for segment in (each for each in path.split("/") if re.fullmatch(r"[\w.-]+", each) and each not in known):
                if near := did_you_mean(segment, known):  # else it may be a path that nobody documents
                    yield Finding((key, place), f"no operation has {segment!r} in its path{near}")


def _names_in_requests(definitions: Definitions) -> set[str]:
    found: set[str] = set()
    for operation in definitions.of_kind("operation"):
        for here in (operation.table, *deployment_variants(operation.table).values()):
            found |= {param["name"] for param in here.get("params", ())} | set(_NAME.findall(str(here.get("http", ""))))
            found |= {piece.partition("}")[0] for piece in str(here.get("http", "")).split("{")[1:]}
            found |= set(here.get("body", {}).get("parts", ()))
    for schema in definitions.of_kind("schema"):
        found |= set(_members_inside(schema.table))
    for command in definitions.of_kind("command"):  # what a document leaves free is named by those who fill it
        found |= {param["name"] for param in command.table.get("params", ()) if "name" in param}
    return found


def _members_inside(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("properties"), Mapping):
            yield from schema["properties"]
        for each in schema.values():
            yield from _members_inside(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _members_inside(each)


def _for_agents(command: Definition, at: tuple[Any, ...]) -> Iterator[Finding]:
    builtin = command.table.get("builtin")
    if builtin is not None and builtin not in FOR_AGENTS:
        yield Finding(at, f"{command.id} is not for agents: it reveals or changes something of this machine")


def _param_names(command: Definition) -> set[str]:
    return {str(param["name"]) for param in command.table.get("params", ())} | set(PAGING)


# Which files of other programs a definition may name: below a project's folder, and of the home only a shipped one.


def host_findings(_definitions: Definitions, host: Definition) -> Findings:
    """A shared definition names no file of the home, and says nothing of what is written into one."""
    yield from _guard_findings(host.table.get("guard", {}))
    yield from _server_findings(host.table.get("servers", {}))
    for at, path in _places_below(host):
        if not stays_below(path):
            yield Finding(at, f"{path!r} has to stay below the directory: names with / between them, none of them ..")
    own = [laid for file, laid in zip(host.files, host.laid, strict=True) if not file.shipped]
    if own and len(own) < len(host.files):
        if host.table.get("servers") != shipped_table(host).get("servers"):  # what was shown may be pasted back
            text = "of a host that comes with the program it stays as it is; define one under another name"
            yield Finding(("servers",), text)
    elif own and "user" in host.table.get("servers", {}):
        text = "only definitions that come with the program name files of the home directory; `project` names others"
        yield Finding(("servers", "user"), text)


def _guard_findings(guard: GuardDefinition) -> Findings:
    """What the host sends is recognized, its line is found in that, and it is told to ask at all."""
    files = guard.get("files", ())
    written = [template for file in files for key in ("set", "entry", "text") if (template := file.get(key))]
    named = {name for template in written for name in names_in(template)} & {"hook", "quoted_hook"}
    if "payload" not in guard or "command" not in guard:
        if named:
            yield Finding(("guard",), "needs 'payload' and 'command': a file enters the hook, which has to read a line")
        return
    payload, command = guard["payload"], guard["command"]
    known = list(dict.fromkeys(root_names(payload)))
    if not named:
        yield Finding(("guard", "files"), "none of them has {hook} or {quoted_hook} in it: the host would ask nothing")
    if fixed_truth(payload) or not known:
        text = "is true of whatever is sent: name what only this host sends"
        yield Finding(("guard", "payload"), text)
    elif not looks_at_all(payload) and not looks_at_all(command) and not {*known} & {*root_names(command)}:
        text = f"reads nothing that `payload` asks for ({', '.join(known)}): every line would run unasked"
        yield Finding(("guard", "command"), text)
    if (kind := kind_of_result(command)) not in ("", "string", "array"):
        yield Finding(("guard", "command"), f"is the line that the agent runs, not a {kind}")
    if guard.get("asks") and "answer" in guard and "decision" not in names_in(guard.get("answer")):
        yield Finding(("guard", "answer"), "has no {decision} in it: a host that can ask has to know whether it should")
    if "decisions" in guard and not any("decision" in names_in(file.get("each")) for file in files):
        yield Finding(("guard", "decisions"), "no file has {decision} in its `each`: nothing uses these words")


def _server_findings(servers: ServerList) -> Findings:
    named = set(names_in(servers.get("entry")))
    for name in ("command", "args") if servers else ():
        if name not in named:
            yield Finding(
                ("servers", "entry"), f"has no {{{name}}} in it: the server would not be started as it has to"
            )


def _places_below(host: Definition) -> Iterator[tuple[Path, str]]:
    for place, file in enumerate(host.table.get("guard", {}).get("files", ())):
        yield ("guard", "files", place, "path"), file["path"]
    for place, path in enumerate(host.table.get("servers", {}).get("project", ())):
        yield ("servers", "project", place), path


# Whether what is said of a thing holds together: its calls, its parents, what can be sent back of it.


_WITH_A_YEAR = re.compile(r"%-?[YyGDFxcs]")
_OF_A_LIST = frozenset({"since", "query", "site"})
_OF_A_THING = frozenset({"id", "found", "site"})
_SEES: dict[str, frozenset[str]] = {
    "list": _OF_A_LIST,
    "read": frozenset({"id", "site", "version"}),
    "create": frozenset({"fields", "files", "site"}),
    "update": _OF_A_THING | {"fields", "whole"},
    "delete": _OF_A_THING,
    "content": _OF_A_THING,
    "replace": _OF_A_THING | {"fields", "files"},
    "order": _OF_A_THING | {"after", "before"},
}
_READING = ("list", "read", "content")
_CHANGING = ("create", "update", "delete", "replace", "order")
_OF_ONE = ("read", "update", "delete", "content", "replace", "order")
_TEMPLATES = ("args", "body", "ids", "files")
_FIELD = re.compile(r"\bfields\.(?:\"([^\"]+)\"|(\w+))|\b(?:fields|whole)\b")


def resource_findings(
    definitions: Definitions, resource: Definition, aliases: Mapping[str, str], addresses: Mapping[str, Definition]
) -> Findings:
    table = resource.table
    there = deployment_variants(table)
    if "agents" in table:
        yield from agents_findings(definitions, resource, aliases, addresses)
    for deployment, here in there.items():
        if "unavailable" not in here:
            checker = CallChecker(definitions, aliases, deployment.__eq__)
            for finding in _Resource(definitions, checker, resource.id, here).findings():
                yield finding._replace(path=(ON, deployment, *finding.path))
    checker = CallChecker(definitions, aliases, lambda word: word not in there)
    yield from _Resource(definitions, checker, resource.id, table).findings()


class _Resource:
    def __init__(self, definitions: Definitions, checker: CallChecker, id: str, table: ResourceHere) -> None:
        self.definitions, self.checker, self.id, self.table = definitions, checker, id, table
        checker.always = frozenset({"id"})
        self.parents = {to_identifier(name) for name in table.get("parent", {})}
        self.calls: dict[str, Any] = {key: table[key] for key in _SEES if key in table}  # type: ignore[literal-required]

    def findings(self) -> Findings:
        first = next(iter(self.table.get("parent", {})), None)
        if first == self.id:
            yield Finding(("parent", first), "the first parent is what things are listed under: not one of them")
        yield from (Finding(("parent",), text) for text in unusable_names(self.parents, {*_OF_A_THING, *_OF_A_LIST}))
        for key, call in self.calls.items():
            for part in _TEMPLATES:
                faults = value_faults(call.get(part), _SEES[key] | self.parents, (key, part))
                yield from (Finding(*fault) for fault in faults)
            yield from self._call_findings(key, call)
        yield from self._order_findings()
        for name, value in self.calls.get("list", {}).get("args", {}).items():
            if value == "since":
                yield Finding(("list", "args", name), "is the word 'since': the time is written {since}")
        yield from self._ring_findings()
        if "list" in self.table and not {"call", "inside"} & self.table["list"].keys():
            yield Finding(("list",), "needs one of: call, inside")
        for place, id in enumerate(self.table.get("made_by", ())):
            maker = self.checker.table_of("operation", id)
            if maker is not None and class_of_operation(maker) == "read":
                yield Finding(("made_by", place), f"{id} only reads: nothing is made by it", (("operation", id),))
        yield from self._field_findings()
        yield from self._other_collection_findings()
        yield from self._identity_findings()
        yield from self._change_findings()

    def _order_findings(self) -> Findings:
        """The one thing of two that it is moved behind, or before."""
        order = self.calls.get("order")
        if order and not {"after", "before"} & {*names_in([order.get(part) for part in _TEMPLATES])}:
            yield Finding(
                ("order",), "says the same of each place: {after} or {before} is the thing that it is moved to"
            )
        for where, text in self._constants(order):
            other = "before" if text == "{after}" else "after"
            if text in ("{after}", "{before}") and other in str(where[-1]).lower():
                yield Finding(("order", *where), f"is the thing that it is moved {text[1:-1]}: write {{{other}}}")

    @staticmethod
    def _constants(call: Any) -> Iterator[tuple[Path, str]]:
        waiting: list[tuple[Path, Any]] = [((part,), call[part]) for part in ("args", "body") if call and part in call]
        while waiting:
            path, value = waiting.pop()
            if isinstance(value, dict):
                waiting += [((*path, key), part) for key, part in value.items()]
            elif isinstance(value, str):
                yield path, value

    def _ring_findings(self) -> Findings:
        """Things that are listed under others, which are listed under them: none can be listed first."""
        seen, id = [self.id], self.id
        while (found := self.definitions.get((RESOURCE, id))) is not None:
            parent = next(iter(found.table.get("parent", {})), None)
            if parent is None or to_identifier(parent) not in names_in(found.table.get("list", {}).get("args")):
                return
            id = parent
            if id in seen:
                break
            seen.append(id)
        if id == self.id and len(seen) > 1:
            around = " under ".join([*seen[1:], id])
            yield Finding(("parent",), f"{self.id} is listed under {around}: none can be listed first")

    def _other_collection_findings(self) -> Findings:
        """A change of one thing that is made where things of another resource are, and not where this one is read."""
        own = {self._collection(self.calls[key]) for key in ("list", "read") if key in self.calls}
        there = {key: self._collection(self.calls[key]) for key in ("update", "delete") if key in self.calls}
        for other in self.definitions.of_kind(RESOURCE) if own and None not in own and {*there.values()} - own else ():
            elsewhere = self._collection(other.table.get("list", {}))
            for key in (key for key, at in there.items() if at is not None and at == elsewhere and at not in own):
                text = f"{self.calls[key]['call']} is about {other.id}, which are at other addresses than these"
                yield Finding((key, "call"), text, ((RESOURCE, other.id),))

    def _collection(self, call: Any) -> str | None:
        """The path of all things of which one is read or changed, its parameters without their names."""
        operation = self.checker.table_of("operation", call.get("call", ""))
        if operation is None:
            return None
        path = re.sub(r"\{[^}]*\}", "{}", operation["http"].partition(" ")[2])
        return path.removesuffix("/{}")

    def _change_findings(self) -> Findings:
        """The time of a change is written in a form that has a day."""
        changed = self.table.get("changed", {})
        if "format" in changed and not _WITH_A_YEAR.search(changed["format"]):
            text = f"{changed['format']!r} says no day of a year: it is written with the signs of strftime, as %Y-%m-%d"
            yield Finding(("changed", "format"), text)

    def _identity_findings(self) -> Findings:
        """What was applied can be kept, and found again for all things at once."""
        base = self.table.get("base")
        if base is None:
            return
        if "list" in base:
            faults = value_faults(base["list"].get("args"), {*self.parents, "site", "within"}, ("base", "list", "args"))
            yield from (Finding(*fault) for fault in faults)
            yield from (Finding(*found) for found in self.checker.argument_problems(base["list"], ("base", "list")))
        for key in ("resource", "name", "list", "of", "found"):
            if key not in base:
                yield Finding(("base",), f"{key} is missing")
        for key, names in (("tags", self.table.get("tags", {})), ("parts", self.table.get("parts", {}))):
            said: Mapping[str, str] = base.get(key, {})  # type: ignore[assignment]
            for name in said:
                if name not in names:
                    yield Finding(("base", key, name), f"no {name!r} in `{key}`{did_you_mean(name, names)}")
        known = self.definitions.get((RESOURCE, base.get("resource", "")))
        fields = known.table.get("fields", ()) if known is not None else ("key", "value")
        if not {"key", "value"} <= set(fields):
            yield Finding(("base", "resource"), "its fields are not: key, value")

    def _call_findings(self, key: str, call: Any) -> Findings:
        if "call" not in call:
            if "inside" in call and not self.table.get("parent"):
                yield Finding((key, "inside"), "needs a `parent` that it is in")
            return
        yield from (Finding(*found) for found in self.checker.argument_problems(call, (key,)))
        operation = self.checker.table_of("operation", call["call"])
        if key in _READING and operation is not None and class_of_operation(operation) != "read":
            text = f"this only reads: {call['call']} does not"
            yield Finding((key, "call"), text, (("operation", call["call"]),))
        about = (("operation", call["call"]),)
        if key in _CHANGING and operation is not None and class_of_operation(operation) == "read":
            yield Finding((key, "call"), f"this changes something: {call['call']} only reads", about)
        if key == "list" and operation is not None:
            yield from self._since_findings(call, operation)
        if key == "read" and answers_list(self.definitions, {**call, "as": ""}):
            yield Finding((key, "call"), f"{call['call']} answers a list, and not one thing", about)
        if key in ("list", "read") and operation is not None and operation.get("reply") == "none":
            yield Finding((key, "call"), f"{call['call']} answers nothing", about)
        if key == "content" and operation is not None and operation.get("reply", "json") not in ("binary", "location"):
            yield Finding(
                (key, "call"), f'{call["call"]} answers no bytes: reply = "binary" says so of one that does', about
            )
        names = {name for part in _TEMPLATES for name in names_in(call.get(part))}
        if key in _OF_ONE and not names & {"id", "found"} and names <= _SEES[key] | self.parents:
            yield Finding((key,), "is the same call for every thing: use {id} or {found} in it", about)

    def _since_findings(self, call: Any, operation: Any) -> Findings:
        """A parameter that is handed a time takes one, as it is written."""
        seconds = self.table.get("changed", {}).get("format", "").startswith("%s")
        params = {param.get("name"): param for param in operation.get("params", ())}
        for name, value in call.get("args", {}).items():
            param = params.get(name, {})
            if value != "{since}":
                continue
            if "enum" in param:
                yield Finding(("list", "args", name), f"takes one of {', '.join(map(str, param['enum']))}, and no time")
            elif param.get("type", "string") != "string" and not (seconds and param["type"] in ("integer", "number")):
                text = (
                    f"is of the type {param['type']}: say by `changed.format` how a time is written as one, such as %s"
                )
                yield Finding(("list", "args", name), text)

    def _field_findings(self) -> Findings:
        """What is given can be sent, and what is sent can be given."""
        fields = self.table.get("fields", ())
        named: list[tuple[Path, str]] = [
            (("fixed", place), name) for place, name in enumerate(self.table.get("fixed", ()))
        ]
        named += [(("refers", name), name) for name in self.table.get("refers", ())]
        if "body" in self.table:
            named.append((("body", "field"), self.table["body"]["field"]))
            for form in written_values(self.table["body"]["format"], {}):
                if form not in EDITED:
                    yield Finding(("body", "format"), f"no rich-text format {form!r}{did_you_mean(form, EDITED)}")
        named += [(("hash",), self.table["hash"])] if "hash" in self.table else []
        for path, name in named:
            if name not in fields:
                yield Finding(path, f"no field {name!r}{did_you_mean(name, fields)}")
        lacking = self._members_lacking(self.calls.get("create", {}))
        if lacking:
            text = f"{self.calls['create']['call']} needs {', '.join(lacking)}, and gets the fields: say its `body`"
            yield Finding(("create", "call"), text)
        kept = set(self._members_needed(self.calls.get("update", {}))).intersection(fields)
        if kept:
            text = (
                f"{self.calls['update']['call']} needs {', '.join(sorted(kept))}, and gets only the fields that change"
            )
            yield Finding(("update", "call"), f'{text}: say body = "{{whole}}"')
        sent: set[str] = set()
        for key in ("create", "update"):
            for path, name in self._fields_picked(key):
                if name not in fields:
                    yield Finding(path, f"no field {name!r}{did_you_mean(name, fields)}")
            takes = self._fields_taken(key)
            sent |= set(takes)
            if key == "update" and key in self.table:
                fixed = set(self.table.get("fixed", ()))
                for name in [name for name in fields if name not in {*takes, *fixed}]:
                    yield Finding(("fields",), f"{name!r} is not sent by `update`: name it in `fixed`, or leave it out")
                yield from (Finding(("fixed",), f"`update` sends {name!r}") for name in fixed & self._fields_said(key))
        for name in fields:
            if {"create", "update"} & self.table.keys() and name not in sent:
                yield Finding(("fields",), f"nothing sends {name!r}: it cannot be sent back")

    def _members_lacking(self, call: Any) -> list[str]:
        """What a body must have and no field is called, where it is made of the fields."""
        return [name for name in self._members_needed(call) if name not in self.table.get("fields", ())]

    def _members_needed(self, call: Any) -> list[str]:
        """What a body must have that is made of the fields."""
        operation = self.checker.table_of("operation", call.get("call", ""))
        schema = (operation or {}).get("body", {}).get("schema")
        if schema is None or {"over", "inside"} & call.keys() or call.get("body", "{fields}") != "{fields}":
            return []
        return [*resolved_schema(self.definitions, {"ref": schema}).get("required", ())]

    def _fields_picked(self, key: str) -> Iterator[tuple[Path, str]]:
        """The fields that a request picks one by one."""
        return (((key, part), name) for part, name in fields_picked(self.calls.get(key, {})))

    def _fields_said(self, key: str) -> set[str]:
        return {name for _, name in self._fields_picked(key)}

    def _fields_taken(self, key: str) -> list[str]:
        """Those of the fields that a request takes; where it sends whatever is given, those of its schema."""
        fields = list(self.table.get("fields", ()))
        if key not in self.calls:
            return []
        said, call = self._fields_said(key), self.calls[key]
        if not sends_all_fields(call):
            return [name for name in fields if name in said]
        operation = self.checker.table_of("operation", call["call"]) or {}
        schema = resolved_schema(self.definitions, {"ref": operation.get("body", {}).get("schema")})
        known = schema.get("properties")
        if not known or "body" in call:
            return fields
        return [name for name in fields if name in known and not known[name].get("readOnly")]


def fields_picked(call: Any) -> Iterator[tuple[str, str]]:
    """The fields that the templates of a call pick one by one, each with the part of the call where it stands."""
    for part in _TEMPLATES:
        for text in _texts_with_fields(call.get(part)):
            for match in _FIELD.finditer(text):
                if name := match[1] or match[2]:
                    yield part, name


def sends_all_fields(call: Any) -> bool:
    texts = [text for part in _TEMPLATES for text in _texts_with_fields(call.get(part))]
    return "body" not in call or any(m[0] in ("fields", "whole") for text in texts for m in _FIELD.finditer(text))


def _texts_with_fields(value: Any) -> list[str]:
    """The texts in a value that have placeholders for fields."""
    return [text for text in texts_in(value) if {"fields", "whole"} & set(names_in(text))]


# Whether what is said of earlier versions of the language is true of this one.


def rename_findings(definitions: Definitions, renamed: Definition) -> Findings:
    kind = renamed.id
    of = renamed.table.get("of", RESOURCE)
    if of not in KINDS:
        yield Finding(("of",), f"no kind {of!r}{did_you_mean(of, KINDS)}")
        return
    keys = allowed_keys(of, {}, ())
    said: list[tuple[Path, str]] = [(("into", key), now) for key, now in renamed.table.get("into", {}).items()]
    said += [(("table",), renamed.table["table"])] if "table" in renamed.table else []
    for at, now in said:
        if now not in keys:
            yield Finding(at, f"a {of} has no table {now!r}{did_you_mean(now, keys)}")
    if kind not in {*KINDS, *PARTS.values()}:
        if "of" not in renamed.table:
            yield Finding((), f"no kind {kind!r}{did_you_mean(kind, KINDS)}")
        return
    known = [each.id for each in definitions.of_kind(kind)]
    for part in ("ids", "gone"):
        for old in renamed.table.get(part, {}):
            if (kind, old) in definitions:
                yield Finding((part, old), f"there is a {kind} {old!r}")
    for old, now in renamed.table.get("ids", {}).items():
        if now not in known:
            yield Finding(("ids", old), f"no {kind} {now!r}{did_you_mean(now, known)}", ((kind, now),))
    keys = allowed_keys(kind, {}, ())
    for old, now in renamed.table.get("keys", {}).items():
        if "." not in old and (old in keys or now not in keys):
            text = f"{old!r} is a key of it" if old in keys else f"it has no key {now!r}{did_you_mean(now, keys)}"
            yield Finding(("keys", old), text)
